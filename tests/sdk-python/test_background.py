"""Commands in the background: listed, fed, joined, killed."""

import time

import pytest
from e2b import CommandExitException, NotFoundException, SandboxException
from helpers import run, until


def start(sandbox, command, **more):
    return sandbox.commands.run(command, background=True, **more)


def pids(sandbox):
    return [process.pid for process in sandbox.commands.list()]


def test_wait_for_it(sandbox):
    handle = start(sandbox, "sleep 0.3; echo done; echo err >&2")
    assert handle.pid in pids(sandbox)
    result = handle.wait()
    assert (result.stdout, result.stderr, result.exit_code) == ("done\n", "err\n", 0)
    assert handle.pid not in pids(sandbox)


def test_failure_shows_when_waited_for(sandbox):
    handle = start(sandbox, "exit 7")
    with pytest.raises(CommandExitException) as caught:
        handle.wait()
    assert caught.value.exit_code == 7


def test_reading_while_it_runs(sandbox):
    handle = start(sandbox, "for i in 1 2 3; do echo $i; sleep 0.2; done")
    assert "".join(out for out, _, _ in handle if out) == "1\n2\n3\n"


def test_kill(sandbox):
    handle = start(sandbox, "sleep 4243")
    assert handle.kill() is True
    with pytest.raises(CommandExitException) as caught:
        handle.wait()
    assert caught.value.exit_code != 0
    assert sandbox.commands.kill(handle.pid) is False
    assert sandbox.commands.kill(999_999) is False


def test_list_tells_what_runs(sandbox):
    handle = start(sandbox, "sleep 4244", cwd="/tmp", envs={"NAME": "value"})
    [process] = [p for p in sandbox.commands.list() if p.pid == handle.pid]
    assert "sleep 4244" in " ".join(process.args) and process.cwd == "/tmp" and process.envs["NAME"] == "value"
    handle.kill()


def test_connect_by_pid(sandbox):
    handle = start(sandbox, "for i in $(seq 50); do echo tick $i; sleep 0.1; done", timeout=0)
    handle.disconnect()
    again = sandbox.commands.connect(handle.pid)
    seen = next(out for out, _, _ in again if out)
    assert seen.startswith("tick")
    again.kill()


def test_connect_to_nobody(sandbox):
    with pytest.raises(NotFoundException):
        sandbox.commands.connect(999_999)


def test_disconnecting_does_not_end_it(sandbox):
    handle = start(sandbox, "sleep 1; echo finished > /tmp/proof")
    handle.disconnect()
    assert until(lambda: sandbox.files.exists("/tmp/proof"), 5)


def test_stdin_line_by_line(sandbox):
    handle = start(sandbox, 'while read line; do echo "got $line"; done; echo end', stdin=True)
    sandbox.commands.send_stdin(handle.pid, "one\n")
    handle.send_stdin("two\nthree\n")
    sandbox.commands.close_stdin(handle.pid)
    assert handle.wait().stdout == "got one\ngot two\ngot three\nend\n"


@pytest.mark.parametrize(
    "text",
    ["", "no line end", "多字节 😀\n", "quote' \" $HOME \\ \n", "x" * 200_000 + "\n"],
    ids=["empty", "unended", "multibyte", "special", "long"],
)
def test_stdin_is_passed_exactly(sandbox, text):
    handle = start(sandbox, "cat", stdin=True)
    handle.send_stdin(text)
    handle.close_stdin()
    assert handle.wait().stdout == text


def test_stdin_streamed(sandbox):
    handle = start(sandbox, "wc -l", stdin=True)
    sandbox.commands.stream_input(handle.pid, (f"line {i}\n" for i in range(100)))
    handle.close_stdin()
    assert handle.wait().stdout.strip() == "100"


def test_stdin_of_a_command_without_one(sandbox):
    handle = start(sandbox, "sleep 5")
    with pytest.raises(SandboxException):
        handle.send_stdin("x")
    handle.kill()


def test_stdin_of_nobody(sandbox):
    with pytest.raises(NotFoundException):
        sandbox.commands.send_stdin(999_999, "x")


def test_one_that_waits_for_input_blocks_nobody(sandbox):
    handle = start(sandbox, "cat", stdin=True)
    assert run(sandbox, "echo served") == "served"
    handle.kill()


def test_a_server_inside(sandbox, data_url):
    import httpx

    sandbox.files.write("index.html", "hello from inside")
    start(sandbox, "python3 -m http.server 8000 --bind 127.0.0.1", timeout=0)
    route = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": "8000"}
    answer = until(lambda: (r := httpx.get(f"{data_url}/index.html", headers=route)).status_code == 200 and r, 10)
    assert answer and answer.text == "hello from inside"


@pytest.mark.slow
def test_it_lives_longer_than_the_client_listens(sandbox):
    handle = start(sandbox, "sleep 12; echo finished > /tmp/proof", timeout=0)
    handle.disconnect()
    time.sleep(11)
    assert handle.pid in pids(sandbox)
    assert until(lambda: sandbox.files.exists("/tmp/proof"), 5)
