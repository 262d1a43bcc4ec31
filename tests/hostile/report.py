"""What the runner says at its end: item, as whom, outcome, time, and the worst call of control plane and neighbour."""

import json
import os
import re
from pathlib import Path

ITEM = re.compile(r"test_([a-z]+\d+)_")


class Report:
    """One line a test, in the order in which they ran."""

    def __init__(self):
        self.lines = []

    def add(self, item, trial, phases):
        """`phases` are pytest's reports of one test; the last word is the worst of them."""
        skipped = next((one for one in phases if one.skipped), None)
        failed = [one for one in phases if one.failed]
        known = next((one for one in phases if hasattr(one, "wasxfail")), None)
        outcome = "HOLE" if failed else "known" if known and skipped else "skipped" if skipped else "held"
        why = trial.saw if trial else ""
        if failed:
            why = str(failed[0].longrepr).strip().splitlines()[-1]
        elif known and skipped:
            why = f"{known.wasxfail}; {why}"
        elif skipped:
            why = skipped.longrepr[2].removeprefix("Skipped: ")
        self.lines.append({
            "item": ITEM.match(item.path.name).group(1).upper(),
            "test": item.originalname,
            "who": item.callspec.params.get("who", "") if hasattr(item, "callspec") else "",
            "case": item.name,
            "outcome": outcome,
            "saw": why,
            "seconds": round(sum(one.duration for one in phases), 2),
            "baseline_seconds": round(trial.settled, 2) if trial and trial.settled is not None else None,
            "worst_control_ms": round(trial.worst_control() * 1000, 1) if trial else None,
            "worst_neighbour_ms": round(trial.worst_neighbour() * 1000, 1) if trial else None,
        })  # fmt: skip

    def write(self, path):
        Path(path).write_text(json.dumps({"counts": self.counts(), "tests": self.lines}, indent=1) + "\n")

    def counts(self):
        outcomes = [line["outcome"] for line in self.lines]
        return {name: outcomes.count(name) for name in ("held", "HOLE", "known", "skipped")}

    def show(self, terminal):
        if not self.lines:
            return
        terminal.section("hostile programs")
        head = f"{'item':5} {'who':5} {'outcome':8} {'s':>7} {'control ms':>11} {'neighbour':>10}  program"
        terminal.write_line(head)
        for line in self.lines:
            control, neighbour = (
                line[key] if line[key] is not None else "" for key in ("worst_control_ms", "worst_neighbour_ms")
            )
            what = line["case"].removeprefix("test_") + (f": {line['saw']}" if line["saw"] else "")
            terminal.write_line(
                f"{line['item']:5} {line['who']:5} {line['outcome']:8} {line['seconds']:7.2f} {control!s:>11} {neighbour!s:>10}  {what}"
            )
        items = {line["item"] for line in self.lines}
        whole = {item for item in items if all(one["outcome"] == "held" for one in self.lines if one["item"] == item)}
        counts = ", ".join(f"{count} {name}" for name, count in self.counts().items())
        terminal.write_line(f"{len(items)} items, {len(whole)} of them held whole; tests: {counts}")
        controls = [line["worst_control_ms"] for line in self.lines if line["worst_control_ms"] is not None]
        terminal.write_line(f"worst control call: {max(controls, default=0)} ms")


def destination():
    """Where the JSON goes: `HOOD_HOSTILE_REPORT`, else `hostile-report.json` in the folder for build products."""
    named = os.environ.get("HOOD_HOSTILE_REPORT")
    return Path(named) if named else Path(__file__).parents[2] / "target" / "hostile-report.json"
