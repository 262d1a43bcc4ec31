"""IPython's shell without a terminal, files or history, its output led to the session."""

import builtins
import os
import subprocess
import sys
import tempfile
import warnings
from contextlib import contextmanager

from IPython.core import page
from IPython.core.autocall import ExitAutocall
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.profiledir import ProfileDir
from traitlets import default
from traitlets.config import Config

from . import formatters
from .ask import Asker
from .display import Publisher, ResultHook
from .errors import contains_group, plain_traceback
from .loop import run_in_loop


class _NoProfile(ProfileDir):
    """A profile that makes no folders."""

    def check_dirs(self):
        """Nothing to make."""

    def _location_changed(self, change):
        """Nothing to make."""


class _Exit(ExitAutocall):
    """`exit` and `quit`: they end the cell, as `sys.exit` does, and not the context."""

    def __call__(self, code=None):
        raise SystemExit(code)


class Shell(InteractiveShell):
    """The interpreter of a context."""

    session = None
    _memory = None

    # --- set-up that touches no file and starts no thread

    def init_profile_dir(self, profile_dir):
        """A profile in name only."""
        self.profile_dir = _NoProfile(location=self.ipython_dir)

    def init_virtualenv(self):
        """The interpreter was chosen by the template; VIRTUAL_ENV does not change it."""

    def init_completer(self):
        """Nobody completes anything here; the machinery would cost start-up time."""
        self.Completer = None

    def init_display_pub(self):
        """Ours, whatever class is configured."""
        self.display_pub = Publisher(parent=self, shell=self)
        self.configurables.append(self.display_pub)

    def init_hooks(self):
        """`name?` and long help go to stdout: there is no pager."""
        super().init_hooks()
        self.set_hook("show_in_pager", _print_page, 1)

    def enable_gui(self, gui=None):
        """There is no screen, so there is no GUI loop to enable."""

    @property
    def db(self):
        """What IPython keeps between sessions lives as long as this one."""
        if self._memory is None:
            self._memory = {}
        return self._memory

    @db.setter
    def db(self, value):
        return

    @default("exiter")
    def _exiter_default(self):
        return _Exit(self)

    def renew(self):
        """Before a cell: give back what Python itself needs in the namespace."""
        if self.user_ns.get("__builtins__") is not builtins:
            self.user_ns["__builtins__"] = builtins

    # --- history: inputs and results are kept for `In` and `Out`, output is not

    @contextmanager
    def _tee(self, channel):
        yield

    def _format_exception_for_storage(self, exception, *_, **__):
        return {}

    # --- errors

    def showtraceback(self, exc_tuple=None, *args, **kwargs):
        """Report an error, exception groups with Python's own rendering."""
        try:
            kind, error, _ = self._get_exc_info(exc_tuple)
        except ValueError:
            return
        if contains_group(error):
            self.session.fail(kind, error, plain_traceback(error))
            return
        super().showtraceback(exc_tuple, *args, **kwargs)

    def show_usage_error(self, exc):
        """A magic used wrongly has a message and no traceback."""
        self.session.fail(type(exc), exc, f"UsageError: {exc}")

    def _showtraceback(self, etype, evalue, stb):
        self.session.fail(etype, evalue, "\n".join(stb))

    # --- `!command`

    def system(self, cmd):
        """Run a shell command; its stdout and stderr both appear on stdout, in order."""
        command = self.var_expand(cmd, depth=1)
        self.session.streams.flush()
        if self.session.streams.is_ours(sys.stdout):
            status = _run(command, stdout=None)
        else:
            status = _run_into(sys.stdout, command)
        self.user_ns["_exit_code"] = status
        if self.system_raise_on_error and status != 0:
            raise subprocess.CalledProcessError(status, cmd)


def make_shell(session):
    """The shell of this process, ready to run cells."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.banner1 = ""
    config.PlainTextFormatter.max_seq_length = 0
    Shell.session = session
    shell = Shell.instance(
        config=config,
        # A folder that exists: IPython makes the one it is given.
        ipython_dir=tempfile.gettempdir(),
        displayhook_class=ResultHook,
    )
    shell.loop_runner = run_in_loop
    shell.asker = Asker(session)
    shell.asker.install()
    formatters.install(shell)
    warnings.filterwarnings("ignore", message="To exit: use", category=UserWarning)
    return shell


def _print_page(_shell, data, start=0, screen_lines=0, **_):
    text = data.get("text/plain", "") if isinstance(data, dict) else data
    print(page.remove_ansi(text) if hasattr(page, "remove_ansi") else text)


def _run(command, stdout):
    child = _start(command, stdout)
    try:
        status = child.wait()
    except KeyboardInterrupt:
        _stop(child)
        raise
    return status


def _run_into(stream, command):
    """For when `sys.stdout` is redirected inside Python, as under `%%capture`."""
    child = _start(command, subprocess.PIPE)
    try:
        for line in child.stdout:
            stream.write(line)
        return child.wait()
    except KeyboardInterrupt:
        _stop(child)
        raise


def _start(command, stdout):
    shell = os.environ.get("SHELL") or "/bin/sh"
    return subprocess.Popen(
        [shell if os.access(shell, os.X_OK) else "/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        text=True if stdout is not None else None,
        encoding="utf-8" if stdout is not None else None,
        errors="backslashreplace" if stdout is not None else None,
    )


def _stop(child):
    """The interrupt went to the whole process group; a command that ignores it is killed."""
    try:
        child.wait(timeout=1)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
