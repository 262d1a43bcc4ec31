"""Group B: programs that want out. Refused with an errno, as the ordinary account and as root inside."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from e2b import PtySize, SandboxException
from programs import answers, background, probe, shell

REDUCED = "00000000a80425fb"  # the fourteen capabilities that root inside may use
STATUS = "grep -E '^(Cap(Prm|Eff|Bnd|Inh|Amb)|Seccomp):' /proc/self/status"

# (id, number, arguments): what the filter, the ids or both must refuse.
REFUSED = [
    ("B1-unshare-user", 272, (0x10000000,)),
    ("B1-unshare-mount", 272, (0x20000,)),
    ("B1-unshare-net", 272, (0x40000000,)),
    ("B1-unshare-time", 272, (0x80,)),
    ("B1-unshare-high-bits", 272, (0x1_1000_0000,)),
    ("B1-clone-user", 56, (0x10000011, 0, 0, 0, 0)),
    ("B1-clone3", 435, (0, 88)),
    ("B1-setns", 308, (0, 0x10000000)),
    ("B2-mount", 165, (b"x", b"/mnt", b"tmpfs", 0, 0)),
    ("B2-mount-proc", 165, (b"x", b"/mnt", b"proc", 0, 0)),
    ("B2-remount", 165, (b"x", b"/proc/sys", 0, 0x1020, 0)),
    ("B2-umount-mask", 166, (b"/proc/keys", 2)),
    ("B2-umount-sys", 166, (b"/proc/sys", 2)),
    ("B2-pivot_root", 155, (b".", b".")),
    ("B2-open_tree", 428, (-100, b"/", 1)),
    ("B2-move_mount", 429, (-100, b"/", -100, b"/mnt", 0)),
    ("B2-fsopen", 430, (b"tmpfs", 0)),
    ("B2-mount_setattr", 442, (-100, b"/", 0, bytes(32), 32)),
    ("B6-pidfd_getfd", 438, (0, 3, 0)),
    ("B6-kcmp", 312, (1, 1, 0, 3, 3)),
    ("B7-iopl", 172, (3,)),
    ("B9-keyctl", 250, (0, -3, 0)),
    ("B9-add_key", 248, (b"user", b"a", b"b", 1, -3)),
    ("B9-request_key", 249, (b"user", b"a", 0, 0)),
    ("B11-bpf", 321, (0, 0, 0)),
    ("B11-perf_event_open", 298, (0, 0, -1, -1, 0)),
    ("B11-userfaultfd", 323, (0,)),
    ("B11-io_uring", 425, (8, 0)),
    ("B11-kexec", 246, (0, 0, 0, 0)),
    ("B11-init_module", 175, (0, 0, b"")),
    ("B11-open_by_handle_at", 304, (3, 0, 0)),
    ("B11-swapon", 167, (b"x", 0)),
    ("B11-reboot", 169, (0xFEE1DEAD, 672274793, 0x1234567, 0)),
    ("B11-acct", 163, (b"/tmp/a",)),
    ("B11-quotactl", 179, (0, 0, 0, 0)),
    ("B11-syslog", 103, (3, 0, 100)),
    ("B11-fanotify", 300, (0, 0)),
    ("B11-modify_ldt", 154, (0, 0, 0)),
    ("B11-personality", 135, (0x40000,)),
    ("B11-personality-high-bits", 135, (0x1_0004_0000,)),
    ("B11-from-the-future", 500, ()),
    ("B13-notify-listener", 317, (1, 8, 0)),
    ("B19-vsock", 41, (40, 1, 0)),
    ("B19-vsock-high-bits", 41, (0x1_0000_0028, 1, 0)),
    ("B19-packet", 41, (17, 3, 0)),
    ("B19-alg", 41, (38, 5, 0)),
    ("B19-raw", 41, (2, 3, 1)),
    ("B19-netlink-netfilter", 41, (16, 3, 12)),
    ("B19-netlink-audit", 41, (16, 3, 9)),
    ("B20-kill-everybody-outside", 62, (999_999, 9)),
    ("B21-clock_settime", 227, (0, bytes([1] + [0] * 15))),
    ("B21-settimeofday", 164, (bytes([1] + [0] * 15), 0)),
    ("B22-sethostname", 170, (b"x", 1)),
]
REFUSALS = {"EPERM", "ENOSYS", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESRCH"}

CLOSED = """mem environ maps auxv root cwd exe fd/0 fd/3 fd/4 ns/mnt pagemap fdinfo task/1/mem""".split()
ABSENT = """/dev/mem /dev/kmem /dev/kvm /dev/fuse /dev/loop0 /dev/loop-control /dev/net/tun /dev/vsock /dev/console
/dev/port /proc/sysrq-trigger /proc/kcore /sys/firmware /sys/class /sys/kernel /sys/block""".split()
SILENT = """/proc/kallsyms /proc/keys /proc/key-users /proc/timer_list /proc/cmdline /proc/partitions /proc/diskstats
/proc/interrupts /proc/locks /proc/iomem /proc/slabinfo /proc/pressure /proc/fs /proc/irq /proc/bus""".split()
UNWRITABLE = """/proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/ns_last_pid
/proc/sys/kernel/pid_max /proc/sys/user/max_user_namespaces /proc/sys/user/max_inotify_instances
/proc/sys/net/ipv4/ip_forward /proc/sys/kernel/shmmax /proc/sys/vm/overcommit_memory /proc/sysrq-trigger
/sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids/pids.max
/sys/fs/cgroup/pids.max /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/memory/tasks
/sys/fs/cgroup/memory/release_agent /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max
/sys/devices/system/cpu/online /proc/1/mem /proc/1/setgroups /sys/kernel/uevent_helper""".split()


@pytest.fixture(scope="module")
def box():
    """One sandbox for all that changes nothing."""
    from e2b_code_interpreter import Sandbox

    sandbox = Sandbox.create(timeout=600)
    yield sandbox
    sandbox.kill()


def test_B_refused_calls(box, who):
    """One call that is forgotten is a way out; a call that kills its caller breaks programs that only ask."""
    source = "\n".join(f"seen[{name!r}] = call({number}, *{arguments!r})" for name, number, arguments in REFUSED)
    found = probe(box, source, who)
    assert {name: said for name, said in found.items() if said not in REFUSALS} == {}


def test_B3_B4_nothing_of_the_kernels_can_be_written(box, who):
    """`core_pattern`, `release_agent` and one's own limits are the classic ways to the host's root."""
    found = probe(box, f"for p in {UNWRITABLE}: seen[p] = attempt(os.open, p, os.O_WRONLY)", who)
    assert {p: said for p, said in found.items() if said not in ("EACCES", "EROFS", "ENOENT", "EPERM")} == {}


def test_B5_B7_no_device_and_no_kernel_memory(box, who):
    """What is not there cannot be misused; what must be there says nothing."""
    found = probe(box, f"""
