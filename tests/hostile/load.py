"""How busy a server keeps its host, and how long a job takes beside a load."""

import os
import statistics
import threading
import time
from pathlib import Path

from e2b import SandboxException

TICK = os.sysconf("SC_CLK_TCK")
KERNEL = 2  # the parent of the kernel's threads
LOOKS = 10  # in one measurement, for tasks that are ready to run

#: A job of about two seconds on one core: strings, sorting, grouping, joining. What it says can be known without it.
ROWS = 2_000_000
JOB = f"""
import numpy, pandas
numbers = numpy.arange({ROWS})
frame = pandas.DataFrame({{"key": "k" + pandas.Series(numbers % 1009).astype(str), "value": numbers}})
frame = frame.sort_values(["key", "value"], ascending=False)
sums = frame.groupby("key")["value"].agg(["sum", "mean"]).reset_index()
joined = frame.merge(sums, on="key")
int(joined["value"].sum()), len(joined), int(sums["sum"].sum())
"""
RESULT = f"({ROWS * (ROWS - 1) // 2}, {ROWS}, {ROWS * (ROWS - 1) // 2})"


def job(interpreter):
    """Runs it, and says how long it took; that it is right is asserted."""
    began = time.monotonic()
    done = interpreter.run_code(JOB, timeout=120)
    took = time.monotonic() - began
    assert done.text == RESULT, done.error or done.text
    return took


def jobs(interpreter, count):
    """The times of some."""
    return [job(interpreter) for _ in range(count)]


class Keeper:
    """Keeps a command running in a sandbox: a fuzzer that may send signals ends now and then by its own hand."""

    def __init__(self, sandbox, command, who):
        self.sandbox, self.command, self.who = sandbox, command, who
        self.stop, self.runs = threading.Event(), 0
        self.thread = threading.Thread(target=self._keep, daemon=True)

    def _keep(self):
        while not self.stop.is_set():
            self.runs += 1
            try:
                self.sandbox.commands.run(self.command, user=self.who, timeout=600)
            except SandboxException:
                time.sleep(0.1)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()


class Busy:
    """CPU time of the server, of what came from it, and of the kernel's own threads, which clean up after it: in cores,
    while this is entered. Whatever else the host does meanwhile is nobody's business."""

    def __init__(self, premises, seconds):
        self.premises = premises
        before, began = self._ticks(), time.monotonic()
        ready = []
        for _ in range(LOOKS):
            time.sleep(seconds / LOOKS)
            ready.append(self._ready())
        after, took = self._ticks(), time.monotonic() - began
        self.cores = sum(ticks - before.get(pid, 0) for pid, ticks in after.items()) / TICK / took
        self.ready = statistics.mean(ready)

    def _ours(self):
        kernel = {pid for pid, stat in stats() if stat[1] == KERNEL}
        return kernel | {pid for pid, _ in self.premises.processes()}

    def _ticks(self):
        ours = self._ours()
        return {pid: stat[11] + stat[12] for pid, stat in stats() if pid in ours}

    def _ready(self):
        ours = self._ours()
        return sum(1 for pid, stat in stats() if pid in ours and stat[0] == "R")

    def is_idle(self, idle):
        """As quiet as `idle`, and a little more: what a fifth of a core does is the tests' own asking."""
        return self.cores <= idle.cores + 0.2 and self.ready <= idle.ready + 0.5

    def __str__(self):
        return f"{self.cores:.2f} cores, {self.ready:.1f} tasks ready"


def until_idle(premises, idle, limit):
    """Seconds until the server and the kernel are as quiet as `idle`, looked at for a second each time."""
    began = time.monotonic()
    while True:
        took = time.monotonic() - began
        now = Busy(premises, 1.0)
        if now.is_idle(idle):
            return took
        assert took < limit, f"{took:.0f} s after the kill: {now}; before the load: {idle}"


def stats():
    """Pid and the fields of `/proc/PID/stat` from the state on, numbers as numbers."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            yield int(name), [fields[0]] + [int(field) for field in fields[1:]]
