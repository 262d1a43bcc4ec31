"""Small things that several tests need."""

import time

import pytest
from e2b import CommandExitException


def run(sandbox, command, **more):
    """The output of a command that must succeed, without the last line end."""
    return sandbox.commands.run(command, **more).stdout.rstrip("\n")


def fails(sandbox, command, **more):
    """The exit of a command that must fail."""
    with pytest.raises(CommandExitException) as caught:
        sandbox.commands.run(command, **more)
    return caught.value


def ok(execution):
    """An execution that must have raised nothing."""
    assert execution.error is None, f"{execution.error.name}: {execution.error.value}\n{execution.error.traceback}"
    return execution


def value(interpreter, code, **more):
    """The text of the cell's value."""
    return ok(interpreter.run_code(code, **more)).text


def printed(execution):
    """All that the cell wrote to stdout."""
    return "".join(ok(execution).logs.stdout)


def until(condition, seconds=5.0, pause=0.1):
    """Waits for a condition and hands back what it said."""
    end = time.monotonic() + seconds
    while True:
        said = condition()
        if said or time.monotonic() > end:
            return said
        time.sleep(pause)


class Stopwatch:
    """`with Stopwatch() as took: ...` and then `took.seconds`."""

    def __enter__(self):
        self._began = time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self._began


def survivors(sandbox, pattern):
    """Processes whose command line fits; write the pattern as 'sleep 424[2]', lest the search finds itself."""
    return run(sandbox, f"pgrep -af '{pattern}' || true", user="root").splitlines()
