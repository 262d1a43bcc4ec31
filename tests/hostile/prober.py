"""Asks the control plane and a neighbour sandbox, over and over, how long an answer takes; a process of its own, because a
thread of the tests would wait for what the tests themselves do.

`go` on standard input starts a round, `end` ends it with one JSON line: {"health": [seconds, ...], ...}. Failed calls are
counted as `FAILED`, longer than any bound.
"""

import json
import os
import sys
import threading
import time

import httpx
from e2b_code_interpreter import Sandbox

PAUSE = 0.02  # seconds between two control calls
PAUSE_NEIGHBOUR = 0.15  # between two commands or cells: a neighbour that works all the time would be a load itself
FAILED = 60.0
PATIENCE = 20  # seconds for one call


class Rounds:
    """One thread a kind of call; they sample while a round is on."""

    def __init__(self, calls):
        self.on = threading.Event()
        self.idle = {name: threading.Event() for name in calls}
        self.samples = {name: [] for name in calls}
        for name, (call, pause) in calls.items():
            threading.Thread(target=self._sample, args=(name, call, pause), daemon=True).start()

    def _sample(self, name, call, pause):
        while True:
            if not self.on.is_set():
                self.idle[name].set()
                self.on.wait()
                self.idle[name].clear()
            began = time.monotonic()
            try:
                call()
                took = time.monotonic() - began
            except Exception as error:  # noqa: BLE001 - whatever it is, the neighbour was not answered
                print(f"prober: {name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                took = FAILED
            self.samples[name].append(took)
            time.sleep(pause)

    def end(self):
        """Every call that was begun is waited for, so that none that hung is left out."""
        self.on.clear()
        for idle in self.idle.values():
            idle.wait(PATIENCE + PAUSE_NEIGHBOUR + 1)
        said = {name: list(samples) for name, samples in self.samples.items()}
        for samples in self.samples.values():
            samples.clear()
        return said


def main():
    # The control plane's calls on connections that stay open, as an SDK's are.
    control = [
        httpx.Client(
            base_url=os.environ["E2B_API_URL"], headers={"X-API-Key": os.environ["E2B_API_KEY"]}, timeout=PATIENCE
        )
        for _ in range(2)
    ]
    neighbour = Sandbox.create(timeout=3600)
    neighbour.run_code("x = 41")

    def health():
        assert control[0].get("/health").is_success

    def look():
        assert control[1].get(f"/sandboxes/{neighbour.sandbox_id}").is_success

    def echo():
        assert neighbour.commands.run("echo undisturbed", timeout=PATIENCE).stdout == "undisturbed\n"

    def cell():
        assert neighbour.run_code("x + 1", timeout=PATIENCE).text == "42"

    rounds = Rounds({
        "health": (health, PAUSE),
        "look": (look, PAUSE),
        "echo": (echo, PAUSE_NEIGHBOUR),
        "cell": (cell, PAUSE_NEIGHBOUR),
    })  # fmt: skip
    print(json.dumps({"neighbour": neighbour.sandbox_id}), flush=True)
    for line in sys.stdin:
        if line == "go\n":
            rounds.on.set()
        elif line == "end\n":
            print(json.dumps(rounds.end()), flush=True)
    neighbour.kill()


if __name__ == "__main__":
    main()
