"""Several contexts in one sandbox, each with its own state and directory."""

import pytest
from e2b import NotFoundException, SandboxException
from helpers import ok, printed, until, value


def test_contexts_are_apart(interpreter):
    one, other = interpreter.create_code_context(), interpreter.create_code_context()
    ok(interpreter.run_code("x = 'one'", context=one))
    ok(interpreter.run_code("x = 'other'", context=other))
    assert value(interpreter, "x", context=one) == "one"
    assert value(interpreter, "x", context=other) == "other"
    assert value(interpreter, "'x' in dir()") == "False"


def test_context_has_its_own_directory(interpreter):
    interpreter.files.make_dir("/home/user/project")
    context = interpreter.create_code_context(cwd="/home/user/project", language="python")
    assert (context.cwd, context.language) == ("/home/user/project", "python")
    assert value(interpreter, "import os\nos.getcwd()", context=context) == "/home/user/project"
    assert value(interpreter, "import os\nos.getcwd()") == "/home/user"


def test_a_directory_that_is_not_there(interpreter):
    with pytest.raises(SandboxException):
        interpreter.create_code_context(cwd="/no/such/place")


def test_listing_contains_the_default_and_the_new(interpreter):
    before = interpreter.list_code_contexts()
    assert "python" in [c.language for c in before]
    context = interpreter.create_code_context()
    assert {c.id for c in interpreter.list_code_contexts()} == {c.id for c in before} | {context.id}


def test_restart_forgets_and_keeps_its_place(interpreter):
    context = interpreter.create_code_context(cwd="/tmp")
    ok(interpreter.run_code("x = 1", context=context))
    interpreter.restart_code_context(context)
    assert interpreter.run_code("x", context=context).error.name == "NameError"
    assert value(interpreter, "import os\nos.getcwd()", context=context) == "/tmp"
    assert context.id in [c.id for c in interpreter.list_code_contexts()]


def test_restart_by_id_of_a_busy_context(interpreter):
    context = interpreter.create_code_context()
    ok(
        interpreter.run_code(
            "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()", context=context
        )
    )
    interpreter.restart_code_context(context.id)
    assert value(interpreter, "1 + 1", context=context) == "2"


def test_removed_context_is_gone(interpreter):
    context = interpreter.create_code_context()
    ok(interpreter.run_code("import os\npid = os.getpid()", context=context))
    pid = value(interpreter, "pid", context=context)
    interpreter.remove_code_context(context)
    assert context.id not in [c.id for c in interpreter.list_code_contexts()]
    with pytest.raises(NotFoundException) as caught:
        interpreter.run_code("1", context=context)
    assert context.id in str(caught.value)
    gone = f"kill -0 {pid} 2>&1 || echo gone"
    assert until(lambda: interpreter.commands.run(gone).stdout.rstrip().endswith("gone"), seconds=2)


@pytest.mark.parametrize("call", ["remove_code_context", "restart_code_context"])
def test_unknown_context(interpreter, call):
    with pytest.raises(NotFoundException):
        getattr(interpreter, call)("no-such-context")


def test_contexts_run_at_the_same_time(interpreter):
    from concurrent.futures import ThreadPoolExecutor

    contexts = [interpreter.create_code_context() for _ in range(2)]
    interpreter.files.make_dir("/tmp/meet")
    code = "import os, time\nopen('/tmp/meet/{me}', 'w').close()\nend = time.time() + 20\nwhile not os.path.exists('/tmp/meet/{other}') and time.time() < end:\n    time.sleep(0.01)\nprint('met' if time.time() < end else 'alone')"
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(interpreter.run_code, code.format(me=i, other=1 - i), context=c) for i, c in enumerate(contexts)
        ]
        assert [printed(job.result()) for job in jobs] == ["met\n", "met\n"]


def test_two_contexts_do_not_share_randomness(interpreter):
    code = "import random, uuid, os, numpy as np\nstr([random.random(), uuid.uuid4().hex, os.urandom(4), np.random.rand()])"
    said = [value(interpreter, code, context=interpreter.create_code_context()) for _ in range(3)]
    assert len(set(said)) == 3
    draws = [
        value(interpreter, "__import__('random').random()", context=interpreter.create_code_context()) for _ in range(3)
    ]
    assert len(set(draws)) == 3


@pytest.mark.slow
def test_there_is_an_end_to_contexts_and_it_is_named(interpreter):
    made = []
    with pytest.raises(SandboxException) as caught:
        for _ in range(300):
            made.append(interpreter.create_code_context(language="bash"))
    assert str(len(interpreter.list_code_contexts())) in str(caught.value)
    interpreter.remove_code_context(made[0])
    assert printed(interpreter.run_code("echo room again", context=interpreter.create_code_context(language="bash")))
