"""A cell asks the host something and waits for the answer: `input()` and its kin."""

import builtins
import itertools

_NOBODY = (
    "nobody can answer {function}() here ({reason}); put the value into the code instead, "
    "as in `name = 'value'`"
)


class HostRefused(RuntimeError):
    """The host did not answer the question; the text says why."""


class Asker:
    """Questions of the running cell, one at a time."""

    def __init__(self, session):
        self._session = session
        self._numbers = itertools.count(1)

    def ask_host(self, kind, **fields):
        """Ask, and block until the guest replies. `kind` says what: "input" with `prompt`
        and `password`, or whatever else guest and host agree on."""
        __tracebackhide__ = True
        session = self._session
        if session.is_fork():
            raise HostRefused("a forked process cannot ask the host")
        if session.cell is None:
            raise HostRefused("no cell is running")
        request = f"r{next(self._numbers)}"
        session.send("request", request=request, kind=kind, **fields)
        reply = session.channel.receive_reply(request)
        if reply.get("error") is not None:
            raise HostRefused(str(reply["error"]))
        return reply.get("value")

    def input(self, prompt="", /):
        """Read a line from whoever drives this context."""
        __tracebackhide__ = True  # IPython leaves frames with this name out of tracebacks
        return self._line("input", prompt, password=False)

    def getpass(self, prompt="Password: ", stream=None, **_):
        """Read a secret from whoever drives this context."""
        __tracebackhide__ = True
        return self._line("getpass", prompt, password=True)

    def install(self):
        """Make `input` this one; `getpass` follows when it is imported."""
        builtins.input = self.input

    def _line(self, function, prompt, password):
        __tracebackhide__ = True
        try:
            value = self.ask_host("input", prompt=str(prompt), password=password)
        except HostRefused as refused:
            raise EOFError(_NOBODY.format(function=function, reason=refused)) from None
        return "" if value is None else str(value)
