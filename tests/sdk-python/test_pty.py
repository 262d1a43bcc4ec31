"""A terminal: made, typed into, resized, left."""

import pytest
from e2b import CommandExitException, NotFoundException, PtySize
from helpers import until


class Screen:
    """Reads a terminal until something shows."""

    def __init__(self, handle):
        self._events, self.text = iter(handle), ""

    def until(self, marker):
        while marker not in self.text:
            _, _, pty = next(self._events)
            self.text += (pty or b"").decode(errors="replace")
        seen, _, self.text = self.text.partition(marker)
        return seen


@pytest.fixture
def pty(sandbox):
    handle = sandbox.pty.create(PtySize(rows=24, cols=80), envs={"MINE": "its value"}, cwd="/tmp")
    return sandbox, handle, Screen(handle)


def type_in(sandbox, handle, text):
    sandbox.pty.send_stdin(handle.pid, text.encode())


def test_it_is_a_terminal(pty):
    sandbox, handle, screen = pty
    type_in(sandbox, handle, 'echo "[$MINE] $(pwd) $TERM $(tty | cut -c1-9)" e""nd\n')
    said = screen.until(" end\r\n")
    assert "[its value] /tmp xterm-256color /dev/pts/" in said


def test_size_and_resize(pty):
    sandbox, handle, screen = pty
    type_in(sandbox, handle, "echo size=$(stty size | tr ' ' x)=\n")
    screen.until("size=24x80=")
    sandbox.pty.resize(handle.pid, PtySize(rows=50, cols=132))
    type_in(sandbox, handle, "echo cols=$(tput cols)=\n")
    screen.until("cols=132=")


def test_exit_code(pty):
    sandbox, handle, _ = pty
    type_in(sandbox, handle, "exit 5\n")
    with pytest.raises(CommandExitException) as caught:
        handle.wait()
    assert caught.value.exit_code == 5


def test_control_c_interrupts(pty):
    sandbox, handle, screen = pty
    type_in(sandbox, handle, "echo be''gin; sleep 100; echo interrupted\n")
    screen.until("begin")
    type_in(sandbox, handle, "\x03")
    # The terminal throws away what was typed ahead of the interrupt's end.
    screen.until("$ ")
    type_in(sandbox, handle, "echo still he''re\n")
    screen.until("still here")


def test_kill(pty):
    sandbox, handle, _ = pty
    assert handle.pid in [p.pid for p in sandbox.commands.list()]
    assert sandbox.pty.kill(handle.pid) is True
    assert until(lambda: handle.pid not in [p.pid for p in sandbox.commands.list()])
    assert sandbox.pty.kill(handle.pid) is False


def test_connect_from_elsewhere(pty):
    sandbox, handle, screen = pty
    type_in(sandbox, handle, "x=42; echo re''ady\n")
    screen.until("ready")
    handle.disconnect()
    again = sandbox.pty.connect(handle.pid)
    type_in(sandbox, handle, "echo x is $x .\n")
    Screen(again).until("x is 42 .")


def test_python_in_a_terminal(pty):
    sandbox, handle, screen = pty
    type_in(sandbox, handle, "python3 -q\n")
    screen.until(">>> ")
    type_in(sandbox, handle, "name = input('who? ')\n")
    type_in(sandbox, handle, "Ада\n")
    type_in(sandbox, handle, "print('hello ' + name + '!')\nexit()\nexit\n")
    screen.until("hello Ада!")


def test_unknown_terminal(sandbox):
    with pytest.raises(NotFoundException):
        sandbox.pty.send_stdin(999_999, b"x")
    with pytest.raises(NotFoundException):
        sandbox.pty.resize(999_999, PtySize(1, 1))
    with pytest.raises(NotFoundException):
        sandbox.pty.connect(999_999)


def test_root_terminal(sandbox):
    handle = sandbox.pty.create(PtySize(rows=10, cols=40), user="root")
    sandbox.pty.send_stdin(handle.pid, b'echo "i am $(whoami)"\n')
    Screen(handle).until("i am root")
    handle.kill()
