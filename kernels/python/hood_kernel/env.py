"""The environment of one cell: set before it, put back after it, never part of its source."""

import os
import time
from contextlib import contextmanager

_environ = os.environ  # bound here: user code may replace the attribute


class BadEnvironment(ValueError):
    """A variable that the operating system cannot hold."""


@contextmanager
def cell_environment(variables):
    """Set `variables` for the length of a cell."""
    previous = {}
    try:
        for name, value in variables.items():
            previous[name] = _environ.get(name)
            _set(name, value)
        yield
    finally:
        for name, value in previous.items():
            if value is None:
                _environ.pop(name, None)
            else:
                _environ[name] = value
        if "TZ" in previous:
            time.tzset()


def _set(name, value):
    try:
        _environ[name] = value
    except (TypeError, ValueError, OSError) as error:
        raise BadEnvironment(f"cannot set the environment variable `{name}`: {error}") from error
    if name == "TZ":
        time.tzset()
