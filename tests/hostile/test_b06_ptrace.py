"""B6. PID 1 holds what payloads may never have: its memory, descriptors and root are the way to it."""

from calls import refused
from programs import answers, background, probe

CLOSED = "mem environ maps auxv root cwd exe fd/0 fd/3 fd/4 ns/mnt ns/user pagemap fdinfo task/1/mem syscall stack io".split()

REFUSED = ("EACCES", "EPERM", "EISDIR", "ENOENT")  # below `fd` and `task` lies nothing, for anybody


def test_the_guest_is_closed(sandbox, trial, who):
    found = probe(sandbox, f"""
for name in {CLOSED}:
    # Some open and then refuse to be read.
    seen[name] = attempt(lambda: os.read(os.open("/proc/1/" + name, os.O_RDONLY), 64))
seen["attach"] = call(101, 16, 1, 0, 0)
seen["seize"] = call(101, 0x4206, 1, 0, 0)
buffer = ctypes.create_string_buffer(16)
ours = (ctypes.c_ulong * 2)(ctypes.addressof(buffer), 16)
theirs = (ctypes.c_ulong * 2)(0x400000, 16)
seen["vm_readv"] = call(310, 1, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
seen["vm_writev"] = call(311, 1, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
seen["madvise"] = call(440, os.pidfd_open(1), ctypes.byref(ours), 1, 20, 0)
seen["getfd"] = call(438, os.pidfd_open(1), 3, 0)
""", who)  # fmt: skip
    assert {name: said for name, said in found.items() if said not in REFUSED} == {}
    trial.saw = f"{len(found)} ways, all refused"


def test_no_signal_stops_the_guest(sandbox, trial, who):
    probe(sandbox, "for n in range(1, 65): attempt(os.kill, 1, n)", who)
    assert answers(sandbox)
    trial.saw = "64 signals sent, it answers"


def test_comparing_descriptors_is_refused(sandbox, trial, who):
    trial.saw = refused(sandbox, {"kcmp": (312, 1, 1, 0, 3, 3), "pidfd_getfd": (438, 0, 3, 0)}, who)


def test_another_sandbox_is_out_of_sight(create, trial, who):
    """Pids are numbers of one's own namespace: the neighbour's process must not be among them."""
    sandbox, neighbour = create(), create()
    background(neighbour, "print('ready', flush=True); time.sleep(4643)", who)
    found = probe(sandbox, """
seen["found"] = [pid for pid in os.listdir("/proc") if pid.isdigit()
                 and b"4643)" in open(f"/proc/{pid}/cmdline", "rb").read() and int(pid) != os.getpid()]
seen["opened"] = [pid for pid in range(1, 40000) if attempt(os.pidfd_open, pid) == "OK" and not os.path.exists(f"/proc/{pid}")]
""", who)  # fmt: skip
    assert found == {"found": [], "opened": []}
    trial.saw = "no pid leads there"
