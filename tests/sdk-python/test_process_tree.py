"""The end of a command is the end of all that it started; nothing is left lying about."""

import pytest
from e2b import TimeoutException
from helpers import Stopwatch, run, survivors, until


def gone(sandbox, pattern, seconds=3):
    until(lambda: not survivors(sandbox, pattern), seconds)
    return survivors(sandbox, pattern) == []


@pytest.mark.parametrize(
    "command",
    [
        "sleep 4245",
        "sleep 4245 & sleep 4245 & wait",
        "setsid sleep 4245 & sleep 4245",
        "(setsid sh -c 'setsid sleep 4245 & sleep 4245' &) ; sleep 4245",
        "nohup sleep 4245 >/dev/null 2>&1 & disown; sleep 4245",
        "trap '' TERM INT HUP; sh -c \"trap '' TERM; sleep 4245; sleep 4245\"",
    ],
    ids=["one", "children", "setsid", "daemon", "nohup", "trap"],
)
def test_a_timeout_ends_the_whole_tree(sandbox, command):
    with pytest.raises(TimeoutException):
        sandbox.commands.run(command, timeout=1)
    assert gone(sandbox, "sleep 424[5]")


def test_kill_ends_the_whole_tree(sandbox):
    handle = sandbox.commands.run("setsid sleep 4246 & sleep 4246", background=True)
    assert until(lambda: len(survivors(sandbox, "^sleep 424[6]")) == 2)
    assert handle.kill()
    assert gone(sandbox, "sleep 424[6]")


def test_a_child_that_holds_the_pipe_does_not_hold_the_answer(sandbox):
    with Stopwatch() as took:
        assert run(sandbox, "sleep 60 & echo hi") == "hi"
        assert run(sandbox, "setsid nohup sleep 60 & echo hi") == "hi"
    assert took.seconds < 3


def test_a_server_started_with_ampersand_lives_on(sandbox):
    run(sandbox, "nohup sleep 4247 >/dev/null 2>&1 & echo started")
    run(sandbox, "true")
    assert len(survivors(sandbox, "sleep 424[7]")) >= 1


def test_output_without_end_is_stopped(sandbox):
    with pytest.raises(TimeoutException), Stopwatch() as took:
        sandbox.commands.run("yes", timeout=2, retain_output=False)
    assert took.seconds < 6
    assert gone(sandbox, "^ye[s]")


def test_nobody_reads_the_output(sandbox):
    handle = sandbox.commands.run("yes", background=True, timeout=0)
    handle.disconnect()
    assert run(sandbox, "echo on") == "on"
    assert sandbox.commands.kill(handle.pid)
    assert gone(sandbox, "^ye[s]")


def test_orphans_are_reaped(sandbox):
    run(sandbox, "for i in $(seq 200); do sh -c 'sleep 0.05 &'; done")
    zombies = lambda: int(run(sandbox, "ps -eo stat= | grep -c '^Z' || true"))  # noqa: E731
    assert until(lambda: zombies() == 0, 3)
    assert int(run(sandbox, "ps -e | wc -l")) < 20


def test_double_forked_orphans_are_reaped(sandbox):
    code = "import os, time\nfor _ in range(50):\n    if os.fork() == 0:\n        if os.fork() == 0: time.sleep(0.1)\n        os._exit(0)\ntime.sleep(0.3)"
    run(sandbox, f'python3 -c "{code}"')
    assert until(lambda: run(sandbox, "ps -eo stat= | grep -c '^Z' || true") == "0", 3)


def test_the_environment_of_pid_one_is_alone(sandbox):
    first = run(sandbox, "ps -o pid=,comm= -p 1")
    assert first.split()[0] == "1"
    assert int(run(sandbox, "ls -d /proc/[0-9]* | wc -l")) < 12
