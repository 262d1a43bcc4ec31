"""N1 (walls.md 9.3). The nursery runs no user's code and is the parent of all contexts: reached from one, it is all of them."""

import os
from pathlib import Path

import pytest

from premises import Premises

ATTACKS = {
    "signals": "import os, signal\nfor target in (0, -1, os.getppid(), -os.getppid()):\n    for n in (15, 2, 1, 10, 17):\n"
    "        signal.signal(n, signal.SIG_IGN) if n != 17 else None\n        try: target and os.kill(target, n)\n        except OSError: pass",
    "ptrace": "import ctypes, os\nlibc = ctypes.CDLL(None)\nfor pid in (0, os.getppid(), *range(1, 400)):\n    if pid != os.getpid(): libc.ptrace(0x4206, pid, 0, 0)",
    "the parent's death": "import ctypes; ctypes.CDLL(None).prctl(1, 9)",
    "messages to whatever is open": "import os, socket\nfor n in range(3, 64):\n    for text in (b'{\"ready\": true}', b'{\"id\": 1, \"ended\": 0}', b'{\"id\": 1, \"pid\": 1}\\n'):\n"
    "        try: os.write(n, text)\n        except OSError: pass",
    "descriptors to whatever is open": "import os, socket\nfor n in range(3, 64):\n    try: socket.send_fds(socket.socket(fileno=os.dup(n)), [b'{}'], [0])\n    except (OSError, ValueError): pass",
    "its own memory": "import ctypes, gc\ngc.collect()\nfor line in open('/proc/self/maps'):\n    if ' rw-p ' in line and '[stack' not in line:\n"
    "        low = int(line.split('-')[0], 16); ctypes.CDLL(None).madvise(ctypes.c_void_p(low), ctypes.c_size_t(4096), 12)",
    "the kernel's modules": "import sys\nfor name in list(sys.modules):\n    if 'hood' in name: sys.modules[name].__dict__.clear()",
}  # fmt: skip


def nurseries(premises: Premises):
    """(pid, start) of the warm parents: those not in any sandbox, that is with no filter and a socket of the server's."""
    found = set()
    for pid, born in Premises.processes(premises):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        status = Path(f"/proc/{pid}/status").read_text()
        depth = next(line for line in status.splitlines() if line.startswith("NSpid")).split()
        # One level for the host, one for the template: a fork that has stepped inside has three.
        if b"--nursery" in words and len(depth) == 3:
            found.add((pid, born))
    return found


@pytest.fixture
def warm(interpret, laboratory):
    """A sandbox whose context is a fork, and the parent as the host sees it."""
    sandbox = interpret()
    sandbox.run_code("1")
    found = nurseries(laboratory.premises)
    if not found:
        pytest.skip("no nursery is warm: contexts are started afresh on this host")
    return sandbox, found


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_survives_and_serves_on(warm, trial, interpret, laboratory, attack):
    sandbox, before = warm
    try:
        sandbox.run_code(ATTACKS[attack], timeout=15, request_timeout=20)
    except Exception:  # noqa: BLE001 - the context may well be broken: it is the attacker's own
        pass
    assert nurseries(laboratory.premises) >= before, "the parent is another process now"
    fresh = interpret()
    assert fresh.run_code("import pandas; 6 * 7").text == "42"
    trial.saw = "the same parent, and the next fork works"


def test_it_cannot_be_named_from_inside(warm, trial):
    sandbox, _ = warm
    said = sandbox.run_code("""
import os, socket
parent = os.getppid()
peers = []
for name in os.listdir('/proc/self/fd'):
    try:
        s = socket.socket(fileno=os.dup(int(name)))
        peers.append(int.from_bytes(s.getsockopt(1, 17, 12)[:4], 'little'))
    except OSError:
        pass
shared = [line for line in open('/proc/self/maps') if line.split()[1].startswith('rw') and line.split()[1].endswith('s')]
others = [pid for pid in os.listdir('/proc') if pid.isdigit() and b'--nursery' in open(f'/proc/{pid}/cmdline', 'rb').read()]
print(parent, sorted(set(peers)), shared, [int(pid) for pid in others] == [os.getpid()])""")
    text = "".join(said.logs.stdout).strip()
    parent, rest = text.split(" ", 1)
    assert parent == "0", text
    assert rest.endswith("[] True"), text
    assert all(peer in ("0", "1") for peer in rest.split("]")[0].strip("[").replace(" ", "").split(",") if peer), text
    trial.saw = f"parent {parent}; peers, shared mappings, own: {rest}"


def test_what_it_holds(warm, trial):
    """From the host: few descriptors, no way to the network, no host path mounted, nobody outside its range."""
    _, before = warm
    for pid, _ in before:
        entry = Path(f"/proc/{pid}")
        targets = [os.readlink(fd) for fd in (entry / "fd").iterdir()]
        # Fonts that matplotlib keeps open are files of the template, which every context may read.
        targets = [target for target in targets if not target.startswith("/usr/")]
        assert len(targets) <= 8, targets
        for target in targets:
            assert target.startswith(("/dev/null", "socket:", "pid:", "/proc/", "/memfd:", "pipe:")), target
        assert os.stat(entry / "ns/net").st_ino != os.stat("/proc/self/ns/net").st_ino
        assert os.stat(entry / "ns/user").st_ino != os.stat("/proc/self/ns/user").st_ino
        assert entry.stat().st_uid >= 65536
        mounts = [line.split()[4] for line in (entry / "mountinfo").read_text().splitlines()]
        assert set(mounts) <= {"/", "/dev", "/proc", "/tmp"}, mounts
        routes = (entry / "net/route").read_text().splitlines()[1:]
        assert routes == []
    trial.saw = f"descriptors: {', '.join(sorted(target.split(':')[0] for target in targets))}"


def test_objects_of_the_parent_hold_no_descriptor_inside(warm, trial):
    """A fork has the parent's heap: what is found there must be closed, or open nothing."""
    sandbox, _ = warm
    said = sandbox.run_code("""
import gc, io, socket, os
gc.unfreeze()
kinds = []
for one in gc.get_objects():
    try:
        if isinstance(one, (socket.socket, io.FileIO)) and one.fileno() > 2:
            kinds.append((type(one).__name__, os.readlink(f'/proc/self/fd/{one.fileno()}').split(':')[0]))
        elif type(one).__name__ in ('Nursery', 'Join'):
            kinds.append((type(one).__name__, 'object'))
    except (OSError, ValueError, ReferenceError):
        pass
print(sorted(set(kinds)))""")
    text = "".join(said.logs.stdout)
    assert "Nursery" not in text and "Join" not in text, text
    trial.saw = text.strip()
