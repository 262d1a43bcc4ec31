"""E2. A command is over when its main process is, whoever still holds its pipes; its descendants end with it, or as stated."""

import time

import pytest

from programs import alive, answers, shell, until

HOLDERS = ["sleep 4262 & echo hi", "nohup sleep 4262 & echo hi", "setsid sleep 4262 & echo hi", "(sleep 4262 &) ; echo hi",
           "sleep 4262 & disown; echo hi", "setsid sh -c 'sleep 4262 & sleep 4262' & echo hi"]  # fmt: skip


@pytest.mark.parametrize("command", HOLDERS)
def test_it_returns_when_the_main_process_ends(sandbox, trial, who, command):
    began = time.monotonic()
    said = sandbox.commands.run(command, user=who, timeout=20)
    took = time.monotonic() - began
    assert said.stdout == "hi\n" and took < 5
    trial.saw = f"returned after {took:.2f} s, {alive(sandbox, 'sleep 426[2]')} left in the background"


def test_an_input_that_is_never_closed(sandbox, trial, who):
    """Standard input that nobody feeds must not hold a command that does not ask for it, nor the next command."""
    held = sandbox.commands.run("cat", stdin=True, user=who, background=True, timeout=60)
    for _ in range(5):
        assert answers(sandbox, who)
    assert sandbox.commands.run("sleep 0.1; echo over", stdin=True, user=who, timeout=10).stdout == "over\n"
    held.kill()
    assert shell(sandbox, "python3 -c 'input()' 2>&1 | tail -1", who).startswith("EOFError")
    trial.saw = "the next command is served; without input there is an end of file"


def test_a_timeout_ends_the_whole_tree(sandbox, trial, who):
    with pytest.raises(Exception, match="(?i)time|deadline"):
        sandbox.commands.run(
            "setsid sh -c 'trap \"\" TERM; sleep 4263' & trap '' TERM; sleep 4263", user=who, timeout=1
        )
    assert until(lambda: alive(sandbox, "sleep 426[3]") == 0)
    trial.saw = "no survivor"
