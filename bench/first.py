#!/usr/bin/env python3
"""The first measurement: how long a sandbox, a command and a cell take, and what an idle sandbox costs.

`cargo xtask bench first` starts a release build and runs this with `eval "$(hood env)"` in the environment; prints a
Markdown table. Raw HTTP over loopback, one request at a time, one kept connection: no SDK, no TLS. Standard library only.

What the numbers include:
  create → command   POST /v2/sandboxes (template base) is sent → the first output of `echo` has arrived, as a client
                     sees it: both requests, the walls, the guest's start, the command's start.
  create → cell      the same with template code-interpreter-v1 and POST /execute of `1+1`, until its result has arrived:
                     the kernel's start is in it.
  warm cell          POST /execute of `1+1` in a sandbox that has run some: request sent → last byte of the answer.
  idle memory        what the kernel charges to the sandbox's memory group, from outside, and the fall of MemAvailable
                     of the host over 20 of them, server and all, divided by 20. No context has been used.
Ends (DELETE) are outside every measurement but happen between them, so removal of the previous sandbox runs beside the
next creation, as it would under load. The first WARM_UP rounds of each are left out.
"""

import os
import platform
import time
from pathlib import Path

from hood import BASE, INTERPRETER, Server, percentiles

ROUNDS, WARM_UP, IDLE = 100, 5, 20
SETTLE = 3  # seconds before memory is read
CGROUPS = Path("/sys/fs/cgroup")


def measure(once):
    return [once() for _ in range(WARM_UP + ROUNDS)][WARM_UP:]


def create_to_command(server):
    began = time.perf_counter()
    sandbox = server.create(BASE)
    took = server.first_output(sandbox)[0] - began
    server.end(sandbox)
    return took


def create_to_answer(server):
    began = time.perf_counter()
    sandbox = server.create(BASE)
    took = time.perf_counter() - began
    server.end(sandbox)
    return took


def create_to_cell(server):
    began = time.perf_counter()
    sandbox = server.create(INTERPRETER)
    took = server.cell(sandbox)[0] - began
    server.end(sandbox)
    return took


def warm_cells(server):
    sandbox = server.create(INTERPRETER)

    def once():
        began = time.perf_counter()
        return server.cell(sandbox)[1] - began

    taken = measure(once)
    server.end(sandbox)
    return taken


def charged(sandbox):
    """Bytes that the kernel charges to a sandbox: cgroup v1, or v2."""
    identity = sandbox["sandboxID"]
    for pattern in ["memory.usage_in_bytes", "memory.current"]:
        if found := sorted(CGROUPS.glob(f"**/{identity}/{pattern}"), key=lambda path: len(path.parts)):
            return int(found[0].read_text())
    raise SystemExit(f"no memory group of {identity}")


def available():
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024


def idle_memory(server, template):
    """MiB of one idle sandbox: charged to its group, and taken from the host."""
    server.end(server.create(template))
    time.sleep(SETTLE)
    before = available()
    sandboxes = [server.create(template) for _ in range(IDLE)]
    time.sleep(SETTLE)
    taken = before - available()
    groups = sorted(charged(sandbox) for sandbox in sandboxes)
    for sandbox in sandboxes:
        server.end(sandbox)
    return groups[len(groups) // 2] / 2**20, taken / IDLE / 2**20


def main():
    server = Server()
    rows = [
        ("create → answered (`base`)", measure(lambda: create_to_answer(server))),
        ("create → first output of a command (`base`)", measure(lambda: create_to_command(server))),
        ("create → first cell `1+1` (`code-interpreter-v1`)", measure(lambda: create_to_cell(server))),
        ("warm cell `1+1`", warm_cells(server)),
    ]
    memory = [(template, *idle_memory(server, template)) for template in (BASE, INTERPRETER)]
    cores, kernel = os.cpu_count(), platform.release()
    print(f"\nOf {ROUNDS} each, milliseconds; {cores} cores, Linux {kernel}, {time.strftime('%Y-%m-%d')}.\n")
    print("| what | p50 | p95 | p99 |\n|---|---|---|---|")
    for name, seconds in rows:
        print(f"| {name} | " + " | ".join(f"{ms:.1f}" for ms in percentiles(seconds)) + " |")
    print(f"\n| idle sandbox, MiB | charged to its group (median) | taken from MemAvailable, 1/{IDLE} of {IDLE} |\n|---|---|---|")
    for template, group, taken in memory:
        print(f"| `{template}` | {group:.1f} | {taken:.1f} |")


if __name__ == "__main__":
    main()
