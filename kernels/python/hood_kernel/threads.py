"""Threads of numerical libraries: one in the nursery, since a fork would lose the others, and the
processors of the machine again in its forks."""

import ctypes
import os

#: What the builds of OpenBLAS inside numpy's and scipy's wheels, and Debian's, call it.
_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)

#: A cell that names one of these may want the threads at once.
_USERS = ("numpy", "scipy", "sklearn", "statsmodels")

_found = []
_owed = False


def find():
    """In the nursery, after its imports: the functions to call in each fork."""
    _found.clear()
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if "openblas" in line}
    for path in sorted(paths):
        library = ctypes.CDLL(path)
        for name in _SETTERS:
            if hasattr(library, name):
                _found.append(getattr(library, name))
                break


def owe():
    """In a fork. Not done at once: starting them takes longer than most first cells."""
    global _owed
    _owed = bool(_found)


def restore(code=None):
    """As many threads as a fresh interpreter would have taken, once: before a cell whose `code`
    may want them, or after the first one."""
    global _owed
    if not _owed or (code is not None and not any(user in code for user in _USERS)):
        return
    _owed = False
    count = os.cpu_count() or 1
    for setter in _found:
        setter(count)
