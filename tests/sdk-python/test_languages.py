"""Bash beside Python, and a clear answer for what is not there."""

import pytest
from e2b import InvalidArgumentException, SandboxException
from helpers import ok, printed, value


def test_bash_prints(interpreter):
    assert printed(interpreter.run_code("echo hello $((6 * 7))", language="bash")) == "hello 42\n"


def test_bash_keeps_its_state(interpreter):
    ok(
        interpreter.run_code(
            "export GREETING='good day'\nlocal_var=5\ncd /tmp\nf() { echo \"f says $1\"; }", language="bash"
        )
    )
    assert (
        printed(interpreter.run_code('f hi; echo "$GREETING $local_var $PWD"', language="bash"))
        == "f says hi\ngood day 5 /tmp\n"
    )


def test_bash_context(interpreter):
    context = interpreter.create_code_context(language="bash", cwd="/tmp")
    assert context.language == "bash"
    assert printed(interpreter.run_code("pwd", context=context)) == "/tmp\n"


def test_bash_failure_is_an_error_with_its_status(interpreter):
    execution = interpreter.run_code("echo before\necho oops >&2\n(exit 3)", language="bash")
    assert "".join(execution.logs.stdout) == "before\n" and "".join(execution.logs.stderr) == "oops\n"
    assert execution.error is not None and "3" in execution.error.value
    assert printed(interpreter.run_code("echo on", language="bash")) == "on\n"


def test_bash_takes_envs_of_one_call(interpreter):
    envs = {"ONCE": 'it\'s "quoted"\n$HOME'}
    assert printed(interpreter.run_code('printf %s "$ONCE"', language="bash", envs=envs)) == envs["ONCE"]
    assert printed(interpreter.run_code('printf "[%s]" "$ONCE"', language="bash")) == "[]"


def test_bash_exit_does_not_end_the_session(interpreter):
    interpreter.run_code("exit 4", language="bash")
    assert printed(interpreter.run_code("echo again", language="bash")) == "again\n"


def test_bash_syntax_error(interpreter):
    execution = interpreter.run_code("if then", language="bash")
    assert execution.error is not None or "syntax error" in "".join(execution.logs.stderr)
    assert printed(interpreter.run_code("echo again", language="bash")) == "again\n"


def test_languages_do_not_mix(interpreter):
    ok(interpreter.run_code("x = 1"))
    assert printed(interpreter.run_code('echo "[$x]"', language="bash")) == "[]\n"
    assert value(interpreter, "x", language="python") == "1"


def test_unknown_language_is_named(interpreter):
    with pytest.raises(SandboxException) as caught:
        interpreter.run_code("1", language="klingon")
    assert "klingon" in str(caught.value)
    assert value(interpreter, "1") == "1"


def test_context_and_language_exclude_each_other(interpreter):
    with pytest.raises(InvalidArgumentException):
        interpreter.run_code("1", language="python", context=interpreter.create_code_context())