for path in {ABSENT}:
    seen[path] = attempt(os.open, path, os.O_RDONLY)
for path in {SILENT}:
    try: said = os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(64)
    except OSError as error: said = []
    seen[path] = "ENOENT" if not said else str(said)
for name, kind in (("b", 0o60600), ("c", 0o20600)):
    for device in (os.makedev(1, 1), os.makedev(254, 0), 0):
        seen[name + str(device)] = "ENOENT" if attempt(os.mknod, "/tmp/node", kind, device) == "EPERM" else "made"
""", who)  # fmt: skip
    assert {p: said for p, said in found.items() if said not in ("ENOENT", "EACCES")} == {}


def test_B6_pid_1_is_out_of_reach(sandbox, who):
    """It holds the token and a socket to the host; root inside must not read, trace, stop or end it."""
    found = probe(sandbox, f"""
for name in {CLOSED}:
    try: seen[name] = attempt(lambda: os.read(os.open("/proc/1/" + name, os.O_RDONLY), 1))
    except OSError as error: seen[name] = errno.errorcode[error.errno]
for name in ("cwd", "root", "exe", "fd/3"):
    seen["link " + name] = attempt(os.readlink, "/proc/1/" + name)
for request in (0x4206, 16):
    seen["ptrace %x" % request] = call(101, request, 1, 0, 0)
