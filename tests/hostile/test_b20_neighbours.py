"""B20. Limits, keyrings, ptrace and kill go by id: two sandboxes with one id are one account to the kernel."""

from pathlib import Path

from programs import answers, background, probe, shell

WATCH = """
import fcntl
fd = libc.inotify_init1(0o4000)
for path in (b"/dev", b"/dev/null", b"/dev/urandom", b"/sys/devices/system/cpu/online", b"/usr/bin/id"):
    libc.inotify_add_watch(fd, path, 0xfff)
locks = [open(p) for p in ("/sys/devices/system/cpu/online", "/usr/bin/id")]
for one in locks:
    fcntl.flock(one, fcntl.LOCK_EX)
attempt(os.read, fd, 65536)
print("ready", flush=True)
time.sleep(3)
print("seen", attempt(os.read, fd, 65536), flush=True)
"""


def test_no_pid_of_the_host_can_be_named(sandbox, trial, who):
    """Every number there is, with every call that takes one."""
    found = probe(sandbox, """
ours = {int(pid) for pid in os.listdir("/proc") if pid.isdigit()}
seen["hit"] = []
for pid in [*range(2, 40000), 99_999, 4_194_303]:
    if pid not in ours:
        for name, act in (("kill", lambda: os.kill(pid, 0)), ("prlimit", lambda: resource.prlimit(pid, 7)),
                          ("nice", lambda: os.setpriority(0, pid, 19)), ("sched", lambda: os.sched_getaffinity(pid)),
                          ("pgid", lambda: os.getpgid(pid))):
            if attempt(act) != "ESRCH" and not os.path.exists(f"/proc/{pid}"):
                seen["hit"].append((name, pid))
""", who, timeout=90)  # fmt: skip
    assert found["hit"] == []
    trial.saw = "ESRCH for each of 40,000"


def test_kill_everybody_ends_at_the_walls(sandbox, trial, who):
    """`kill -9 -1`: the neighbour of this trial is asked all the time."""
    try:
        sandbox.commands.run("kill -9 -1", user=who, timeout=20)
    except Exception:  # noqa: BLE001 - root's shell kills itself, too
        pass
    assert answers(sandbox)
    trial.saw = "the sandbox's own processes"


def test_shared_inodes_tell_and_hold_nothing(create, trial, who):
    """`/dev` and `/sys` were one file system for all: inotify told what neighbours open, and locks held them up."""
    sandbox, neighbour = create(), create()
    watch = background(sandbox, WATCH, who)
    for _ in range(3):
        shell(neighbour, "head -c1 /dev/urandom > /dev/null; id; cat /sys/devices/system/cpu/online")
    for path in ("/dev/null", "/sys/devices/system/cpu/online", "/usr/bin/id"):
        assert shell(neighbour, f"flock -n {path} echo free") == "free\n", path
    assert "seen EAGAIN" in watch.wait().stdout
    trial.saw = "nothing told, nothing held"


def host_processes():
    """(uid, command line) of this host's processes that live in an id range of a sandbox."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            uid = entry.stat().st_uid
            if uid >= 65536:
                yield uid, (entry / "cmdline").read_bytes()
        except OSError:
            continue


def test_sandboxes_share_no_id(create, trial, who):
    bases = []
    for mark in ("7531", "7532"):
        background(create(), f"libc.prctl(0); print('ready', flush=True); time.sleep({mark})", who)
        found = {uid for uid, line in host_processes() if f"time.sleep({mark})".encode() in line}
        assert found
        bases.append({uid // 65536 for uid in found})
    assert not bases[0] & bases[1]
    assert 0 not in bases[0] | bases[1]
    trial.saw = "a range of ids each"


def test_system_v_and_posix_names_are_not_shared(create, trial, who):
    """Keys of shared memory and names of queues: the ipc namespace is what keeps them apart."""
    sandbox, neighbour = create(), create()
    make = """
seen["shm"] = libc.shmget(0x4242, 4096, 0o1666)
seen["sem"] = libc.semget(0x4242, 1, 0o1666)
seen["queue"] = libc.mq_open(b"/q4242", 0o102, 0o666, 0)
"""
    find = """
seen["shm"] = libc.shmget(0x4242, 4096, 0)
seen["sem"] = libc.semget(0x4242, 1, 0)
seen["queue"] = libc.mq_open(b"/q4242", 2, 0, 0)
"""
    assert min(probe(sandbox, make, who).values()) >= 0
    assert set(probe(neighbour, find, who).values()) == {-1}
    trial.saw = "not found next door"
