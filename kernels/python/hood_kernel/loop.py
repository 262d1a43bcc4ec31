"""The asyncio loop of the context: made when first needed, kept between the cells."""

import os
import stat
import sys

from IPython.core import async_helpers

from .limits import CANCEL_GRACE


def run_in_loop(coroutine):
    """Run a cell that awaits. After an interrupt the cell's coroutine is cancelled, so that
    it does not go on in the next cell that runs the loop."""
    import asyncio

    _drop_if_broken()
    loop = async_helpers.get_asyncio_loop()
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt:
        task.cancel()
        loop.run_until_complete(asyncio.wait({task}, timeout=CANCEL_GRACE))
        if task.done() and not task.cancelled():
            return task.result()
        raise


def has_work():
    """Whether tasks of earlier cells wait for their turn."""
    _drop_if_broken()
    loop = async_helpers._asyncio_event_loop
    if loop is None or loop.is_closed() or "asyncio" not in sys.modules:
        return False
    return bool(sys.modules["asyncio"].all_tasks(loop)) or _has_handles(loop)


def run_until_readable(fd):
    """Let those tasks go on until there is something to read."""
    loop = async_helpers._asyncio_event_loop
    readable = loop.create_future()

    def wake():
        if not readable.done():
            readable.set_result(None)

    loop.add_reader(fd, wake)
    try:
        loop.run_until_complete(readable)
    finally:
        loop.remove_reader(fd)


def forget():
    """After a fork: the parent's loop shares its descriptors with this process."""
    async_helpers._asyncio_event_loop = None


def _drop_if_broken():
    """User code that closed the descriptor under the loop has ended the loop's tasks."""
    loop = async_helpers._asyncio_event_loop
    selector = getattr(loop, "_selector", None)
    if selector is None or not hasattr(selector, "fileno"):
        return
    try:
        # An epoll descriptor has no file type; whatever was opened in its place has one.
        broken = stat.S_IFMT(os.fstat(selector.fileno()).st_mode) != 0
    except (OSError, ValueError):
        broken = True
    if broken:
        forget()


def _has_handles(loop):
    # Servers and timers without a task of their own.
    selector = getattr(loop, "_selector", None)
    readers = len(selector.get_map() or ()) if selector is not None else 0
    return readers > 1 or bool(getattr(loop, "_scheduled", None))
