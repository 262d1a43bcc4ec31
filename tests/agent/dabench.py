"""The questions about real tables, and whether an answer is the accepted one.

The tables are shared between projects and not in this repository: `HOOD_SHARED` names the folder, otherwise
`../shared` beside the repository is looked at.
"""

import json
import os
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONVERSATIONS = HERE / "conversations" / "dabench"


def folder():
    """Where the tables are, or None and the reason."""
    shared = Path(os.environ.get("HOOD_SHARED") or HERE.parents[2] / "shared")
    tables = shared / "data" / "dabench"
    if (tables / "questions.jsonl").is_file():
        return tables, None
    return None, f"there are no tables in {tables} (HOOD_SHARED names the shared folder)"


def questions(tables):
    with open(tables / "questions.jsonl", encoding="utf-8") as lines:
        return {entry["id"]: entry for entry in map(json.loads, lines)}


def conversations():
    return sorted(CONVERSATIONS.glob("*.json"))


def full_question(entry):
    """The question as a user would put it: with its conditions and the form of the answer."""
    return f"{entry['question']}\n\n{entry['constraints']}\n\nAnswer in this form:\n{entry['format']}"


def differences(answer, entry):
    """What the answer lacks of the accepted one; empty when it is right."""
    given = dict(re.findall(r"@(\w+)\[([^\]]*)\]", answer))
    wrong = []
    for name, accepted in entry["answers"]:
        if name not in given:
            wrong.append(f"@{name} is missing, accepted is {accepted}")
        elif not same(given[name], accepted):
            wrong.append(f"@{name}[{given[name]}], accepted is {accepted}")
    return wrong


def same(given, accepted):
    given, accepted = given.strip().strip('"'), accepted.strip().strip('"')
    try:
        return abs(float(given) - float(accepted)) < 1e-9
    except ValueError:
        return given == accepted
