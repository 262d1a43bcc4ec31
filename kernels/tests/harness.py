"""Starts a kernel as the guest does and speaks the protocol with it.

The interpreter under test is HOOD_TEST_PYTHON, or the one that runs the tests.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

KERNELS = Path(__file__).resolve().parent.parent
PYTHON = os.environ.get("HOOD_TEST_PYTHON", sys.executable)

#: Seconds that any one answer may take.
PATIENCE = 60


def has(module):
    """Whether the interpreter under test can import `module`."""
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode == 0


class Outcome:
    """Everything that one cell produced, in order of arrival."""

    def __init__(self, messages, stdout, stderr):
        self.messages = messages
        self.stdout = stdout
        self.stderr = stderr

    def of(self, kind):
        return [message for message in self.messages if message["type"] == kind]

    @property
    def status(self):
        return self.messages[-1]["status"]

    @property
    def error(self):
        found = self.of("error")
        return found[0] if found else None

    @property
    def displays(self):
        return [message["data"] for message in self.of("display")]

    @property
    def result(self):
        found = [message["data"] for message in self.of("display") if message["main"]]
        return found[0] if found else None

    @property
    def text(self):
        return None if self.result is None else self.result["text/plain"]


class KernelDied(Exception):
    """The kernel's end of the socket closed in the middle of a cell."""


class Kernel:
    """A kernel process and the guest's side of it."""

    def __init__(self, language="python", cwd=None, env=None):
        ours, theirs = socket.socketpair()
        self._home = tempfile.TemporaryDirectory()
        self.home = Path(cwd or self._home.name)
        environment = {**os.environ, "HOME": self._home.name, **(env or {})}
        self.process = subprocess.Popen(
            [PYTHON, str(KERNELS / language), "--fd", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.home,
            env=environment,
            process_group=0,
        )
        theirs.close()
        ours.settimeout(PATIENCE)
        self._socket = ours
        self._bytes = b""
        self._count = 0
        self.answers = {}
        self.ready = self.next_message()

    def send(self, **message):
        self.send_raw(json.dumps(message).encode() + b"\n")

    def send_raw(self, data):
        self._socket.sendall(data)

    def next_message(self, output=None):
        """The next message; the pipes are drained while waiting and once more before it is
        handled, as the guest does."""
        pipes = {self.process.stdout: "stdout", self.process.stderr: "stderr"}
        while b"\n" not in self._bytes:
            ready, _, _ = select.select([self._socket, *pipes], [], [], PATIENCE)
            if not ready:
                raise TimeoutError("the kernel says nothing")
            for pipe, name in pipes.items():
                if pipe in ready:
                    chunk = os.read(pipe.fileno(), 1 << 16)
                    if output is not None:
                        output[name] += chunk
            if self._socket in ready:
                chunk = self._socket.recv(1 << 20)
                if not chunk:
                    raise KernelDied
                self._bytes += chunk
        line, _, self._bytes = self._bytes.partition(b"\n")
        self._drain(pipes, output)
        message = json.loads(line, parse_constant=_refuse)
        if "ack" in message:
            self.send(type="ack", ack=message["ack"])
        return message

    @staticmethod
    def _drain(pipes, output):
        while True:
            ready, _, _ = select.select(list(pipes), [], [], 0)
            chunks = [(pipes[pipe], os.read(pipe.fileno(), 1 << 16)) for pipe in ready]
            for name, chunk in chunks:
                if output is not None:
                    output[name] += chunk
            if not any(chunk for _, chunk in chunks):
                return

    def run(self, code, env=None, interrupt_after=None):
        """Run a cell to its end."""
        self._count += 1
        cell = f"cell-{self._count}"
        output = {"stdout": bytearray(), "stderr": bytearray()}
        message = {"type": "execute", "id": cell, "code": code}
        if env is not None:
            message["env"] = env
        self.send(**message)
        timer = None
        if interrupt_after is not None:
            timer = threading.Timer(interrupt_after, self.interrupt)
            timer.start()
        messages = []
        while True:
            message = self.next_message(output)
            messages.append(message)
            if message["type"] == "request":
                self.send(
                    type="reply", id=cell, request=message["request"], **self._answer(message)
                )
            if message["type"] == "done":
                break
        if timer is not None:
            timer.join()
        return Outcome(messages, *(output[name].decode() for name in ("stdout", "stderr")))

    def _answer(self, request):
        if request["prompt"] in self.answers:
            return {"value": self.answers[request["prompt"]]}
        return {"error": "no client is connected"}

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def close(self):
        self._socket.close()
        try:
            self.process.wait(timeout=10)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.process.stderr.close()
            self._home.cleanup()


def _refuse(name):
    raise ValueError(f"{name} is not JSON")
