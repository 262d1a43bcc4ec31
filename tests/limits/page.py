"""`LIMITS.md` as a program reads it, and the list of trials.

A trial is a test under `@meets("Inside a sandbox", "MAX_PATH")`: it goes to that ceiling from outside, as a client or
as a program in a sandbox, and sees the outcome that the page names. `@meets` gives it the page's number, so nothing is
written twice.
"""

import functools
import inspect
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "LIMITS.md"

UNITS = {
    "": 1,
    "bytes": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "cores": 1,
    "ms": 0.001,
    "s": 1,
    "min": 60,
    "h": 3600,
}

#: (section, name) of every trial that has been loaded.
TRIALS = set()


def ceilings():
    """The page: (section, name) -> its number in bytes, seconds or pieces."""
    found, section = {}, None
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and cells[-1].startswith("`"):
            found[section, cells[-1].strip("` |")] = number(cells[1])
    return found


def number(text):
    value, unit = re.fullmatch(r"([\d_.]+) ?(\w*)", text).groups()
    value = float(value) * UNITS[unit]
    return int(value) if value == int(value) else value


def meets(section, name):
    """Makes a test the trial of a ceiling; its first argument is the number."""
    TRIALS.add((section, name))

    def wrap(trial):
        # pytest must see the other arguments as fixtures, and not this one.
        first, *others = inspect.signature(trial).parameters.values()

        @functools.wraps(trial)
        def test(**fixtures):
            return trial(**{first.name: ceilings()[section, name]}, **fixtures)

        test.__signature__ = inspect.Signature(others)
        del test.__wrapped__
        return test

    return wrap
