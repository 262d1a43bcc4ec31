"""A Python that dies is told apart from an exception, with its reason, and the next cell has a fresh one."""

import time

import pytest
from e2b import TimeoutException
from e2b_code_interpreter import Sandbox as Interpreter
from helpers import Stopwatch, ok, value

SEGFAULT = "import ctypes\nctypes.string_at(0)"


@pytest.mark.parametrize(
    ("code", "name", "reason"),
    [
        ("import os\nos._exit(1)", "KernelExited", "status 1"),
        (SEGFAULT, "KernelCrashed", "SIGSEGV"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "KernelCrashed", "SIGKILL"),
        ("import os\nos.abort()", "KernelCrashed", "SIGABRT"),
    ],
    ids=["_exit", "segfault", "kill", "abort"],
)
def test_death_is_named_and_mended(interpreter, code, name, reason):
    ok(interpreter.run_code("lost = 1\nprint('before')"))
    execution = interpreter.run_code("print('said before', flush=True)\n" + code)
    assert execution.error.name == name and reason in execution.error.value
    assert "".join(execution.logs.stdout) == "said before\n"
    with Stopwatch() as took:
        assert value(interpreter, "'lost' in dir()") == "False"
    assert took.seconds < 10


def test_out_of_memory_is_named(sized):
    interpreter = sized(Interpreter, memoryMB=512)
    ok(interpreter.run_code("kept = []"))
    execution = interpreter.run_code("while True:\n    kept.append(bytearray(16 << 20))", timeout=60)
    assert execution.error.name == "KernelOutOfMemory"
    assert "512 MiB" in execution.error.value
    assert value(interpreter, "1 + 1") == "2"
    assert interpreter.commands.run("echo alive").stdout == "alive\n"


def test_memory_error_is_an_exception(interpreter):
    ok(interpreter.run_code("kept = 7"))
    assert interpreter.run_code("b'x' * (1 << 50)").error.name == "MemoryError"
    assert value(interpreter, "kept") == "7"


@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.sleep(300)",
        "while True:\n    pass",
        "import asyncio\nawait asyncio.sleep(300)",
        "import subprocess\nsubprocess.run(['sleep', '300'])",
        "while True:\n    try:\n        __import__('time').sleep(300)\n    except KeyboardInterrupt as e:\n        raise SystemExit from e",
    ],
    ids=["sleep", "spin", "await", "child", "caught"],
)
def test_a_timeout_interrupts_and_state_stays(interpreter, code):
    ok(interpreter.run_code("kept = 7"))
    with pytest.raises(TimeoutException), Stopwatch() as took:
        interpreter.run_code(code, timeout=2)
    assert took.seconds < 5
    with Stopwatch() as took:
        assert value(interpreter, "kept") == "7"
    assert took.seconds < 10


@pytest.mark.slow
def test_code_that_refuses_to_be_interrupted(interpreter):
    stubborn = "import time\nwhile True:\n    try:\n        time.sleep(300)\n    except BaseException:\n        pass"
    with pytest.raises(TimeoutException):
        interpreter.run_code(stubborn, timeout=2)
    with Stopwatch() as took:
        assert value(interpreter, "1 + 1", timeout=60) == "2"
    assert took.seconds < 40


def test_death_while_nobody_waits(interpreter):
    ok(interpreter.run_code("import threading, os\nthreading.Timer(0.3, os._exit, [5]).start()"))
    time.sleep(1)
    assert value(interpreter, "1 + 1") == "2"


def test_killing_every_python_from_a_command(interpreter):
    ok(interpreter.run_code("x = 1"))
    interpreter.commands.run("pkill -KILL -f 'pytho[n]' || true", user="root")
    time.sleep(0.5)
    # The cell that meets the death may be told of it; the one after it must work.
    interpreter.run_code("1")
    assert value(interpreter, "1 + 1") == "2"


def test_other_contexts_survive(interpreter):
    other = interpreter.create_code_context()
    ok(interpreter.run_code("kept = 7", context=other))
    assert interpreter.run_code("import os\nos._exit(1)").error.name == "KernelExited"
    assert value(interpreter, "kept", context=other) == "7"
