"""What one server has on the host, counted from outside.

Other servers may run beside the tests, so what can be told apart is: control groups by the instance's name, processes by
their control group or their ancestors, loop devices and files by the data directory. Mounts are counted as they are.
"""

import os
import time
from pathlib import Path

PAUSE = 0.1  # seconds between two looks
STILL = 5  # equal looks after which nothing moves any more

CGROUPS = Path("/sys/fs/cgroup")


class Host:
    """The counts of one data directory. What was ever seen of its processes is remembered: orphans have no parent to
    tell them by."""

    def __init__(self, data_dir):
        self.data_dir = Path(data_dir)
        self.server = None
        self.seen, self.networks_seen = set(), set()

    def instance(self):
        file = self.data_dir / "instance"
        return file.read_text().strip() if file.exists() else None

    def mounts(self):
        return len(Path("/proc/self/mountinfo").read_text().splitlines())

    def cgroups(self):
        mark = f"hood-{self.instance()}"
        roots = [folder for folder, _, _ in walk(CGROUPS) if mark in os.path.basename(folder)]
        return sum(1 for root in roots for _ in walk(root))

    def processes(self):
        """(pid, start time) of each process that is the server's or came from it."""
        all_now = {pid: stat for pid in pids() if (stat := stat_of(pid))}
        mark = f"/hood-{self.instance()}/"
        found = set()
        for pid, (parent, born) in all_now.items():
            if (pid, born) in self.seen or mark in read(f"/proc/{pid}/cgroup") or self._descends(pid, all_now):
                found.add((pid, born))
        self.seen |= found
        return found

    def _descends(self, pid, all_now):
        while self.server and pid in all_now:
            if pid == self.server:
                return True
            pid = all_now[pid][0]
        return False

    def networks(self):
        """Network namespaces other than the host's."""
        own = namespace("self", "net")
        self.networks_seen |= {namespace(pid, "net") for pid, _ in self.processes()} - {own, None}
        return self.networks_seen & {namespace(pid, "net") for pid in pids()}

    def files(self):
        """Names beneath the data directory, without the store's own and what is shared."""
        names = (Path(folder) / name for folder, folders, files in os.walk(self.data_dir) for name in folders + files)
        return sum(1 for path in names if not path.name.startswith("hood.sqlite"))

    def layers(self):
        """Writable layers, which lie on a mount that only the server sees."""
        if self.server is None:
            return 0
        seen_by_server = Path(f"/proc/{self.server}/root{self.data_dir}/writable")
        return len(list(seen_by_server.iterdir()))

    def loops(self):
        backing = (read(path) for path in Path("/sys/block").glob("loop*/loop/backing_file"))
        return sum(1 for file in backing if file.startswith(f"{self.data_dir}/"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server}/fd"))

    def counts(self):
        return {
            "mounts": self.mounts(),
            "cgroups": self.cgroups(),
            "processes": len(self.processes()),
            "network namespaces": len(self.networks()),
            "files": self.files(),
            "writable layers": self.layers(),
            "loop devices": self.loops(),
        }

    def settle(self, expected, seconds):
        """Waits until the counts are as expected, and says how long it took."""
        began = time.monotonic()
        while (now := {name: count for name, count in self.counts().items() if name in expected}) != expected:
            took = time.monotonic() - began
            assert took < seconds, f"after {took:.0f} s\n" + table({"expected": expected, "found": now})
            time.sleep(PAUSE)
        return time.monotonic() - began

    def stable(self, seconds):
        """Waits until the counts have not changed for a while (removals happen off the request path)."""
        end, last, same = time.monotonic() + seconds, None, 0
        while same < STILL:
            assert time.monotonic() < end, f"the counts still change after {seconds} s: {last}"
            now = self.counts()
            last, same = now, same + 1 if now == last else 0
            time.sleep(PAUSE)
        return last

    def members(self, name):
        """Pids of the processes in the control groups of this name (a sandbox's id, or `builder`)."""
        mark = f"/hood-{self.instance()}/"
        return [pid for pid in pids() if mark in (groups := read(f"/proc/{pid}/cgroup")) and f"/{name}" in groups]

    def guest(self, sandbox):
        """The pid of PID 1 of a sandbox."""
        for pid in self.members(sandbox):
            status = dict(line.split(":", 1) for line in read(f"/proc/{pid}/status").splitlines() if ":" in line)
            if status.get("NSpid", "").split()[-1:] == ["1"]:
                return pid
        raise AssertionError(f"{sandbox} has no PID 1")


def until(condition, seconds, what):
    """Waits for a condition, and says how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"{what}: not within {seconds} s"
        time.sleep(PAUSE)
    return time.monotonic() - began


def table(columns):
    """Counts side by side."""
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    heads = list(columns)
    lines = [f"{'':20}" + "".join(f"{head:>26}" for head in heads)]
    for name in names:
        lines.append(f"{name:20}" + "".join(f"{columns[head].get(name, ''):>26}" for head in heads))
    return "\n".join(lines)


def walk(folder):
    # Groups come and go while we look.
    return os.walk(folder, onerror=lambda _: None)


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def read(path):
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def stat_of(pid):
    """Parent and start time, or None when it is gone or a zombie that its parent has yet to reap."""
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[1]), fields[19]) if fields and fields[0] != "Z" else None


def namespace(pid, kind):
    try:
        return os.stat(f"/proc/{pid}/ns/{kind}").st_ino
    except OSError:
        return None
