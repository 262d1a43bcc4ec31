"""Errors as the guest gets them: name, value and one traceback string without colours."""

import re
import traceback as _traceback

from .jsonable import safe_text
from .limits import MAX_ERROR_VALUE, MAX_TRACEBACK

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def describe(kind, error, traceback, *, interrupted):
    """Name, value and traceback of `error`, each within its limit.

    An interrupt reaches a coroutine as a cancellation; it is named for what it is.
    SystemExit ends the cell and not the kernel; its value is the exit code.
    """
    name = type.__getattribute__(kind, "__name__")
    value = safe_text(error)
    if interrupted and name == "CancelledError":
        name = "KeyboardInterrupt"
    if issubclass(kind, SystemExit):
        code = getattr(error, "code", None)
        value = "0" if code is None else safe_text(code)
        traceback = f"SystemExit: {value}"
    return (
        name,
        _shorten(value, MAX_ERROR_VALUE),
        _shorten(_ANSI.sub("", traceback), MAX_TRACEBACK),
    )


def plain_traceback(error):
    """Python's own rendering, from the first frame of user code on, for errors that IPython
    did not render."""
    frames = error.__traceback__
    while frames is not None and "/IPython/core/" in frames.tb_frame.f_code.co_filename:
        frames = frames.tb_next
    try:
        return "".join(_traceback.format_exception(type(error), error, frames))
    except Exception:
        return safe_text(error)


def contains_group(error):
    """Whether an ExceptionGroup is in the chain; IPython has no rendering for those."""
    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, BaseExceptionGroup):
            return True
        seen.add(id(error))
        error = error.__context__
    return False


def _shorten(text, limit):
    if len(text) <= limit:
        return text
    half = limit // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n... {left_out} characters left out (limit {limit}) ...\n{text[-half:]}"
