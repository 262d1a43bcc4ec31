"""A sandbox is made, looked at, reached again and ended."""

from datetime import datetime, timedelta, timezone

import pytest
from e2b import (
    NotFoundException,
    Sandbox,
    SandboxException,
    SandboxNotRunningException,
    SandboxState,
)
from helpers import Stopwatch, run, value


def test_create_run_kill(create):
    sandbox = create()
    assert sandbox.is_running()
    assert run(sandbox, "echo hello") == "hello"
    assert sandbox.kill() is True
    assert sandbox.is_running() is False
    assert sandbox.kill() is False


def test_create_is_fast(create):
    with Stopwatch() as took:
        sandbox = create()
        run(sandbox, "true")
    assert took.seconds < 2


def test_default_template_runs_code(interpreter):
    assert value(interpreter, "1 + 1") == "2"


def test_info_tells_what_was_asked(create):
    before = datetime.now(timezone.utc)
    sandbox = create(timeout=77, metadata={"who": "tests"})
    info = sandbox.get_info()
    assert info.sandbox_id == sandbox.sandbox_id
    assert info.state == SandboxState.RUNNING
    assert info.metadata == {"who": "tests"}
    assert info.cpu_count >= 1 and info.memory_mb >= 128
    assert info.name == "base"
    assert abs(info.started_at - before) < timedelta(seconds=2)
    assert abs((info.end_at - info.started_at) - timedelta(seconds=77)) < timedelta(seconds=2)


def test_id_fits_into_a_host_name(sandbox):
    assert sandbox.sandbox_id.isalnum() and sandbox.sandbox_id == sandbox.sandbox_id.lower()
    assert sandbox.get_host(3000).startswith(f"3000-{sandbox.sandbox_id}.")


def test_connect_reaches_the_same_sandbox(sandbox):
    sandbox.files.write("kept.txt", "yes")
    again = Sandbox.connect(sandbox.sandbox_id)
    assert again.sandbox_id == sandbox.sandbox_id
    assert again.files.read("kept.txt") == "yes"


def test_connect_to_nobody_is_not_found():
    with pytest.raises(NotFoundException):
        Sandbox.connect("inobody0000000000000")


def test_info_of_nobody_is_not_found(create):
    sandbox = create()
    sandbox.kill()
    with pytest.raises(NotFoundException):
        sandbox.get_info()


def test_dead_sandbox_says_so_everywhere(create):
    sandbox = create()
    sandbox.kill()
    with pytest.raises(SandboxNotRunningException):
        sandbox.commands.run("true")
    with pytest.raises(SandboxNotRunningException):
        sandbox.files.read("/etc/hostname")
    with pytest.raises(SandboxNotRunningException):
        sandbox.files.list("/")


def test_two_sandboxes_do_not_see_each_other(create):
    one, other = create(), create()
    one.files.write("/tmp/mine", "1")
    assert not other.files.exists("/tmp/mine")
    assert run(one, "hostname") != "" and one.sandbox_id != other.sandbox_id


def test_idempotency_key_makes_one_sandbox(create):
    key = "tests-one-and-the-same-key-0123456789"
    one = create(idempotency_key=key, metadata={"same": "body"})
    assert create(idempotency_key=key, metadata={"same": "body"}).sandbox_id == one.sandbox_id


def test_unknown_template_is_named():
    with pytest.raises((NotFoundException, SandboxException)) as caught:
        Sandbox.create("no-such-template")
    assert "no-such-template" in str(caught.value)


@pytest.mark.slow
def test_a_burst_of_creates(create):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(10) as pool:
        sandboxes = list(pool.map(lambda _: create(), range(20)))
        assert list(pool.map(lambda s: run(s, "echo here"), sandboxes)) == ["here"] * 20
    assert len({s.sandbox_id for s in sandboxes}) == 20
