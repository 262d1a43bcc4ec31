"""Set-up and the loop, apart from each other: the nursery does the first once, in a warm
parent, and each fork of it the second."""

import os
import sys
from dataclasses import dataclass

from . import libraries, loop, threads
from .cell import run_cell
from .interrupt import Gate
from .protocol import Channel, ChannelClosed
from .session import Session
from .shell import Shell, make_shell
from .stdio import Streams


@dataclass
class Kernel:
    """A kernel that is ready to serve."""

    shell: Shell
    session: Session


def setup():
    """Build the shell and warm it up. Starts no thread and opens no descriptor."""
    session = Session(Streams(), Gate())
    shell = make_shell(session)
    libraries.install(session, shell.asker)
    _import_from_working_directory()
    shell.run_cell("None", store_history=False, silent=True)
    shell.display_formatter.format(1)
    return Kernel(shell, session)


def serve(kernel, fd):
    """Announce the kernel on `fd` and run cells until the guest goes away."""
    session, shell = kernel.session, kernel.shell
    session.streams.attach()
    session.channel = channel = Channel(fd, session.gate)
    session.gate.close()
    channel.send(_ready())
    try:
        while True:
            message = _next_message(session)
            if message is None:
                continue
            if message.get("type") == "execute":
                threads.restore(str(message.get("code")))
                run_cell(shell, session, message)
                threads.restore()
            elif message.get("type") not in ("reply", "ack"):  # late ones of an interrupted cell
                channel.fault(f"unknown message type `{message.get('type')}`")
    except ChannelClosed:
        return


def _next_message(session):
    """Wait for the guest; tasks that cells have left in the loop go on meanwhile."""
    channel = session.channel
    try:
        if loop.has_work() and not channel.has_message():
            session.gate.open()
            try:
                loop.run_until_readable(channel.fd)
            finally:
                session.gate.close()
        return channel.receive()
    except ChannelClosed:
        raise
    except BaseException as error:  # a user's signal handler or callback raised while idle
        session.gate.close()
        if session.is_fork():
            os._exit(1)
        if isinstance(error, OSError):
            loop.forget()  # it would fail in the same way for ever
        if not isinstance(error, KeyboardInterrupt):
            print(f"note: raised between cells: {error!r}", file=sys.stderr)
        return None


def _ready():
    import IPython

    return {
        "type": "ready",
        "pid": os.getpid(),
        "language": "python",
        "version": ".".join(map(str, sys.version_info[:3])),
        "implementation": f"IPython {IPython.__version__}",
    }


def _import_from_working_directory():
    """Cells import from where they are; the kernel's own folder is no longer needed."""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    others = [path for path in sys.path if path and os.path.abspath(path) != ours]
    sys.path[:] = ["", *others]
