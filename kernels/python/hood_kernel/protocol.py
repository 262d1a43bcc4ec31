"""Frames: one JSON object a line, in both directions, over one stream socket.

Whatever user code does to `json`, `os` or `sys`, frames must stay whole; so everything used
here is bound when this module is imported.
"""

import errno
import json
import os
import re
import select
import threading
from collections import deque

from .descriptors import private_copy
from .limits import MAX_FRAME, MAX_MESSAGE

_SURROGATE = re.compile("[\ud800-\udfff]")


class _Encoder(json.JSONEncoder):
    # Copies of the inherited methods: patching json.JSONEncoder afterwards changes nothing.
    encode = json.JSONEncoder.encode
    iterencode = json.JSONEncoder.iterencode

    def default(self, value):
        raise TypeError(f"{type(value).__name__} has no JSON form")


class _Decoder(json.JSONDecoder):
    decode = json.JSONDecoder.decode
    raw_decode = json.JSONDecoder.raw_decode


_encode = _Encoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
decode = _Decoder().decode
_read, _write, _getpid = os.read, os.write, os.getpid


class ChannelClosed(Exception):
    """The guest is gone; there is nobody left to serve."""


class FrameTooLarge(Exception):
    """A frame passes MAX_FRAME and was not sent."""

    def __init__(self, size):
        super().__init__(f"a frame of {size} bytes passes the limit of {MAX_FRAME} bytes")
        self.size = size


def encode(message):
    """The bytes of one frame. Numbers must be finite (`jsonable` sees to it)."""
    text = _encode(message)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form, and its JSON escape is refused by strict
        # parsers; it is shown as the escape's text, as stdout does.
        visible = _SURROGATE.sub(lambda found: f"\\\\u{ord(found[0]):04x}", text)
        return visible.encode() + b"\n"


class Channel:
    """The socket to the guest, owned by the process that made this object."""

    def __init__(self, fd, gate):
        self._fd = private_copy(fd)
        os.close(fd)
        self._gate = gate
        self._owner = _getpid()
        self._sending = threading.RLock()
        self._asking = threading.RLock()
        self._bytes = bytearray()
        self._scanned = 0
        self._skipping = False
        self._waiting = deque()
        self._asked = 0
        self._acked = 0
        self._poll = select.poll
        self._readable = select.POLLIN

    @property
    def fd(self):
        """The descriptor, for polling only."""
        return self._fd

    def is_foreign(self):
        """Whether this process is a fork of the owner, which must not speak here."""
        return _getpid() != self._owner

    def forget(self):
        """Close the copy that a fork inherited."""
        os.close(self._fd)
        self._fd = -1

    def has_message(self):
        """Whether `receive` would answer without reading from the socket."""
        return bool(self._waiting) or b"\n" in self._bytes

    # --- sending

    def send(self, message):
        """Send one frame whole, or raise without having sent a byte of it."""
        frame = encode(message)
        if len(frame) > MAX_FRAME:
            raise FrameTooLarge(len(frame))
        if self.is_foreign():
            return
        with self._sending, self._gate:
            view = memoryview(frame)
            while view:
                try:
                    view = view[_write(self._fd, view) :]
                except BlockingIOError:
                    self._wait(select.POLLOUT)
                except OSError as error:
                    raise ChannelClosed(str(error)) from error

    # --- receiving

    def receive(self):
        """The next message for the kernel, as a dict; a fault is answered for bad ones."""
        if self._waiting:
            return self._waiting.popleft()
        return self._next()

    def receive_reply(self, request):
        """Wait for the reply to `request`. A reply to an earlier request, whose cell was
        interrupted meanwhile, is dropped; anything else is kept for `receive`."""
        with self._asking:
            while True:
                message = self._next()
                if message.get("type") == "ack":
                    continue  # of a display that was interrupted
                if message.get("type") != "reply":
                    self._waiting.append(message)
                elif message.get("request") == request:
                    return message

    def next_ack(self):
        """A number for a frame whose place the guest shall confirm."""
        self._asked += 1
        return self._asked

    def receive_ack(self, number):
        """Wait until the guest has placed the frame with that number. Acks come in order, so
        a later one, read by another thread, confirms an earlier frame as well."""
        with self._asking:
            while self._acked < number:
                message = self._next()
                if message.get("type") == "ack":
                    self._acked = max(self._acked, message.get("ack", 0))
                elif message.get("type") != "reply":
                    self._waiting.append(message)

    def _next(self):
        while True:
            line = self._line()
            try:
                message = decode(line.decode())
            except (ValueError, RecursionError) as error:
                self.fault(f"not a JSON message: {error}")
                continue
            if isinstance(message, dict):
                return message
            self.fault("not a JSON object")

    def fault(self, text):
        """Tell the guest that a message of its own could not be used."""
        self.send({"type": "fault", "message": text})

    def _line(self):
        while True:
            end = self._bytes.find(b"\n", self._scanned)
            if end >= 0:
                line = bytes(self._bytes[:end])
                del self._bytes[: end + 1]
                self._scanned = 0
                if not self._skipping:
                    return line
                self._skipping = False
                self.fault(f"a message passes the limit of {MAX_MESSAGE} bytes")
                continue
            self._scanned = len(self._bytes)
            if self._scanned > MAX_MESSAGE:
                self._skipping = True
                self._bytes.clear()
                self._scanned = 0
            self._fill()

    def _fill(self):
        # Waiting may be interrupted; taking the bytes may not, or some would be lost.
        self._wait(self._readable)
        with self._gate:
            try:
                chunk = _read(self._fd, 1 << 18)
            except BlockingIOError:
                return
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if not chunk:
                raise ChannelClosed("the guest closed the socket")
            self._bytes += chunk

    def _wait(self, events):
        poller = self._poll()
        poller.register(self._fd, events)
        try:
            ready = poller.poll()
        except OSError as error:
            raise ChannelClosed(str(error)) from error
        if any(happened & select.POLLNVAL for _, happened in ready):
            raise ChannelClosed(os.strerror(errno.EBADF))
