"""Code that fails says why, and the next cell mends it."""

import pytest
from helpers import Stopwatch, ok, value


def test_error_and_mending(interpreter):
    interpreter.files.write("sales.csv", "Month,Amount\njan,10\nfeb,32\n")
    ok(interpreter.run_code("import pandas as pd\nsales = pd.read_csv('sales.csv')"))
    error = interpreter.run_code("sales['amount'].sum()").error
    assert (error.name, error.value) == ("KeyError", "'amount'")
    assert "sales['amount'].sum()" in error.traceback and "\x1b" not in error.traceback
    assert value(interpreter, "int(sales['Amount'].sum())") == "42"


def test_what_was_done_before_the_error_stays(interpreter):
    execution = interpreter.run_code(
        "a = 1\nprint('before')\ndisplay('shown')\nraise ValueError('bad input: 7')\nb = 2"
    )
    assert (execution.error.name, execution.error.value) == ("ValueError", "bad input: 7")
    assert execution.logs.stdout == ["before\n"] and [r.text for r in execution.results] == ["shown"]
    assert value(interpreter, "(a, 'b' in dir())") == "(1, False)"


def test_syntax_error(interpreter):
    error = interpreter.run_code("def f(:\n  pass").error
    assert error.name == "SyntaxError" and "def f(:" in error.traceback


def test_name_error_in_a_function_names_the_line(interpreter):
    error = interpreter.run_code("def f():\n    return missing_name\nf()").error
    assert error.name == "NameError" and "missing_name" in error.value
    assert error.traceback.count("missing_name") >= 1 and "f()" in error.traceback


def test_chained_and_grouped_errors(interpreter):
    error = interpreter.run_code("try:\n    1/0\nexcept Exception as e:\n    raise RuntimeError('outer') from e").error
    assert error.name == "RuntimeError" and "ZeroDivisionError" in error.traceback
    error = interpreter.run_code("raise ExceptionGroup('several', [ValueError('v'), TypeError('t')])").error
    assert error.name == "ExceptionGroup"


def test_an_object_whose_repr_fails(interpreter):
    code = "class Bad:\n    def __repr__(self): raise ValueError('no repr')\nBad()"
    execution = interpreter.run_code(code)
    assert "no repr" in str(execution.error) + execution.logs.to_json()
    assert value(interpreter, "1") == "1"


def test_an_error_whose_text_fails(interpreter):
    code = "class Bad(Exception):\n    def __str__(self): raise ValueError('no str')\nraise Bad()"
    assert interpreter.run_code(code).error.name == "Bad"


def test_deep_recursion(interpreter):
    assert interpreter.run_code("def f(): return f()\nf()").error.name == "RecursionError"
    assert value(interpreter, "1") == "1"


@pytest.mark.parametrize("code", ["exit()", "quit()", "import sys; sys.exit(3)", "raise SystemExit('bye')"])
def test_exit_ends_the_cell_and_not_the_context(interpreter, code):
    ok(interpreter.run_code("kept = 7"))
    error = interpreter.run_code(code).error
    assert error is None or error.name == "SystemExit"
    assert value(interpreter, "kept") == "7"


@pytest.mark.parametrize(
    "call", ["input('name? ')", "__import__('getpass').getpass()", "__import__('sys').stdin.readline()"]
)
def test_input_with_nobody_there(interpreter, call):
    with Stopwatch() as took:
        execution = interpreter.run_code(call)
    assert took.seconds < 5
    if "stdin" in call:
        assert execution.error is not None or execution.text == ""
    else:
        assert execution.error.name == "EOFError" and "nobody" in execution.error.value
    assert value(interpreter, "1") == "1"


def test_closed_streams_do_not_end_the_session(interpreter):
    interpreter.run_code("import sys, os\nsys.stdout.close()")
    assert value(interpreter, "6 * 7") == "42"
    interpreter.run_code("os.closerange(0, 256)")
    assert value(interpreter, "6 * 7") == "42"


def test_a_fork_in_a_cell(interpreter):
    ok(interpreter.run_code("import os\npid = os.fork()\nif pid == 0:\n    os._exit(0)\nos.waitpid(pid, 0)[1]"))
    interpreter.run_code("pid = os.fork()\nprint('child' if pid == 0 else 'parent')")
    assert value(interpreter, "6 * 7") == "42"


def test_a_huge_error_text_is_bounded(interpreter):
    error = interpreter.run_code("raise ValueError('x' * 50_000_000)").error
    assert error.name == "ValueError" and len(error.value) < 1_000_000


def test_an_endless_update_of_one_display(interpreter):
    code = (
        "from IPython.display import display\nh = display(0, display_id=True)\nfor i in range(2000):\n    h.update(i)"
    )
    ok(interpreter.run_code(code))
    assert value(interpreter, "1") == "1"
