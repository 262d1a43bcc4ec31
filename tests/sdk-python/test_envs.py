"""Environment variables: for a sandbox, for one call, whatever is in them."""

import json

import pytest
from e2b import SandboxException
from helpers import printed, run, value

ODD = {
    "QUOTES": 'it\'s "quoted" `here`',
    "LINES": "one\ntwo\n",
    "DOLLAR": "$HOME ${PATH} $(id) \\ %s",
    "UNICODE": "значение 漢字 😀",
    "EMPTY": "",
    "SPACES": "  both ends  ",
}
SHOW = "import os, json\nprint(json.dumps({k: os.environ.get(k) for k in %r}))" % sorted(ODD)
SHOW_COMMAND = 'python3 -c "import os, json; print(json.dumps({k: os.environ.get(k) for k in %s}))"' % str(
    sorted(ODD)
).replace('"', "'")


def test_command_envs_of_one_call(sandbox):
    assert json.loads(run(sandbox, SHOW_COMMAND, envs=ODD)) == ODD
    assert set(json.loads(run(sandbox, SHOW_COMMAND)).values()) == {None}


def test_sandbox_envs_are_everywhere(interpret):
    interpreter = interpret(envs=ODD)
    assert json.loads(run(interpreter, SHOW_COMMAND)) == ODD
    assert json.loads(printed(interpreter.run_code(SHOW))) == ODD
    assert json.loads(printed(interpreter.run_code(SHOW, context=interpreter.create_code_context()))) == ODD
    assert printed(interpreter.run_code('printf %s "$DOLLAR"', language="bash")) == ODD["DOLLAR"]


def test_code_envs_of_one_call(interpreter):
    assert json.loads(printed(interpreter.run_code(SHOW, envs=ODD))) == ODD
    assert set(json.loads(printed(interpreter.run_code(SHOW))).values()) == {None}


def test_call_wins_over_sandbox_and_is_undone(interpret):
    interpreter = interpret(envs={"WHO": "sandbox"})
    who = "import os\nos.environ['WHO']"
    assert value(interpreter, who, envs={"WHO": "call"}) == "call"
    assert value(interpreter, who) == "sandbox"
    assert run(interpreter, "echo $WHO", envs={"WHO": "call"}) == "call"
    assert run(interpreter, "echo $WHO") == "sandbox"


def test_envs_of_a_failed_cell_are_undone(interpreter):
    assert interpreter.run_code("1/0", envs={"ONCE": "1"}).error.name == "ZeroDivisionError"
    assert value(interpreter, "import os\nos.environ.get('ONCE', 'gone')") == "gone"


def test_sandbox_is_told_what_it_is(sandbox):
    assert run(sandbox, "echo $E2B_SANDBOX") == "true"
    assert run(sandbox, "echo $E2B_SANDBOX_ID") == sandbox.sandbox_id
    assert run(sandbox, "echo $E2B_TEMPLATE_ID") == sandbox.get_info().template_id


def test_usual_variables(sandbox):
    assert run(sandbox, "echo $HOME $USER $LOGNAME") == "/home/user user user"
    assert run(sandbox, "echo $HOME $USER", user="root") == "/root root"
    assert "/usr/bin" in run(sandbox, "echo $PATH").split(":")


@pytest.mark.parametrize("name", ["", "A=B", "A\0B"], ids=["empty", "equals", "nul"])
def test_impossible_names_are_refused(sandbox, name):
    with pytest.raises(SandboxException):
        sandbox.commands.run("true", envs={name: "x"})
    assert run(sandbox, "echo fine") == "fine"


def test_loader_tricks_stay_inside(sandbox):
    result = sandbox.commands.run("echo fine", envs={"LD_PRELOAD": "/no/such.so", "BASH_ENV": "/no/such", "ENV": "/no"})
    assert result.stdout == "fine\n" and result.exit_code == 0


def test_a_big_environment(sandbox):
    big = "x" * 100_000
    assert run(sandbox, 'printf %s "$BIG" | wc -c', envs={"BIG": big}) == "100000"
