"""A11. Bytes in flight belong to somebody's memory: the reader's pace must hold the writer, and what is dropped be told."""

import os
import threading
import time

import pytest

from programs import answers

# The number is 10 GB, which takes minutes on two cores: HOOD_FULL=1 prints it.
PRINTED = (10 if os.environ.get("HOOD_FULL") else 2) * 1_000_000_000
FLAT = 20 << 20  # bytes by which the server may grow meanwhile


class Resident:
    """The server's resident memory while something goes on."""

    def __init__(self, premises):
        self.premises, self.stop = premises, threading.Event()
        self.first = self.most = premises.memory()["server"]
        self.thread = threading.Thread(target=self._look, daemon=True)

    def _look(self):
        while not self.stop.wait(0.1):
            self.most = max(self.most, self.premises.memory()["server"])

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    def grew(self):
        return self.most - self.first


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_gigabytes_to_a_reader(sandbox, trial, who):
    """Everything arrives, at the reader's pace; the server holds none of it."""
    printed = PRINTED if who == "user" else PRINTED // 10
    sandbox.set_timeout(900)  # ten gigabytes take longer than a trial's sandbox lives
    with Resident(trial.laboratory.premises) as server:
        received = stream(sandbox, f"yes | head -c {printed}", who, 850)
    assert received == printed
    assert server.grew() < FLAT
    trial.saw = f"{received / 1e9:.1f} GB arrived, the server grew by {server.grew() / (1 << 20):.1f} MiB"


def stream(sandbox, command, who, seconds):
    """How many bytes of stdout come over the wire. Not by the SDK, which keeps all of it, decoded, in its own memory."""
    import base64
    import json
    import struct

    import httpx

    url = os.environ["E2B_SANDBOX_URL"] + "/process.Process/Start"
    body = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-c", command]}, "stdin": False}).encode()
    headers = {
        "Content-Type": "application/connect+json",
        "Connect-Protocol-Version": "1",
        "E2b-Sandbox-Id": sandbox.sandbox_id,
        "E2b-Sandbox-Port": "49983",
        "X-Access-Token": sandbox._envd_access_token,
        "Authorization": "Basic " + base64.b64encode(f"{who}:".encode()).decode(),
    }
    received, pending = 0, bytearray()
    framed = struct.pack(">BI", 0, len(body)) + body
    with httpx.stream("POST", url, content=framed, headers=headers, timeout=seconds) as answer:
        assert answer.status_code == 200, answer.read()
        for piece in answer.iter_raw():
            pending += piece
            while len(pending) >= 5 and len(pending) >= 5 + (size := int.from_bytes(pending[1:5])):
                message = json.loads(pending[5 : 5 + size])
                del pending[: 5 + size]
                received += count(message)
    return received


def count(message):
    encoded = message.get("event", {}).get("data", {}).get("stdout", "")
    return len(encoded) * 3 // 4 - encoded[-2:].count("=")


def test_nobody_reads(sandbox, trial, who):
    """A client that stops reading: the writer waits, and nothing piles up in between."""
    with Resident(trial.laboratory.premises) as server:
        handle = sandbox.commands.run("yes", user=who, background=True, timeout=60)
        time.sleep(3)
        handle.disconnect()
        time.sleep(2)
    assert server.grew() < FLAT
    assert answers(sandbox)
    assert sandbox.commands.kill(handle.pid)
    trial.saw = f"the server grew by {server.grew() / (1 << 20):.1f} MiB"


@pytest.mark.parametrize("program", ["yes >&2", "cat /dev/urandom", "tr '\\0' '\\377' < /dev/zero"])
def test_errors_and_noise(sandbox, trial, who, program):
    with Resident(trial.laboratory.premises) as server:
        received = 0
        handle = sandbox.commands.run(f"{{ {program}; }} 2>&1 | head -c 20000000", user=who, background=True)
        for out, _, _ in handle:
            received += len(out or "")
    # Decoded as text with replacements: not fewer characters than a quarter of the bytes.
    assert received >= 5_000_000
    assert server.grew() < FLAT
    trial.saw = f"the server grew by {server.grew() / (1 << 20):.1f} MiB"


def test_a_cell_that_prints_without_end(interpreter, trial):
    """What a cell printed is kept for its answer by nobody but the client: the limit is the reader's."""
    with Resident(trial.laboratory.premises) as server:
        seen = 0

        def take(message):
            nonlocal seen
            seen += len(message.line)

        interpreter.run_code("for _ in range(300): print('x' * 100_000)", on_stdout=take, timeout=60)
    assert seen == 300 * 100_001
    assert server.grew() < FLAT
    trial.saw = f"30 MB arrived, the server grew by {server.grew() / (1 << 20):.1f} MiB"
