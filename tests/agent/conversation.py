"""A conversation written beforehand: what the model says at each turn, and what a request must look like to get it.

A conversation file is JSON:

    question  what the first message must contain (a test may give another one)
    files     names that the first message must list
    turns     one object a turn of the model:
      say       text; templates are filled in from the results that came before
      calls     [{"description", "code": [lines] | "code_file": "beside/this/file.py"}]
      expect    of this turn's results, by call: [{"contains": "text", "failed": true}]

Templates: {{file:0}} the first file's name; {{tool:2:json:a.b}} a value out of the last line of the second tool
result (counted from 1 over the whole conversation) that is a JSON object; {{tool:2:text}} the whole result.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

TOOL = "execute_python"


class Refused(Exception):
    """The request does not fit the conversation."""


@dataclass
class Call:
    id: str
    name: str
    arguments: str

    def same_as(self, other):
        if (self.id, self.name) != (other.id, other.name):
            return False
        try:
            sent = json.loads(self.arguments)
        except ValueError:
            sent = {"unparsed": self.arguments}
        return json.loads(other.arguments) == sent


@dataclass
class Turn:
    text: str = ""
    calls: list = field(default_factory=list)
    refused: bool = False


@dataclass
class Result:
    id: str
    text: str
    failed: object = None  # OpenAI's protocol has no field for it


@dataclass
class Request:
    """What both protocols say, in one form. `items` holds ("user", text), ("assistant", Turn), ("results", [Result])."""

    system: str
    tools: list
    may_call: bool
    stream: bool
    model: str
    items: list


class Conversation:
    """Plays the file's turns. It keeps no state: the turn due is read off the request."""

    fenced = False  # code comes in fenced blocks and results in user messages
    offered_first = False  # in fenced code, yet the first request declares the tool

    def __init__(self, script, folder, question=None):
        self.question = question or script["question"]
        self.files = script.get("files", [])
        self.script = script["turns"]
        self.folder = Path(folder)

    @classmethod
    def load(cls, path, question=None, files=None):
        path = Path(path)
        script = json.loads(path.read_text(encoding="utf-8"))
        if files:
            script["files"] = files
        return cls(script, path.parent, question)

    # What the model says

    def turn(self, number, outputs, may_call=True):
        """The turn `number`, counted from 0, given the results so far."""
        if number >= len(self.script):
            raise Refused(f"the conversation has {len(self.script)} turns, this would be turn {number + 1}")
        entry = self.script[number]
        calls = []
        for n, call in enumerate(entry.get("calls", [])):
            arguments = call.get("raw_arguments")
            if arguments is None:
                arguments = json.dumps(
                    {"code": self.code(call, outputs), "description": call["description"]}, ensure_ascii=False
                )
            calls.append(Call(f"call_{number + 1}_{n + 1}", call.get("name", TOOL), arguments))
        if calls and not may_call:
            raise Refused(f"turn {number + 1} calls the tool, and the request forbids it")
        return Turn(self.fill(entry.get("say", ""), outputs), calls)

    def code(self, call, outputs):
        if "code_file" in call:
            code = (self.folder / call["code_file"]).read_text(encoding="utf-8")
        else:
            code = "\n".join(call["code"]) + "\n"
        return self.fill(code, outputs)

    def fill(self, text, outputs):
        text = re.sub(r"\{\{file:(\d+)\}\}", lambda m: self.files[int(m[1])], text)
        return re.sub(r"\{\{tool:(\d+):(json:[^}]+|text)\}\}", lambda m: extract(outputs, int(m[1]), m[2]), text)

    # What a request must look like

    def due(self, request):
        """Checks the request from its first message to its last; returns the number of the turn due and the results."""
        if not request.system.strip():
            raise Refused("there is no system prompt")
        self.check_tools(request)
        kind, first = request.items[0] if request.items else ("nothing", "")
        if kind != "user":
            raise Refused(f"the first message is of kind {kind}, not the user's question")
        for part in [self.question, *self.files]:
            if part not in first:
                raise Refused(f"the first message lacks {part!r}")
        outputs, rest = [], request.items[1:]
        if len(rest) % 2:
            raise Refused("the last message is the model's own: nothing to answer")
        for number in range(len(rest) // 2):
            expected = self.turn(number, outputs)
            self.check_assistant(number, expected, rest[2 * number])
            results = self.results_of(number, expected, rest[2 * number + 1])
            self.check_results(number, expected, results)
            outputs += [result.text for result in results]
        return len(rest) // 2, outputs

    def check_tools(self, request):
        names = [tool.get("name") for tool in request.tools]
        if self.fenced and not (self.offered_first and len(request.items) == 1):
            if names:
                raise Refused("tools are declared although the conversation goes on in fenced code")
            return
        if names != [TOOL]:
            raise Refused(f"the tools are {names}, expected [{TOOL!r}]")
        properties = request.tools[0]["schema"].get("properties", {})
        if not {"code", "description"} <= properties.keys():
            raise Refused(f"the tool's parameters are {sorted(properties)}, expected code and description")

    def check_assistant(self, number, expected, item):
        kind, turn = item
        if kind != "assistant":
            raise Refused(f"message of kind {kind} where the model's turn {number + 1} belongs")
        if self.fenced:
            expected = Turn(fenced_text(expected))
        if turn.text.strip() != expected.text.strip():
            raise Refused(f"the model's turn {number + 1} was changed: {turn.text[:80]!r}, not {expected.text[:80]!r}")
        same = len(turn.calls) == len(expected.calls) and all(
            sent.same_as(echoed) for sent, echoed in zip(expected.calls, turn.calls)
        )
        if not same:
            raise Refused(f"the calls of turn {number + 1} were changed")

    def results_of(self, number, expected, item):
        kind, content = item
        if not self.fenced:
            if kind != "results":
                raise Refused(f"message of kind {kind} where the results of turn {number + 1} belong")
            return content
        if kind != "user":
            raise Refused(f"message of kind {kind} where the results of turn {number + 1} belong")
        parts = re.split(r"^What came of block \d+:\n", content, flags=re.MULTILINE)[1:]
        return [Result(call.id, part) for call, part in zip(expected.calls, parts)]

    def check_results(self, number, expected, results):
        got, wanted = [result.id for result in results], [call.id for call in expected.calls]
        if got != wanted:
            raise Refused(f"results for {got} after turn {number + 1}, expected {wanted}")
        if any(not result.text.strip() for result in results):
            raise Refused(f"an empty result after turn {number + 1}")
        for wish, result in zip(self.expectations(number), results):
            if wish.get("contains", "") not in result.text:
                raise Refused(f"the result of {result.id} lacks {wish['contains']!r}: {result.text[:400]!r}")
            failed = result.failed if result.failed is not None else "\nerror: " in f"\n{result.text}"
            if "failed" in wish and failed != wish["failed"]:
                raise Refused(f"the result of {result.id} has failed={failed}: {result.text[-400:]!r}")

    def expectations(self, number):
        return self.script[number].get("expect", [])


class Fenced(Conversation):
    """The same turns by a model that has no tools."""

    fenced = True


class IgnoresTools(Fenced):
    """The same by a model that is offered the tool and writes fenced code all the same."""

    offered_first = True


class Endless(Conversation):
    """A model that always wants one more call, until it may not call any more."""

    def turn(self, number, outputs, may_call=True):
        if not may_call:
            return Turn(f"I stopped after {extract(outputs, len(outputs), 'json:step')} steps.")
        code = f'import json\nprint(json.dumps({{"step": {number + 1}}}))\n'
        arguments = json.dumps({"code": code, "description": f"Step {number + 1}"})
        return Turn("One more.", [Call(f"call_{number + 1}_1", TOOL, arguments)])

    def expectations(self, number):
        return []


def with_bad_arguments(conversation):
    """The same conversation after a first turn whose arguments break off."""
    bad = {
        "calls": [{"raw_arguments": '{"code": "print(1', "description": "Cut"}],
        "expect": [{"contains": "not valid JSON", "failed": True}],
    }
    shifted = json.dumps(conversation.script)
    shifted = re.sub(r"\{\{tool:(\d+):", lambda m: f"{{{{tool:{int(m[1]) + 1}:", shifted)
    script = {"question": conversation.question, "files": conversation.files, "turns": [bad, *json.loads(shifted)]}
    return Conversation(script, conversation.folder)


def fenced_text(turn):
    """A turn as a model without tools writes it."""
    blocks = [f"```python\n{json.loads(call.arguments)['code'].rstrip()}\n```" for call in turn.calls]
    return "\n\n".join([turn.text, *blocks]) if blocks else turn.text


def extract(outputs, number, what):
    if not 1 <= number <= len(outputs):
        raise Refused(f"there is no tool result {number}, only {len(outputs)}")
    text = outputs[number - 1]
    if what == "text":
        return text.strip()
    for line in reversed(text.splitlines()):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            return dig(value, what.removeprefix("json:"))
    raise Refused(f"tool result {number} has no line that is a JSON object: {text[-400:]!r}")


def dig(value, path):
    for part in path.split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, TypeError, ValueError):
            raise Refused(f"the JSON of the tool result has no {path!r}") from None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
