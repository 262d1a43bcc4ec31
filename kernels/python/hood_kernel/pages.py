"""The nursery's memory in huge pages: a fork copies one entry for each, where it would copy 512.

In a fork the kernel splits a huge page when it is first written to and copies small ones from
then on, so contexts do not grow.
"""

import ctypes
import os

HUGE = 2 << 20
PAGE = 4096

#: Below this many small pages in place, the rest would be memory that nobody uses.
_ENOUGH = HUGE // PAGE // 2

#: <asm-generic/mman-common.h>, since Linux 6.1. Older kernels refuse it, and forks cost more.
_MADV_COLLAPSE = 25


class _Allocator(ctypes.Structure):
    """`PyObjectArenaAllocator`."""

    _fields_ = [("ctx", ctypes.c_void_p), ("alloc", ctypes.c_void_p), ("free", ctypes.c_void_p)]


def side_by_side(joiner):
    """From now on Python takes memory for objects from the joiner, without gaps between."""
    alloc, free = (
        ctypes.cast(function, ctypes.c_void_p)
        for function in (joiner.hood_arena_alloc, joiner.hood_arena_free)
    )
    allocator = _Allocator(None, alloc, free)
    ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(allocator))


def gather():
    """Put together what lies close enough. Return how many huge pages have come of it."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    try:
        in_place = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        return sum(
            _present(in_place, start) >= _ENOUGH and madvise(start, HUGE, _MADV_COLLAPSE) == 0
            for start in _candidates()
        )
    finally:
        os.close(in_place)


def _candidates():
    """Whole huge pages of private, writable memory without a file."""
    found = []
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            span, mode, _, _, inode, *name = line.split(maxsplit=5)
            if mode == "rw-p" and inode == "0" and name in ([], ["[heap]\n"]):
                start, end = (int(part, 16) for part in span.split("-"))
                found += range(-(-start // HUGE) * HUGE, end - HUGE + 1, HUGE)
    return found


def _present(in_place, start):
    """How many small pages there are from `start`: the topmost bit of each entry says so."""
    entries = os.pread(in_place, HUGE // PAGE * 8, start // PAGE * 8)
    return sum(byte >> 7 for byte in entries[7::8])
