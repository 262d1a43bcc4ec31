"""The loop: cells in, outcomes out."""

import signal
import sys

from .environment import BadEnvironment, scripts
from .frames import Frames
from .shell import Shell, ShellEnded, describe_status

#: The exit status of a command that SIGINT ended, and of an interrupted line.
INTERRUPTED = 128 + signal.SIGINT

#: How often putting back the environment is tried when interrupts keep cutting it short.
RESTORE_ATTEMPTS = 5


class Kernel:
    """A bash and the guest's side of it."""

    def __init__(self, frames):
        self._frames = frames
        self._count = 0
        self._interrupted = False
        self._shell = Shell(lambda: self._interrupted)
        # bash is in our process group and gets the same signal; here it is only noted.
        signal.signal(signal.SIGINT, self._note_interrupt)

    def announce(self):
        """Say that cells can come."""
        version = self._shell.version()
        self._frames.send(
            "ready", language="bash", version=version, implementation=f"bash {version}"
        )

    def execute(self, message):
        """Run one cell, up to the `done` that always ends it."""
        cell, code = message.get("id"), message.get("code")
        variables = message.get("env") or {}
        if not (isinstance(cell, str) and isinstance(code, str) and isinstance(variables, dict)):
            self._frames.fault(
                "execute needs `id` and `code` as text and `env` as an object"
            )
            return
        self._count += 1
        self._settle()
        self._frames.send("started", id=cell, execution_count=self._count)
        error = self._run(code, variables)
        outcome = "ok"
        if error is not None:
            name, value = error
            self._frames.send("error", id=cell, name=name, value=value, traceback=value)
            outcome = "interrupted" if name == "Interrupted" else "error"
        self._frames.send("done", id=cell, status=outcome)

    def _settle(self):
        """An interrupt between cells is for no cell. bash drops the line that it reads when
        the signal reaches it, so it gets an empty one first."""
        while self._interrupted:
            self._interrupted = False
            try:
                self._shell.run(":")
            except ShellEnded as ended:
                self._renew(ended)

    def _run(self, code, variables):
        if "\0" in code:
            return "ValueError", "bash code cannot contain a NUL character"
        try:
            before, after = scripts(variables)
        except BadEnvironment as bad:
            return "ValueError", str(bad)
        try:
            if before:
                self._shell.run(before)
            status = self._shell.run(code)
            for _ in range(RESTORE_ATTEMPTS):
                if not after or self._shell.run(after) != INTERRUPTED:
                    break
        except ShellEnded as ended:
            return self._renew(ended)
        if status == INTERRUPTED and self._interrupted:
            return "Interrupted", "the cell was interrupted"
        if status != 0:
            return "ExitStatus", f"exit status {status}"
        return None

    def _renew(self, ended):
        self._shell.close()
        self._shell = Shell(lambda: self._interrupted)
        return "ShellExited", (
            f"the shell {describe_status(ended.status)} (`exit`, `exec`, `set -e` or a signal); "
            "a new one was started: variables, functions and the working directory are as at "
            "the start"
        )

    def _note_interrupt(self, *_):
        self._interrupted = True


def serve(fd):
    """Run cells until the guest goes away."""
    frames = Frames(fd)
    try:
        kernel = Kernel(frames)
        kernel.announce()
    except (OSError, ShellEnded) as error:
        print(f"cannot start bash: {error}", file=sys.stderr)
        return 1
    while (message := frames.receive()) is not None:
        if message.get("type") == "execute":
            kernel.execute(message)
        elif message.get("type") != "reply":
            frames.fault(f"unknown message type `{message.get('type')}`")
    return 0
