"""What a context forked from a warm parent must not share with its siblings.

Only what is loaded is touched; what Python resets by itself (the `random` module's own
generator, locks, `os.urandom`, uuid4) is left alone, except that `random` is seeded again
because it costs nothing and the tests can then rely on it here.
"""

import os
import sys
import time

from . import loop, threads


def after_fork(shell, environment=None, directory=None):
    """Make a fresh fork of the warm parent a context of its own, before it serves."""
    if environment is not None:
        os.environ.clear()
        os.environ.update(environment)
    time.tzset()
    if directory is not None:
        os.chdir(directory)
    _reseed()
    _forget_names()
    loop.forget()
    threads.owe()
    _place(shell)
    sys.argv[:] = [""]


def _reseed():
    if "random" in sys.modules:
        sys.modules["random"].seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    uuid = sys.modules.get("uuid")
    if uuid is not None:
        # uuid1: libuuid's state and the cached clock sequence are the parent's.
        uuid._node = None
        uuid._last_timestamp = None
        uuid._generate_time_safe = None
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.current_process().authkey = os.urandom(32)


def _forget_names():
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile._name_sequence = None
        tempfile.tempdir = None


def _place(shell):
    """What the shell remembers of where it was made."""
    shell.starting_dir = os.getcwd()
    shell.home_dir = os.path.expanduser("~")
    history = shell.user_ns.get("_dh")
    if isinstance(history, list) and history:
        history[:] = [type(history[0])(os.getcwd())]
