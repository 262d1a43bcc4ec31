"""The host's state around one hostile program: what belongs to the server is counted by `host.Host`; here is the rest."""

import hashlib
import os
import re
from pathlib import Path

from host import Host

# What a program that got out would write first; a folder stands for the names in it.
FILES = """/etc/passwd /etc/shadow /etc/group /etc/sudoers /etc/hosts /etc/resolv.conf /etc/hostname /etc/ld.so.preload
/etc/crontab /etc/profile /etc/machine-id /root/.bashrc /root/.profile /root/.ssh/authorized_keys""".split()
FOLDERS = (
    "/ /etc /etc/cron.d /etc/systemd/system /etc/profile.d /root/.ssh /usr/local/bin /home /var/crash /dev/shm".split()
)
SYSCTLS = """kernel/core_pattern kernel/modprobe kernel/hostname kernel/pid_max kernel/sysrq kernel/randomize_va_space
kernel/shmmax vm/overcommit_memory vm/drop_caches net/ipv4/ip_forward user/max_user_namespaces
user/max_inotify_instances fs/file-max fs/suid_dumpable""".split()

# The kernel's complaints about itself. A process killed for memory is reported with a trace, too, and is none.
COMPLAINTS = re.compile(
    r"BUG:|WARNING:|Oops|kernel panic|lockup|blocked for more than|rcu.*stall|refcount_t|KASAN|UBSAN", re.I
)

KERNEL_MEMORY = "SUnreclaim PageTables KernelStack Percpu".split()
# Bytes by which each may grow: slab is given back lazily, allocators keep what they have touched; and on a virtual machine
# freed pages pass through its balloon for some seconds (a gigabyte was seen), while other work may go on beside the tests.
GROWTH = {"kernel": 128 << 20, "server": 64 << 20, "all": 2048 << 20}


class Premises(Host):
    """The counts of one server, without those of the neighbour, which works meanwhile."""

    def __init__(self, data_dir, server):
        super().__init__(data_dir)
        self.server = server
        self.neighbour = None

    def processes(self):
        found = super().processes()
        return {(pid, born) for pid, born in found if not self._is_neighbours(pid)}

    def _is_neighbours(self, pid):
        return self.neighbour is not None and f"/{self.neighbour}" in _read(f"/proc/{pid}/cgroup")

    def cgroups(self):
        mark = f"hood-{self.instance()}"
        roots = [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if mark in os.path.basename(folder)]
        return sum(1 for root in roots for folder, _, _ in os.walk(root) if f"/{self.neighbour}/" not in folder)

    def elsewhere(self):
        """Files, names and settings that a sandbox has no business with."""
        state = {path: _digest(path) for path in FILES}
        state |= {f"{folder}/": " ".join(sorted(_names(folder))) for folder in FOLDERS}
        return state | {name: _read(f"/proc/sys/{name}").strip() for name in SYSCTLS}

    def memory(self):
        """Bytes by who holds them, beside processes, which are counted on their own."""
        kernel = sum(_kib("/proc/meminfo", name) for name in KERNEL_MEMORY)
        used = _kib("/proc/meminfo", "MemTotal") - _kib("/proc/meminfo", "MemAvailable")
        resident = _kib(f"/proc/{self.server}/status", "VmRSS")
        return {"kernel": kernel << 10, "all": used << 10, "server": resident << 10}


class KernelLog:
    """Lines of the kernel since the last look."""

    def __init__(self):
        self.log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.log, 0, os.SEEK_END)

    def complaints(self):
        found = []
        while True:
            try:
                line = os.read(self.log, 8192).decode(errors="replace")
            except BlockingIOError:
                return found
            except BrokenPipeError:
                continue  # lines were overwritten before they were read
            if COMPLAINTS.search(line):
                found.append(line.strip())


def _read(path):
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _digest(path):
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError:
        return "absent"


def _names(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _kib(path, name):
    found = re.search(rf"^{name}:\s+(\d+) kB", _read(path), re.M)
    return int(found.group(1)) if found else 0
