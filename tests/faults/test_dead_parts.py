"""A part dies while the server lives: the sandboxes that need it end with a reason, and the next ones work."""

import os
import signal

import pytest
from e2b import SandboxNotRunningException
from host import CGROUPS, until

PATIENCE = 30
SQUEEZED = 24 << 20


def test_a_guest_killed_from_the_host(place):
    place.end(place.create())
    place.host.settle({"writable layers": 0}, PATIENCE)
    warm = place.host.counts()
    sandbox, other = place.create(), place.create()
    os.kill(place.host.guest(sandbox), signal.SIGKILL)
    until(lambda: sandbox not in place.running(), PATIENCE, "the list is without it")
    answer = place.reach(sandbox)
    assert answer.status_code == 502 and "its guest died" in answer.json()["reason"], answer.text
    assert "its guest died" in place.said_of(sandbox)
    assert place.reach(other).status_code == 204
    place.end(other)
    place.host.settle(warm, PATIENCE)


def test_a_stopped_guest_can_be_killed(place):
    """A guest that answers nothing any more ends like any other."""
    place.end(place.create())
    place.host.settle({"writable layers": 0}, PATIENCE)
    warm = place.host.counts()
    sandbox = place.create()
    os.kill(place.host.guest(sandbox), signal.SIGSTOP)
    place.end(sandbox)
    place.host.settle(warm, PATIENCE)


def test_the_builder_of_a_template_killed(place, sdk):
    sandboxes = [place.create() for _ in range(3)]
    other = place.create("code-interpreter-v1")
    builders = place.host.members("builder")
    mine = [pid for pid in builders if group_of(pid) == group_of(place.host.guest(sandboxes[0]))]
    assert len(mine) == 1 and len(builders) == 2, (mine, builders)
    os.kill(mine[0], signal.SIGKILL)
    until(lambda: not set(sandboxes) & place.running(), PATIENCE, "its sandboxes have ended")
    for sandbox in sandboxes:
        assert "died" in place.said_of(sandbox)
    assert place.running() == {other}, "another template's sandbox has nothing to do with it"
    again = sdk(place).create()
    assert again.commands.run("echo alive").stdout == "alive\n"
    again.kill()


def test_memory_ends_a_whole_sandbox(place, sdk):
    """Files in memory belong to no process, so that the guest is all there is to be killed."""
    sandbox = sdk(place).create()
    squeeze(sandbox.sandbox_id)
    with pytest.raises(Exception):
        sandbox.files.write("/dev/shm/big", b"x" * (2 * SQUEEZED))
    until(lambda: sandbox.sandbox_id not in place.running(), PATIENCE, "it has ended")
    assert "it ran out of memory" in place.said_of(sandbox.sandbox_id)
    with pytest.raises(SandboxNotRunningException):
        sandbox.files.list("/")


def squeeze(sandbox):
    """Leaves a sandbox less memory than its files in memory may take."""
    for name in ["memory.limit_in_bytes", "memory.max"]:
        for file in CGROUPS.glob(f"**/{sandbox}/{name}"):
            file.write_text(str(SQUEEZED))
            return
    raise AssertionError(f"{sandbox} has no memory group")


def group_of(pid):
    """The template's group, as `hood-INSTANCE/tN`."""
    with open(f"/proc/{pid}/cgroup") as groups:
        path = next(line for line in groups if line.startswith("0::")).rstrip("\n").split(":", 2)[2]
    return "/".join(path.split("/")[1:3])
