"""What is running now, and where its results go."""

import sys

from .bundle import fit, pack, pack_metadata
from .errors import describe
from .protocol import FrameTooLarge


class Session:
    """The cell in hand and the way to the guest. One a process; the shell holds it."""

    def __init__(self, streams, gate):
        self.streams = streams
        self.gate = gate
        self.channel = None
        self.cell = None
        self.error = None  # the class of the first error of the cell
        self.stray = None  # what a user's signal handler raised outside the cell's code
        self._last_traceback = None

    def is_live(self):
        """Whether a cell runs whose results this process may send."""
        return self.cell is not None and not self.is_fork()

    def is_fork(self):
        """Whether this process was forked from the kernel by user code."""
        return self.channel is not None and self.channel.is_foreign()

    # --- the course of a cell

    def begin(self, cell, execution_count):
        """A cell is accepted."""
        self.cell = cell
        self.error = None
        self._last_traceback = None
        self.send("started", execution_count=execution_count)

    def end(self, status):
        """The cell is over; the last message about it."""
        self.send("done", status=status)
        self.cell = None

    def send(self, message_type, /, **fields):
        """Send one message about the cell, after all that it has printed."""
        self.streams.flush()
        self.channel.send({"type": message_type, "id": self.cell, **fields})

    # --- what a cell produces

    def display(self, data, metadata=None, *, main=False, display_id=None, update=False):
        """Send a MIME bundle. Without a cell, or in a fork, its text is printed instead."""
        data = pack(data)
        if not self.is_live():
            if "text/plain" in data:
                print(data["text/plain"])
            return
        fields = {"data": data, "metadata": pack_metadata(metadata), "main": main}
        if display_id is not None:
            fields["display_id"] = str(display_id)
        if update:
            fields["update"] = True
        # What is printed after this must come after it, but goes another way: the guest says
        # when it has drained the pipes and placed the display. A main result is the last.
        if not main:
            fields["ack"] = self.channel.next_ack()
        try:
            self.send("display", **fields)
        except FrameTooLarge as error:
            fields.update(data=fit(data, error.size), metadata={})
            self.send("display", **fields)
        if not main:
            self.channel.receive_ack(fields["ack"])

    def clear(self, wait):
        """Ask the guest to forget what the cell has displayed."""
        if self.is_live():
            ack = self.channel.next_ack()
            self.send("clear", wait=bool(wait), ack=ack)
            self.channel.receive_ack(ack)

    def fail(self, kind, error, traceback):
        """Report an error. The first of a cell goes to the guest, later ones to stderr."""
        if not self.is_live() or self.error is not None:
            # One bad object fails in each of a dozen formatters in the same way.
            if traceback != self._last_traceback:
                print(traceback, file=sys.stderr)
            self._last_traceback = traceback
            return
        self.error = kind
        self._last_traceback = traceback
        name, value, traceback = describe(kind, error, traceback, interrupted=self.gate.fired)
        self.send("error", name=name, value=value, traceback=traceback)
