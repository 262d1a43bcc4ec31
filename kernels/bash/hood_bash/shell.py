"""One bash process that keeps its state, and the way to run code in it.

bash is interactive (`-i`) without a terminal. That is what makes it last: after an interrupt,
a syntax error or an unset variable under `set -u`, an interactive shell gives up the line in
hand and reads the next one, where a script would end. Its lines come over a pipe and are ours
alone; the user's code comes over a memory file and is `eval`ed with stdin from /dev/null, so
that an open quote or a here-document ends with its cell, and `cat` cannot eat our lines.
"""

import contextlib
import os
import pty
import select
import signal
import subprocess

#: Descriptors inside bash: the memory file with the code, and the pipe for what became of it.
#: Both are closed while the user's code runs.
CODE, STATUS = 60, 61

#: How often to look whether bash is gone or needs its status line again, in milliseconds.
POLL = 500

#: How often the status line is sent again after an interrupt, at most.
REPEATS = 20

#: What bash runs first: its real stderr (until here it complained that it has no terminal),
#: no history file, no prompts that a child would inherit, aliases as at a terminal.
_PROLOGUE = (
    "exec 2>&62 62>&-; unset HISTFILE PROMPT_COMMAND MAILCHECK TMOUT; set +o history; "
    "set +H; PS1= PS2= PS4='+ '; export -n PS1 PS2 PS4; unset OLDPWD\n"
)


class ShellEnded(Exception):
    """bash is gone; `status` is what `wait` says of it."""

    def __init__(self, status):
        super().__init__(describe_status(status))
        self.status = status


class Shell:
    """A running bash."""

    def __init__(self, interrupted):
        """`interrupted` answers whether a SIGINT came since the cell began."""
        self.interrupted = interrupted
        self.answer = b""
        self._numbers = 0
        self._repeats = 0
        self._terminal = None
        self._code = os.memfd_create("cell", os.MFD_CLOEXEC)
        self._status, status_writer = os.pipe()
        self._pending = b""
        self._process = self._start(status_writer)
        os.close(status_writer)
        self._pidfd = _pidfd(self._process.pid)
        self._write(_PROLOGUE)

    def version(self):
        """What bash calls its version."""
        self.run('printf %s "$BASH_VERSION" >&61', keep_status_open=True)
        return self.answer.decode("utf-8", "replace")

    def run(self, code, *, keep_status_open=False):
        """Run `code` in the shell itself and return its exit status."""
        self._numbers += 1
        self._put(code)
        closed = f"{CODE}<&-" if keep_status_open else f"{CODE}<&- {STATUS}>&-"
        self._repeats = 0
        # One line to take and run the code: an interrupt drops the rest of the line, so that
        # an old cell can never be run for a new one. The last line always runs; the empty one
        # before it is for bash's parser, which after an open quote does not see a `{`.
        # `\builtin` because the user may have a function or an alias of the same name.
        self._write(
            f'{{ IFS= \\builtin read -r -d "" -u {CODE} __hood_cell; }} 2>/dev/null; '
            f'\\builtin eval "$__hood_cell" </dev/null {closed}\n'
        )
        self._ask_for_status()
        return self._wait_for(self._numbers)

    def _repeat(self):
        """Ask again how the code in hand ended: an interrupt that comes just when bash reads
        the question makes it drop the question. Asked twice, it answers twice, and the
        second answer is passed over."""
        if self._repeats < REPEATS:
            self._repeats += 1
            self._ask_for_status()

    def _ask_for_status(self):
        self._write(
            f'\n{{ \\builtin printf "\\0%s %s\\n" {self._numbers} "$?" >&{STATUS}; }} 2>/dev/null\n'
        )

    def close(self):
        """End bash and everything of ours that belongs to it."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for fd in (self._code, self._status, self._pidfd, self._terminal):
            if fd is not None:
                os.close(fd)
        # Closing writes what is still buffered, and nobody reads it any more.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    # --- the process

    def _start(self, status_writer):
        environment = dict(os.environ, PS1="", PS2="")
        # bash complains at its start that it has no terminal, and whenever a command dies by
        # a signal it sets that terminal straight. Both go to a terminal that nobody sees.
        try:
            self._terminal, unseen = pty.openpty()
        except OSError:
            unseen = os.open(os.devnull, os.O_WRONLY)

        def place():
            # The real stderr is kept for the prologue. dup2 to the same number would leave
            # close-on-exec in place, hence copies far away first.
            code, status, errors = (_far(fd) for fd in (self._code, status_writer, 2))
            for fd, number in ((code, CODE), (status, STATUS), (errors, 62), (unseen, 2)):
                os.dup2(fd, number)

        try:
            return subprocess.Popen(
                ["bash", "--noprofile", "--norc", "--noediting", "+o", "history", "-i", "-s"],
                stdin=subprocess.PIPE,
                env=environment,
                close_fds=False,  # all others are close-on-exec, and these three are placed
                preexec_fn=place,
            )
        finally:
            os.close(unseen)

    def _put(self, code):
        data = code.encode("utf-8", "surrogateescape") + b"\0"
        os.ftruncate(self._code, 0)
        os.pwrite(self._code, data, 0)
        os.lseek(self._code, 0, os.SEEK_SET)  # bash shares the offset

    def _write(self, lines):
        try:
            self._process.stdin.write(lines.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ShellEnded(self._process.wait()) from None

    def _wait_for(self, number):
        # A status line is NUL, number, space, status: what comes before it is an answer of a
        # script of ours.
        while True:
            head, mark, rest = self._pending.partition(b"\0")
            line, end, after = rest.partition(b"\n")
            if mark and end:
                self._pending = after
                self.answer = head
                seen, status = line.split()
                if int(seen) == number:
                    return int(status)
                continue
            self._fill()

    def _fill(self):
        poller = select.poll()
        poller.register(self._status, select.POLLIN)
        if self._pidfd is not None:
            poller.register(self._pidfd, select.POLLIN)
        ready = dict(poller.poll(POLL))
        if ready.get(self._status, 0) & select.POLLIN:
            self._pending += os.read(self._status, 1 << 16)
        elif self._process.poll() is not None:
            raise ShellEnded(self._process.returncode)
        elif not ready and self.interrupted():
            self._repeat()


def describe_status(status):
    """An exit status in words."""
    if status < 0:
        try:
            return f"ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"ended by signal {-status}"
    return f"ended with status {status}"


def _far(fd):
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200)


def _pidfd(pid):
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
