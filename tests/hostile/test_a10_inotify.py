"""A10. The kernel sums inotify instances and message queues up per template (walls F7): one loop took all siblings'."""

from pathlib import Path

import pytest

from programs import answers, background, probe

INSTANCES = """
held = []
while (fd := libc.inotify_init()) >= 0:
    held.append(fd)
"""
WATCHES = """
fd, n = libc.inotify_init(), 0
os.makedirs("/tmp/watched", exist_ok=True)
while n < 1_000_000:
    path = b"/tmp/watched/%d" % n
    os.close(os.open(path, os.O_CREAT))
    if libc.inotify_add_watch(fd, path, 0xfff) < 0:
        break
    n += 1
"""
QUEUES = """
class Attributes(ctypes.Structure):
    _fields_ = [(n, ctypes.c_long) for n in ("flags", "most", "size", "now", "a", "b", "c", "d")]
made = 0
while made < 100 and libc.mq_open(b"/q%d" % made, 0o102, 0o600, ctypes.byref(Attributes(0, 10, 8192))) >= 0:
    made += 1
"""
READY = "print('ready', flush=True)\ntime.sleep(60)"


def host_may(capability):
    """Whether the server's host lets root have it (the tests run beside the server)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapBnd"))
    return int(line.split()[1], 16) >> capability & 1 == 1


def test_instances_of_one_sandbox_leave_the_others_theirs(create, trial, who):
    sandbox, neighbour = create(), create()
    background(sandbox, INSTANCES + READY, who)
    neighbour.files.watch_dir("/home/user").stop()
    left = probe(neighbour, INSTANCES + "seen['n'] = len(held)", who)["n"]
    assert left >= 100
    trial.saw = f"a neighbour still has {left}"


def test_watches_end_for_the_sandbox_only(create, trial, who):
    sandbox, neighbour = create(), create()
    found = probe(sandbox, WATCHES + "seen['n'] = n", who, timeout=120)
    assert found["n"] <= 65536
    neighbour.files.watch_dir("/home/user").stop()
    assert answers(sandbox)
    trial.saw = f"{found['n']} watches"


@pytest.mark.skipif(not host_may(24), reason="the host lacks CAP_SYS_RESOURCE, so the sum's limit cannot be lifted")
def test_message_queues_of_one_sandbox_leave_the_others_theirs(create, trial, who):
    """800 KiB for all sandboxes of a template, by the host's default."""
    sandbox, neighbour = create(), create()
    background(sandbox, QUEUES + READY, who)
    assert probe(neighbour, QUEUES + "seen['made'] = made", who)["made"] > 0
