"""Frames: one JSON object a line, in both directions. No user code runs in this process, so
this is simpler than its counterpart in the Python kernel."""

import json
import os
import socket

#: Longest message read from the guest. A longer one is skipped and answered by a fault.
MAX_MESSAGE = 64 * 1024 * 1024


class Frames:
    """The socket to the guest."""

    def __init__(self, fd):
        os.set_inheritable(fd, False)  # bash and its children must not hold it
        self._socket = socket.socket(fileno=fd)
        self._lines = self._socket.makefile("rb")

    def send(self, message_type, /, **fields):
        """Send one message."""
        text = json.dumps({"type": message_type, **fields})
        self._socket.sendall(text.encode() + b"\n")

    def fault(self, text):
        """Tell the guest that a message of its own could not be used."""
        self.send("fault", message=text)

    def receive(self):
        """The next message; None when the guest is gone."""
        while True:
            line = self._lines.readline(MAX_MESSAGE + 1)
            if not line:
                return None
            if not line.endswith(b"\n"):
                if len(line) <= MAX_MESSAGE:
                    return None  # the end of the stream cut the last message
                self._skip()
                self.fault(f"a message passes the limit of {MAX_MESSAGE} bytes")
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as error:
                self.fault(f"not a JSON message: {error}")
                continue
            if isinstance(message, dict):
                return message
            self.fault("not a JSON object")

    def _skip(self):
        while True:
            line = self._lines.readline(1 << 20)
            if not line or line.endswith(b"\n"):
                return
