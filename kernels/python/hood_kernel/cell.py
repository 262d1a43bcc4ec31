"""One execution, from the guest's request to the `done` that always ends it."""

import os

from .env import BadEnvironment, cell_environment
from .errors import plain_traceback
from .protocol import ChannelClosed


def run_cell(shell, session, message):
    """Run one cell. Whatever the code does short of ending the process, it is answered."""
    cell, code = message.get("id"), message.get("code")
    variables = message.get("env") or {}
    if not isinstance(cell, str) or not isinstance(code, str) or not isinstance(variables, dict):
        session.channel.fault("execute needs `id` and `code` as text and `env` as an object")
        return
    session.gate.close()
    for attempt in (_attempt, _give_up):
        try:
            attempt(shell, session, cell, code, variables)
            return
        except ChannelClosed:
            raise
        except BaseException as error:  # a signal handler of the user's raised in our own code
            session.stray = error


def _attempt(shell, session, cell, code, variables):
    session.streams.renew()
    shell.renew()
    session.begin(cell, shell.execution_count)
    error = None
    try:
        with cell_environment(variables):
            error = _execute(shell, session, code)
    except BadEnvironment as bad:
        error = bad
    if session.is_fork():
        _leave(session, error)
    session.end(_conclude(session, error))


def _give_up(_shell, session, *_):
    """Answer a cell whose end was itself cut short."""
    if session.is_fork():
        _leave(session, session.stray)
    if session.cell is not None:
        session.end(_conclude(session, session.stray))


def _execute(shell, session, code):
    """Run the code; the return value is the error that ended it, if any."""
    try:
        try:
            session.gate.open()
            result = shell.run_cell(code, store_history=True)
        finally:
            session.gate.close()
    except ChannelClosed:
        raise
    except BaseException as error:  # raised between IPython's own handlers
        session.gate.close()
        return error
    if result is None:
        return None
    return result.error_before_exec or result.error_in_exec


def _conclude(session, error):
    """Report an error that nobody has reported yet, and name the outcome."""
    if error is not None and session.error is None:
        session.fail(type(error), error, plain_traceback(error))
    if session.error is None:
        return "ok"
    was_interrupt = (
        issubclass(session.error, KeyboardInterrupt) or session.error.__name__ == "CancelledError"
    )
    return "interrupted" if session.gate.fired and was_interrupt else "error"


def _leave(session, error):
    """End a process that user code forked and that came to the end of the cell: there is one
    kernel, and this is not it."""
    session.streams.flush()
    status = 0
    if isinstance(error, SystemExit):
        code = error.code
        status = code if isinstance(code, int) else int(code is not None)
    elif error is not None:
        status = 1
    os._exit(status & 0xFF)
