"""A sandbox that stands still keeps everything that it has in memory, and goes on where it was."""

import time

import pytest
from e2b import Sandbox, SandboxQuery, SandboxState

from helpers import until


def test_processes_memory_and_listeners_go_on(sandbox):
    server = sandbox.commands.run("python3 -m http.server 8000", background=True)
    sandbox.commands.run("sh -c 'i=0; while :; do i=$((i+1)); echo $i > /tmp/count; sleep 0.01; done'", background=True)
    assert until(lambda: sandbox.files.exists("/tmp/count"))
    boot = sandbox.files.read("/proc/sys/kernel/random/boot_id")
    assert sandbox.pause()
    assert not sandbox.is_running()
    time.sleep(1)
    sandbox.connect()
    first = int(sandbox.files.read("/tmp/count") or 0)
    assert first < 2000, "it has not counted while it stood still"
    assert until(lambda: int(sandbox.files.read("/tmp/count") or 0) > first)
    assert server.pid in [process.pid for process in sandbox.commands.list()]
    assert "200" in sandbox.commands.run("curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8000/").stdout
    assert sandbox.files.read("/proc/sys/kernel/random/boot_id") == boot


def test_a_context_keeps_its_variables(interpreter):
    interpreter.run_code("x = 41")
    assert interpreter.pause()
    interpreter.connect()
    assert interpreter.run_code("x + 1").text == "42"


def test_paused_ones_are_listed_and_killed(sandbox):
    labels = {"test": sandbox.sandbox_id}
    other = Sandbox.create("base", metadata=labels)
    other.pause()
    paused = Sandbox.list(query=SandboxQuery(metadata=labels, state=[SandboxState.PAUSED])).next_items()
    assert [found.sandbox_id for found in paused] == [other.sandbox_id]
    assert paused[0].metadata == labels
    assert not other.pause(), "paused already"
    assert other.kill()
    assert not other.kill()


def test_the_deadline_pauses_and_traffic_wakes():
    sandbox = Sandbox.create("base", timeout=2, lifecycle={"on_timeout": "pause", "auto_resume": True})
    try:
        assert until(lambda: Sandbox.get_info(sandbox.sandbox_id).state == SandboxState.PAUSED, seconds=6)
        assert sandbox.commands.run("echo awake").stdout == "awake\n"
    finally:
        sandbox.kill()


@pytest.mark.parametrize("rounds", [200])
def test_pause_and_resume_back_to_back_leave_it_running(sandbox, rounds):
    """hostile.md part 3, row 39."""
    began = time.monotonic()
    for _ in range(rounds):
        assert sandbox.pause()
        sandbox.connect()
    took = time.monotonic() - began
    assert sandbox.commands.run("echo on").stdout == "on\n"
    assert Sandbox.get_info(sandbox.sandbox_id).state == SandboxState.RUNNING
    print(f"{took / rounds * 1000:.1f} ms a round")
