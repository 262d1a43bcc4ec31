"""stdout and stderr of the cells: text on descriptors 1 and 2, which the guest reads.

Not messages, so that the output of child processes and C libraries is captured as well and
keeps its place.
"""

import errno
import io
import os
import select
import sys

from .descriptors import private_copy, same_file

_write = os.write


class _Raw(io.RawIOBase):
    """An unbuffered descriptor that survives what children and user code do to it."""

    def __init__(self, fd):
        super().__init__()
        self._number = fd
        self._spare = None

    def attach(self):
        """Keep a private copy, for when user code closes the descriptor."""
        self._spare = private_copy(self._number)

    def restore(self):
        """Put the descriptor back if user code closed or redirected it."""
        if self._spare is not None and not same_file(self._number, self._spare):
            os.dup2(self._spare, self._number)

    def fileno(self):
        return self._number

    def writable(self):
        return True

    def write(self, data):
        try:
            return _write(self._number, data)
        except BlockingIOError:
            # Node and others leave O_NONBLOCK on the pipe that they share with us.
            poller = select.poll()
            poller.register(self._number, select.POLLOUT)
            poller.poll()
            return _write(self._number, data[:4096])  # PIPE_BUF: fits when writable
        except OSError as error:
            if error.errno == errno.EBADF and self._spare is not None:
                return _write(self._spare, data)
            raise


class _Buffer(io.BufferedWriter):
    """The bytes under a stream; `sys.stdout.buffer.close()` only flushes them."""

    def close(self):
        self.flush()


class Stream(io.TextIOWrapper):
    """Text output, flushed by every line. Closing it only flushes it: a cell that closes
    `sys.stdout` must not silence the cells that follow."""

    def close(self):
        self.flush()


class Streams:
    """The two streams of a kernel."""

    def __init__(self):
        self._raw = {1: _Raw(1), 2: _Raw(2)}
        self._ours = {}
        for name, fd in (("stdout", 1), ("stderr", 2)):
            self._ours[name] = self._open(fd)
            setattr(sys, name, self._ours[name])
            setattr(sys, f"__{name}__", self._ours[name])

    def attach(self):
        """Take hold of descriptors 1 and 2 as they are now (after a nursery's fork)."""
        for raw in self._raw.values():
            raw.attach()

    def is_ours(self, stream):
        """Whether `stream` writes to the guest directly."""
        return any(stream is ours for ours in self._ours.values())

    def renew(self):
        """Before a cell: give back what an earlier cell closed. A replacement that the user
        put in place and that works is left alone."""
        for name, fd in (("stdout", 1), ("stderr", 2)):
            self._raw[fd].restore()
            if _is_closed(self._ours[name]):
                self._ours[name] = self._open(fd)
                setattr(sys, f"__{name}__", self._ours[name])
            if _is_closed(getattr(sys, name, None)):
                setattr(sys, name, self._ours[name])

    def flush(self):
        """Before a frame: everything printed so far is in the pipes."""
        for stream in (sys.stdout, sys.stderr, *self._ours.values()):
            try:
                stream.flush()
            except Exception:
                continue  # a closed or made-up stream of the user's; nothing of ours is in it

    def _open(self, fd):
        buffered = _Buffer(self._raw[fd], 1 << 16)
        return Stream(
            buffered, encoding="utf-8", errors="backslashreplace", line_buffering=True
        )


def _is_closed(stream):
    try:
        if stream is None or stream.closed:
            return True
        if isinstance(stream, Stream):
            return stream.buffer.closed
        return False
    except Exception:
        # `buffer` raises once a user has detached it; other objects may raise anything.
        return isinstance(stream, Stream)
