"""Commands in the foreground: what they say, how they end, as whom and where."""

import pytest
from e2b import (
    AuthenticationException,
    CommandExitException,
    InvalidArgumentException,
    TimeoutException,
)
from helpers import Stopwatch, fails, run


def test_output_and_exit(sandbox):
    result = sandbox.commands.run("echo out; echo err >&2")
    assert (result.stdout, result.stderr, result.exit_code, result.error) == ("out\n", "err\n", 0, None)


def test_failure_is_an_exception_with_everything(sandbox):
    exit = fails(sandbox, "echo some; echo wrong >&2; exit 42")
    assert (exit.exit_code, exit.stdout, exit.stderr) == (42, "some\n", "wrong\n")


@pytest.mark.parametrize("command", ["no-such-program", "/etc/hostname", "ls /no/such/place"])
def test_usual_failures(sandbox, command):
    exit = fails(sandbox, command)
    assert exit.exit_code in (127, 126, 2) and exit.stderr


def test_death_by_signal(sandbox):
    killed = fails(sandbox, "kill -9 $$")
    assert (killed.exit_code, killed.error) == (-1, "signal: killed")
    # A shell that outlives its child reports 128 and the signal's number.
    assert fails(sandbox, "sh -c 'kill -TERM $$'; exit $?").exit_code == 143


def test_callbacks(sandbox):
    out, err = [], []
    sandbox.commands.run("echo 1; sleep 0.1; echo 2; echo e >&2", on_stdout=out.append, on_stderr=err.append)
    assert "".join(out) == "1\n2\n" and "".join(err) == "e\n"


@pytest.mark.parametrize(
    "text",
    [
        "it's",
        'say "hi"',
        "$HOME `id` $(id)",
        "a\\b",
        "semi;colon & and | pipe",
        "*?[x]",
        "!history",
        "漢字 😀 ü",
        "tab\there",
        "%s %d",
    ],
)
def test_special_characters(sandbox, text):
    import shlex

    assert sandbox.commands.run(f"printf %s {shlex.quote(text)}").stdout == text


def test_several_lines_of_script(sandbox):
    assert run(sandbox, "for i in 1 2 3; do\n  echo $i\ndone\ncat <<'END'\nlast $x\nEND") == "1\n2\n3\nlast $x"


def test_characters_are_never_cut(sandbox):
    chunks = []
    code = "import sys, time\nfor b in 'é漢😀'.encode() * 20:\n    sys.stdout.buffer.write(bytes([b])); sys.stdout.flush(); time.sleep(0.003)"
    sandbox.commands.run(f'python3 -c "{code}"', on_stdout=chunks.append)
    assert "".join(chunks) == "é漢😀" * 20 and not any("\ufffd" in chunk for chunk in chunks)


def test_binary_noise_is_survived(sandbox):
    assert len(sandbox.commands.run("head -c 1000000 /dev/urandom").stdout) > 0
    assert run(sandbox, "echo fine") == "fine"


def test_working_directory(sandbox):
    assert run(sandbox, "pwd") == "/home/user"
    assert run(sandbox, "pwd", cwd="/tmp") == "/tmp"
    assert run(sandbox, "pwd", user="root") in ("/home/user", "/root")
    with pytest.raises(InvalidArgumentException) as caught:
        sandbox.commands.run("pwd", cwd="/no/such/place")
    assert "/no/such/place" in str(caught.value)


def test_users(sandbox):
    assert run(sandbox, "whoami; id -u; id -gn") == "user\n1000\nuser"
    assert run(sandbox, "whoami; id -u", user="root") == "root\n0"
    with pytest.raises(AuthenticationException) as caught:
        sandbox.commands.run("whoami", user="nobody-of-this-name")
    assert "nobody-of-this-name" in str(caught.value)


def test_sudo(sandbox):
    assert run(sandbox, "sudo whoami") == "root"
    assert run(sandbox, "sudo -n sh -c 'echo x > /etc/made-by-root && stat -c %U /etc/made-by-root'") == "root"
    assert run(sandbox, "sudo -u user whoami", user="root") == "user"


def test_root_can_install_things(sandbox):
    run(sandbox, "mkdir /opt/tool && cp /bin/echo /usr/local/bin/say && chown user:user /opt/tool", user="root")
    assert run(sandbox, "say hello && touch /opt/tool/x && echo done") == "hello\ndone"


def test_timeout(sandbox):
    with pytest.raises(TimeoutException), Stopwatch() as took:
        sandbox.commands.run("sleep 60", timeout=1)
    assert took.seconds < 3
    assert run(sandbox, "echo on") == "on"


def test_longer_than_a_minute_is_allowed_when_asked(sandbox):
    assert run(sandbox, "sleep 1; echo slept", timeout=0) == "slept"


def test_long_output(sandbox):
    assert len(sandbox.commands.run("head -c 20000000 /dev/zero | tr '\\0' x").stdout) == 20_000_000


@pytest.mark.slow
def test_a_hundred_megabytes_without_keeping_them(sandbox):
    size = 0

    def count(text):
        nonlocal size
        size += len(text)

    sandbox.commands.run("head -c 100000000 /dev/zero | tr '\\0' x", on_stdout=count, retain_output=False, timeout=100)
    assert size == 100_000_000


def test_long_command(sandbox):
    assert run(sandbox, "echo " + "x" * 100_000) == "x" * 100_000


def test_common_tools(sandbox):
    run(sandbox, "for t in python3 python node npm git curl sudo ps tput jq gcc make; do command -v $t || exit 1; done")
    assert run(sandbox, 'node -e "console.log(6 * 7)"') == "42"
    assert (
        run(
            sandbox,
            "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | wc -l",
        )
        == "1"
    )


def test_stdin_is_empty_unless_asked_for(sandbox):
    with Stopwatch() as took:
        exit = fails(sandbox, 'python3 -c "input()"')
        assert run(sandbox, "cat; echo end") == "end"
    assert "EOFError" in exit.stderr and took.seconds < 5


def test_interactive_shell_without_a_terminal(sandbox):
    assert run(sandbox, "bash -ic 'echo hi' 2>/dev/null", timeout=10) == "hi"


def test_many_at_once(sandbox):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(10) as pool:
        said = list(pool.map(lambda i: run(sandbox, f"sleep 0.2; echo {i}"), range(30)))
    assert said == [str(i) for i in range(30)]
    with pytest.raises(CommandExitException):
        sandbox.commands.run("false")