buffer = ctypes.create_string_buffer(16)
ours, theirs = (ctypes.c_ulong * 2)(ctypes.addressof(buffer), 16), (ctypes.c_ulong * 2)(0x400000, 16)
seen["vm_readv"] = call(310, 1, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
seen["vm_writev"] = call(311, 1, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
seen["getfd"] = call(438, os.pidfd_open(1), 3, 0)
""", who)  # fmt: skip
    assert {name: said for name, said in found.items() if said not in ("EACCES", "EPERM", "EISDIR")} == {}
    probe(sandbox, "for n in range(1, 65): attempt(os.kill, 1, n)", who)
    assert answers(sandbox)


def test_B8_setuid_and_file_capabilities_gain_nothing_more(sandbox):
    """A set-user-id shell makes root inside, which is what `sudo` gives anyway: the same fourteen, the filter on."""
    shell(sandbox, "cp /bin/bash /tmp/s; chmod 4755 /tmp/s", "root")
    said = shell(sandbox, f'/tmp/s -p -c "id -u; {STATUS}"')
    assert said.startswith("0\n")
    assert set(re.findall("[0-9a-f]{16}", said)) <= {REDUCED, "0" * 16}


def everywhere(box):
    """The status lines of a process in each place where a user's code can run."""
    yield "command", shell(box, STATUS)
    yield "root", shell(box, STATUS, "root")
    yield "sudo", shell(box, "sudo -n " + STATUS)
    code = f"import subprocess; print(subprocess.run({STATUS!r}, shell=True, capture_output=True, text=True).stdout)"
    yield "python child", "".join(box.run_code(code).logs.stdout)
    yield "python", "".join(box.run_code("print(open('/proc/self/status').read())").logs.stdout)
    yield "bash", "".join(box.run_code(STATUS, language="bash").logs.stdout)
    seen = []
    terminal = box.pty.create(PtySize(24, 80), timeout=20)
    box.pty.send_stdin(terminal.pid, f"{STATUS}; exit\n".encode())
    terminal.wait(on_pty=seen.append)
    yield "pty", b"".join(seen).decode(errors="replace")


def test_B8_every_process_is_behind_the_filter_with_the_reduced_set(box):
    """One way to start a process that forgets a wall is enough (F1: a join without exec keeps every capability)."""
    for place, status in everywhere(box):
        lines = dict(re.findall(r"(Cap\w+|Seccomp):\s*(\w+)", status))
        assert lines["Seccomp"] == "2", place
        assert lines["CapBnd"] == REDUCED, place
        held = REDUCED if place in ("root", "sudo") else "0" * 16
        assert (lines["CapPrm"], lines["CapEff"]) == (held, held), place
        assert (lines["CapInh"], lines["CapAmb"]) == ("0" * 16,) * 2, place


def test_B10_no_keystroke_can_be_forged(box, who):
    """TIOCSTI types into the terminal of whoever started us; with high bits set it passed a filter of 64 bits."""
    found = probe(box, """
import pty
_, slave = pty.openpty()
for request in (0x5412, 0x541c, 0x5423, 0x1_0000_5412):
    seen[hex(request)] = call(16, slave, request, b"x")
""", who)  # fmt: skip
    assert set(found.values()) == {"EPERM"}


def test_B12_other_call_tables_are_closed(box, who):
    """`int 0x80` numbers calls differently: a filter for one table would let them through."""
    found = probe(box, """
import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
entry = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
child = os.fork()
if child == 0:
    entry()
    os._exit(0)
seen["int80"] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
seen["x32"] = call(0x40000000 + 39)
""", who)  # fmt: skip
    assert found == {"int80": -31, "x32": "ENOSYS"}


@pytest.mark.parametrize("number", range(3, 16))
def test_B15_no_working_directory_is_a_descriptor_of_the_guest(box, number):
    """As runc's CVE-2024-21626: descriptor 4 was the host's cgroup directory, and `../../..` the host's root."""
    try:
        seen = box.commands.run("cat ../../../../../../../../etc/hostname", cwd=f"/proc/self/fd/{number}").stdout
    except SandboxException:
        return
    assert seen.strip() == box.sandbox_id


def test_B15_no_link_of_the_sandbox_leads_through_a_descriptor_of_the_guest(sandbox):
    """The guest follows links with its own `/proc/self`: its descriptors must lead nowhere."""
    for number in range(3, 24):
        shell(sandbox, f"ln -sfn /proc/self/fd/{number}/../../../../../../../../etc/hostname /tmp/through")
        try:
            assert sandbox.files.read("/tmp/through").strip() == sandbox.sandbox_id
        except SandboxException:
            continue


def test_B15_programs_inherit_only_their_stdio(box, who):
    """A descriptor left open is a door: the guest's control socket was number 3, its group 4."""
    assert shell(box, "ls /proc/$$/fd; true", who).split() == ["0", "1", "2"]
    found = box.run_code("import os; print([os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')"
                         " if os.path.exists(f'/proc/self/fd/{n}')])")  # fmt: skip
    for target in re.findall("'(.*?)'", "".join(found.logs.stdout)):
        assert target.startswith(("pipe:", "socket:", "/dev/null", "anon_inode:")), target


def test_B16_overlay_marks_cannot_be_forged(box, who):
    """An opaque or redirect mark set inside would show other directories of the layers."""
    found = probe(box, """
os.makedirs("/tmp/marks", exist_ok=True)
for name in ("opaque", "redirect", "metacopy", "origin"):
    seen[name] = attempt(os.setxattr, "/tmp/marks", "trusted.overlay." + name, b"y")
seen["whiteout"] = attempt(os.mknod, "/tmp/marks/w", 0o20000, 0)
""", who)  # fmt: skip
    assert set(found.values()) == {"EPERM"}


def test_B19_guest_asks_for_its_token(box, who):
    """Code inside reaches the guest's port, and must not be root by asking."""
    asks = [
        "-X POST -H 'content-type: application/json' -d '{}' http://127.0.0.1:49983/process.Process/List",
        "'http://127.0.0.1:49983/files?path=/etc/shadow&username=root'",
        "http://127.0.0.1:49983/envs",
        "-X POST -H 'content-type: application/json' -d '{\"code\":\"1\"}' http://127.0.0.1:49999/execute",
    ]
    for ask in asks:
        assert shell(box, f"curl -s -o /dev/null -w '%{{http_code}}' {ask}", who) == "401", ask


def test_B19_abstract_sockets_are_not_shared(create):
    """They have no path that a mount could hide: only the network namespace keeps them apart."""
    sandbox, neighbour = create(), create()
    listen = 's = socket.socket(socket.AF_UNIX); s.bind("\\0secret"); s.listen(); print("ready", flush=True); time.sleep(30)'
    background(sandbox, listen)
    connect = 'seen["connect"] = attempt(socket.socket(socket.AF_UNIX).connect, "\\0secret")'
    assert probe(sandbox, connect)["connect"] == "OK"
    assert probe(neighbour, connect)["connect"] == "ECONNREFUSED"


def test_B20_shared_inodes_tell_and_hold_nothing(create, who):
    """`/dev` and `/sys` were one file system for all: inotify told what neighbours open, and locks held them up."""
    sandbox, neighbour = create(), create()
    watch = background(sandbox, """
import fcntl
fd = libc.inotify_init1(0o4000)
for path in (b"/dev", b"/dev/null", b"/dev/urandom", b"/sys/devices/system/cpu/online", b"/usr/bin/id"):
    libc.inotify_add_watch(fd, path, 0xfff)
locks = [open(p) for p in ("/sys/devices/system/cpu/online", "/usr/bin/id")]
for one in locks:
    fcntl.flock(one, fcntl.LOCK_EX)
os.read(fd, 65536)
print("ready", flush=True)
time.sleep(3)
print("seen", attempt(os.read, fd, 65536), flush=True)
""", who)  # fmt: skip
    for _ in range(3):
        shell(neighbour, "head -c1 /dev/urandom > /dev/null; id; cat /sys/devices/system/cpu/online")
    for path in ("/dev/null", "/sys/devices/system/cpu/online", "/usr/bin/id"):
        assert shell(neighbour, f"flock -n {path} echo free") == "free\n", path
    assert "seen EAGAIN" in watch.wait().stdout


def host_processes():
    """(uid, command line) of this host's processes that live in an id range of a sandbox."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            uid = entry.stat().st_uid
            if uid >= 65536:
                yield uid, (entry / "cmdline").read_bytes()
        except OSError:
            continue


@pytest.mark.skipif(os.geteuid() != 0, reason="looks at the host's processes")
def test_B20_sandboxes_share_no_id(create):
    """Limits, keyrings, ptrace and kill go by id: two sandboxes with one id are one account to the kernel."""
    bases = []
    for mark in ("7531", "7532"):
        sandbox = create()
        background(sandbox, f"libc.prctl(0); print('ready', flush=True); time.sleep({mark})")
        found = {uid for uid, line in host_processes() if f"time.sleep({mark})".encode() in line}
        assert found
        bases.append({uid // 65536 for uid in found})
    assert not bases[0] & bases[1]
    assert 0 not in bases[0] | bases[1]


def test_B22_nothing_names_the_host(box):
    """Paths, names and ids of the host tell where to dig, and which sandboxes share a machine."""
    said = shell(box, "cat /proc/self/mountinfo /proc/self/cgroup /proc/sys/kernel/random/boot_id /etc/machine-id"
                      " /etc/hostname; env; ls -l /proc/self/fd; cat /proc/cmdline", "root")  # fmt: skip
    host = [Path(p).read_text().strip() for p in ("/proc/sys/kernel/random/boot_id",)]
    host += [p.read_text().strip() for p in [Path("/etc/machine-id")] if p.exists() and p.read_text().strip()]
    for secret in [*host, "hood-data", "writable", "/var/", "hood-"]:
        assert secret not in said.replace("hood-guest", ""), secret
    for line in said.splitlines():
        if re.match(r"\d+:[a-z_,=]*:/", line):
            assert re.fullmatch(r"\d+:[a-z_,=]*:(/c-\d+)?/?", line), line
    listed = [(entry.name, entry.symlink_target) for entry in box.files.list("/proc/self/fd")]
    assert not [target for _, target in listed if target and "hood" in target]


@pytest.mark.skipif(os.geteuid() != 0, reason="looks at the host's groups")
def test_B_kill_leaves_nothing(create):
    """A group, mount or layer left behind for each sandbox fills the host in a week."""
    sandbox = create()
    background(sandbox, "print('ready', flush=True); time.sleep(99)", "root")
    name = sandbox.sandbox_id
    find = ["find", "/sys/fs/cgroup", "-name", name]
    assert subprocess.run(find, capture_output=True, text=True).stdout
    sandbox.kill()
    end = time.monotonic() + 5
    while subprocess.run(find, capture_output=True, text=True).stdout:
        assert time.monotonic() < end, "control groups are left behind"
        time.sleep(0.1)
    assert name not in Path("/proc/self/mountinfo").read_text()
