"""What a cell prints arrives as it is printed, all of it, in order."""

import time

import pytest
from e2b import TimeoutException
from helpers import Stopwatch, ok, printed, value


def test_streams_are_told_apart(interpreter):
    execution = ok(interpreter.run_code("import sys\nprint('out')\nprint('err', file=sys.stderr)"))
    assert ("".join(execution.logs.stdout), "".join(execution.logs.stderr)) == ("out\n", "err\n")


def test_callbacks_come_in_order_and_in_time(interpreter):
    heard = []
    code = "import sys, time\nfor i in range(3):\n    print(i, flush=True)\n    print('e', i, file=sys.stderr, flush=True)\n    time.sleep(0.4)\ndisplay('shown')\n1/0"
    execution = interpreter.run_code(
        code,
        on_stdout=lambda m: heard.append((m.line, m.error, time.monotonic())),
        on_stderr=lambda m: heard.append((m.line, m.error, time.monotonic())),
        on_result=lambda r: heard.append((r.text, "result", time.monotonic())),
        on_error=lambda e: heard.append((e.name, "error", time.monotonic())),
    )
    assert [h[0] for h in heard] == ["0\n", "e 0\n", "1\n", "e 1\n", "2\n", "e 2\n", "shown", "ZeroDivisionError"]
    assert heard[2][2] - heard[0][2] > 0.2, "the lines came all at once"
    assert execution.error.name == "ZeroDivisionError"


def test_output_of_children_is_caught(interpreter):
    code = "import subprocess, os\nsubprocess.run(['sh', '-c', 'echo child; echo grumble >&2'])\nos.write(1, b'raw\\n')\nprint('parent')"
    execution = ok(interpreter.run_code(code))
    out = "".join(execution.logs.stdout)
    assert "child\n" in out and "raw\n" in out and "parent\n" in out
    assert "".join(execution.logs.stderr) == "grumble\n"


def test_characters_are_never_cut(interpreter):
    text = "héllo 漢字 😀 " * 2000
    assert printed(interpreter.run_code(f"print({text!r}, end='')")) == text
    code = "import os, time\nfor b in '漢😀'.encode():\n    os.write(1, bytes([b])); time.sleep(0.02)"
    assert printed(interpreter.run_code(code)) == "漢😀"


def test_output_without_a_line_end(interpreter):
    assert printed(interpreter.run_code("print('a', end='')\nprint('b', end='')")) == "ab"


def test_background_threads_print(interpreter):
    code = "import threading\nt = threading.Thread(target=print, args=('from a thread',))\nt.start(); t.join()"
    assert printed(interpreter.run_code(code)) == "from a thread\n"


@pytest.mark.slow
def test_a_hundred_megabytes_arrive(interpreter):
    size = 0

    def count(message):
        nonlocal size
        size += len(message.line)

    ok(interpreter.run_code("for _ in range(1000):\n    print('x' * 99_999)", on_stdout=count, timeout=100))
    assert size == 100_000_000
    assert value(interpreter, "1 + 1") == "2"


def test_a_hundred_thousand_tiny_writes(interpreter):
    execution = interpreter.run_code(
        "import sys\nfor _ in range(100_000):\n    sys.stdout.write('x'); sys.stdout.flush()", timeout=60
    )
    assert len(printed(execution)) == 100_000
    assert len(execution.logs.stdout) < 50_000


def test_code_that_prints_for_ever_is_stopped(interpreter):
    ok(interpreter.run_code("kept = 7"))
    with pytest.raises(TimeoutException), Stopwatch() as took:
        interpreter.run_code("while True:\n    print('and on')", timeout=3)
    assert took.seconds < 10
    with Stopwatch() as took:
        assert value(interpreter, "kept") == "7"
    assert took.seconds < 10
