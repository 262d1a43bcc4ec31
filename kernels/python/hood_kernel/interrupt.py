"""SIGINT: raised in the cell, ignored between cells, never in the middle of a frame."""

import _signal  # the C module: `signal` turns every mask into a set of enums, which is slow
import signal

#: Signals whose Python handlers could raise in the middle of a frame (a user's SIGALRM
#: handler is the common case).
_HELD_BACK = {
    signal.SIGINT,
    signal.SIGALRM,
    signal.SIGVTALRM,
    signal.SIGPROF,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCHLD,
    signal.SIGHUP,
}


class Gate:
    """Decides what a SIGINT means at this moment."""

    def __init__(self):
        self.fired = False  # an interrupt was delivered to the cell that runs or ran last
        self._running = False
        self._held = 0
        self._pending = False
        self._mask = None

    def open(self):
        """A cell starts: from now on SIGINT raises KeyboardInterrupt."""
        self.fired = False
        self._pending = False
        self._held = 0
        self._running = True
        # User code of an earlier cell may have put its own handler in place.
        signal.signal(signal.SIGINT, self._on_sigint)

    def close(self):
        """The cell is over: from now on SIGINT does nothing."""
        while True:
            try:
                self._running = False
                signal.signal(signal.SIGINT, self._on_sigint)
                return
            except KeyboardInterrupt:
                continue

    def __enter__(self):
        """Hold signals back; not re-entered, the channel's lock sees to that."""
        self._held += 1
        if self._held == 1:
            # Runs handlers that are already due, so they raise here and not later.
            try:
                self._mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, _HELD_BACK)
            except BaseException:
                self._held -= 1
                raise

    def __exit__(self, *_):
        self._held -= 1
        if self._held == 0:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, self._mask)
            if self._pending:
                self._pending = False
                self._raise()

    def _on_sigint(self, _number, _frame):
        if not self._running:
            return
        # With other threads alive the signal can reach this process although the main
        # thread has it blocked, hence the flag beside the mask.
        if self._held:
            self._pending = True
            return
        self._raise()

    def _raise(self):
        if self._running:
            self.fired = True
            raise KeyboardInterrupt
