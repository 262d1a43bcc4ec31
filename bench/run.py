#!/usr/bin/env python3
"""Fumehood beside what people use today, in one run on one machine.

`cargo xtask bench` installs the rivals, starts a release build and runs this; it writes `bench/RESULTS.md`,
`bench/results.json` and `bench/*.svg`. Contenders of one row take turns, round by round, so that what else the machine
does hits all alike; the first rounds of each are left out. A contender that takes longer than a second runs fewer
rounds; the table says how many.

What the numbers include:
  first command   nothing is there → the first output of `echo` has arrived. Ours: POST /v2/sandboxes (template base) and
                  process.Process/Start, both over one kept connection; with the official SDK also its own work.
                  Rivals: the call that starts the program, until its first output. Removal is outside.
  first cell      the same until a cell's result: `1+1` with pandas and matplotlib imported, or one that groups and
                  describes a data frame. Ours is template code-interpreter-v1, whose kernels have them imported.
  warm            one more command or cell where some have run: request sent → last byte of the answer.
  burst           n creations at once, each with a cell; the time of each, from the common start to its result.
  held            sandboxes with a live context each, all alive at once; all answer at the end.
  files           one file of `--mib` MiB up to `/dev/shm` and down, through the API, in MiB a second; and what the server
                  has grown.
Not measured here: connections out of a sandbox (`cargo run --release -p hood-gate --example cost`).
"""

import argparse
import concurrent.futures
import contextlib
import http.client
import json
import os
import platform
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import rivals
from hood import BASE, ENVD, INTERPRETER, Refused, Server, percentiles
from report import write

HERE = Path(__file__).parent
WARM_UP = 5
SLOW = 1.0  # seconds; beyond it a contender runs a fifth of the rounds
CGROUPS = Path("/sys/fs/cgroup")
GROUPING = rivals.FRAME
GROUPED = "count"  # a word of the described frame


class Ours:
    """Each of our contenders, as `rivals` has theirs."""

    def __init__(self):
        self.server = Server()

    @contextlib.contextmanager
    def command(self):
        def once():
            began = time.perf_counter()
            sandbox = self.server.create(BASE)
            took = self.server.first_output(sandbox)[0] - began
            self.server.end(sandbox)
            return took

        yield once

    @contextlib.contextmanager
    def command_by_sdk(self):
        from e2b import Sandbox

        def once():
            began, arrived = time.perf_counter(), []
            sandbox = Sandbox.create(BASE)
            sandbox.commands.run("echo hello", on_stdout=lambda _: arrived.append(time.perf_counter()))
            sandbox.kill()
            return arrived[0] - began

        yield once

    def cell(self, code, result):
        @contextlib.contextmanager
        def contender():
            def once():
                began = time.perf_counter()
                sandbox = self.server.create(INTERPRETER)
                took = self.server.cell(sandbox, code, result)[0] - began
                self.server.end(sandbox)
                return took

            yield once

        return contender

    @contextlib.contextmanager
    def _kept(self, template):
        sandbox = self.server.create(template)
        try:
            yield sandbox
        finally:
            self.server.end(sandbox)

    @contextlib.contextmanager
    def warm_cell(self):
        with self._kept(INTERPRETER) as sandbox:
            yield lambda: _timed(lambda: self.server.cell(sandbox))

    @contextlib.contextmanager
    def warm_command(self):
        with self._kept(BASE) as sandbox:
            yield lambda: _timed(lambda: self.server.first_output(sandbox, "/bin/true", ()))

    @contextlib.contextmanager
    def pause(self):
        with self._kept(INTERPRETER) as sandbox:
            self.server.cell(sandbox)

            def once():
                took = _timed(lambda: self.server.call("POST", f"/sandboxes/{sandbox['sandboxID']}/pause"))
                self._resume(sandbox)
                return took

            yield once

    @contextlib.contextmanager
    def resume(self):
        with self._kept(INTERPRETER) as sandbox:
            self.server.cell(sandbox)

            def once():
                self.server.call("POST", f"/sandboxes/{sandbox['sandboxID']}/pause")
                return _timed(lambda: self._resume(sandbox))

            yield once

    def _resume(self, sandbox):
        self.server.call("POST", f"/sandboxes/{sandbox['sandboxID']}/connect", {"timeout": 3600})

    @contextlib.contextmanager
    def fork(self):
        with self._kept(BASE) as sandbox:

            def once():
                began = time.perf_counter()
                answer = self.server.call("POST", f"/sandboxes/{sandbox['sandboxID']}/fork", {"count": 1})
                took = time.perf_counter() - began
                self.server.end(answer[0]["sandbox"])
                return took

            yield once

    @contextlib.contextmanager
    def snapshot(self):
        with self._kept(BASE) as sandbox:
            fill = "head -c 64M /dev/urandom > /tmp/filled"
            self.server.first_output(sandbox, "/bin/sh", ("-c", fill))

            def once():
                began = time.perf_counter()
                made = self.server.call("POST", f"/sandboxes/{sandbox['sandboxID']}/snapshots", {})
                took = time.perf_counter() - began
                self.server.call("DELETE", f"/templates/{made['snapshotID']}")
                return took

            yield once


def _timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def rows(ours):
    """title -> contender -> how."""
    return {
        "first command": {
            "hood": ours.command,
            "hood, official Python SDK": ours.command_by_sdk,
            "no walls (subprocess)": rivals.subprocess_alone,
            "bubblewrap": rivals.bubblewrap,
            "sandlock": rivals.sandlock,
            "gVisor (runsc do)": rivals.runsc,
            "Docker (docker run)": rivals.docker,
        },
        "first cell, `1+1` with pandas and matplotlib imported": {
            "hood": ours.cell("1+1", "2"),
            "Jupyter kernel": rivals.jupyter_that_imports,
            "python3 -c": rivals.python_that_imports,
            "llm-sandbox (bubblewrap), without the imports": rivals.llm_sandbox,
        },
        "first cell, groups and describes a data frame": {
            "hood": ours.cell(rivals.IMPORTS + GROUPING, GROUPED),
            "Jupyter kernel": rivals.jupyter_that_groups,
        },
        "warm cell `1+1`": {"hood": ours.warm_cell, "Jupyter kernel": rivals.warm_jupyter},
        "warm command `true`": {"hood": ours.warm_command},
        "lifecycle": {
            "pause, with a live context": ours.pause,
            "resume": ours.resume,
            "fork": ours.fork,
            "snapshot, 64 MiB written": ours.snapshot,
        },
    }


def compete(title, contenders, rounds):
    """All of one row, taking turns. Returns contender -> what came out."""
    found = {}
    with contextlib.ExitStack() as stack:
        ready = {}
        for name, contender in contenders.items():
            try:
                ready[name] = stack.enter_context(contender())
                found[name] = {"seconds": [], "failed": 0}
            except rivals.Absent as why:
                found[name] = {"absent": str(why)}
        wanted = dict.fromkeys(ready, rounds)
        for turn in range(WARM_UP + rounds):
            for name, once in ready.items():
                if turn >= WARM_UP + wanted[name]:
                    continue
                if sys.stderr.isatty():
                    print(f"\r{title}: {turn} of {WARM_UP + rounds} ", end="", file=sys.stderr)
                try:
                    took = once()
                except (RuntimeError, OSError, Refused, AssertionError) as error:
                    found[name]["failed"] += 1
                    found[name]["error"] = str(error)[:300]
                    continue
                if turn >= WARM_UP:
                    found[name]["seconds"].append(took)
                elif took > SLOW:
                    wanted[name] = max(1, rounds // 5)
    return found


def burst(count):
    """So many at once, each a creation and a cell: the time of each since the common start."""
    start = time.perf_counter()

    def one(_):
        server = Server()
        try:
            sandbox = server.create(INTERPRETER)
            took = server.cell(sandbox)[0] - start
            return took, sandbox
        except (OSError, Refused, AssertionError, http.client.HTTPException):
            return None, None

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        results = list(pool.map(one, range(count)))
    server = Server()
    for _, sandbox in results:
        if sandbox:
            server.end(sandbox)
    return [took for took, _ in results if took is not None], sum(took is None for took, _ in results)


def bursts(count, rounds):
    seconds, failed = [], 0
    burst(count)
    for _ in range(rounds):
        Server().settle()
        time.sleep(1)
        more, broken = burst(count)
        seconds += more
        failed += broken
    return {"seconds": seconds, "failed": failed}


def held(count):
    """So many sandboxes with a live context each; do all answer at the end?"""
    server = Server()
    before, sandboxes = _available(), []
    began = time.perf_counter()
    try:
        for _ in range(count):
            sandbox = server.create(INTERPRETER)
            sandboxes.append(sandbox)
            server.cell(sandbox, "import pandas; kept = pandas.DataFrame({'a': [1, 2]}); len(kept)", "2")
        made = time.perf_counter() - began
        taken, charged = before - _available(), sorted(_charged(sandbox) for sandbox in sandboxes[-50:])
        answered = 0
        for sandbox in sandboxes:
            with contextlib.suppress(Refused, AssertionError):
                server.cell(sandbox, "len(kept)", "2")
                answered += 1
    finally:
        for sandbox in sandboxes:
            server.end(sandbox)
    return {
        "asked": count,
        "answered": answered,
        "seconds": made,
        "MiB each, of MemAvailable": taken / count / 2**20,
        "MiB each, charged (median)": charged[len(charged) // 2] / 2**20,
    }


def idle(count=20):
    """Sandboxes without a context."""
    server = Server()
    server.end(server.create(BASE))
    time.sleep(3)
    before = _available()
    sandboxes = [server.create(BASE) for _ in range(count)]
    time.sleep(3)
    taken = before - _available()
    charged = sorted(_charged(sandbox) for sandbox in sandboxes)
    for sandbox in sandboxes:
        server.end(sandbox)
    return {
        "MiB each, of MemAvailable": taken / count / 2**20,
        "MiB each, charged (median)": charged[count // 2] / 2**20,
    }


def throughput(seconds, clients=4):
    """Creations and ends, one after the other in each of some clients."""
    end = time.perf_counter() + seconds

    def one(_):
        server, done, refused = Server(), 0, 0
        while time.perf_counter() < end:
            try:
                server.end(server.create(BASE))
                done += 1
            except Refused as error:
                if error.status != 429:
                    raise
                refused += 1
                time.sleep(0.05)
        return done, refused

    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        done, refused = map(sum, zip(*pool.map(one, range(clients)), strict=True))
    return {"a second": done / seconds, "clients": clients, "told to come later (429)": refused}


def files(mebibytes):
    """One large file up and down."""
    server = Server()
    # Half of its memory is what `/dev/shm` may take: the disk is not what is measured.
    sandbox = server.create(BASE, hood={"memoryMB": 4 * mebibytes})
    before = _resident()
    size, piece = mebibytes << 20, b"\0" * (1 << 20)
    url = urlsplit(os.environ["E2B_API_URL"])
    headers = {"E2b-Sandbox-Id": sandbox["sandboxID"], "E2b-Sandbox-Port": str(ENVD)}
    headers |= {"X-Access-Token": sandbox.get("envdAccessToken") or "", "Content-Type": "application/octet-stream"}
    path = "/files?path=/dev/shm/large&username=user"
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=120)
    began = time.perf_counter()
    connection.request("POST", path, (piece for _ in range(mebibytes)), headers | {"Content-Length": str(size)})
    answer = connection.getresponse()
    if answer.status >= 300:
        raise Refused(path, answer.status, answer.read())
    answer.read()
    up = time.perf_counter() - began
    began = time.perf_counter()
    connection.request("GET", path, headers=headers)
    answer, got, buffer = connection.getresponse(), 0, bytearray(1 << 20)
    while count := answer.readinto(buffer):
        got += count
    down = time.perf_counter() - began
    assert got == size, (got, size)
    server.end(sandbox)
    return {"up, MiB/s": mebibytes / up, "down, MiB/s": mebibytes / down, "server grew, MiB": (_resident() - before) / 2**20}


def published_shape():
    """The steps of E2B's published performance script, by the official SDK: seconds of each."""
    from e2b_code_interpreter import Sandbox

    laps, began = {}, time.perf_counter()

    def lap(name):
        nonlocal began
        laps[name] = time.perf_counter() - began
        began = time.perf_counter()

    sandbox = Sandbox.create()
    lap("create")
    assert sandbox.is_running()
    lap("health")
    sandbox.run_code("print(1)")
    lap("first run")
    sandbox.run_code("print(1)")
    lap("second run")
    sandbox.kill()
    return laps


def _charged(sandbox):
    """Bytes that the kernel charges to a sandbox: cgroup v1, or v2."""
    identity = sandbox["sandboxID"]
    for pattern in ["memory.usage_in_bytes", "memory.current"]:
        if found := sorted(CGROUPS.glob(f"**/{identity}/{pattern}"), key=lambda path: len(path.parts)):
            return int(found[0].read_text())
    return 0


def _available():
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024


def _resident():
    status = Path(f"/proc/{os.environ['HOOD_PID']}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


def say(text):
    print(f"\r{text}", flush=True)


def main():
    options = argparse.ArgumentParser(description="Fumehood beside its rivals")
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--held", type=int, default=1000)
    options.add_argument("--mib", type=int, default=1024)
    options.add_argument("--seconds", type=int, default=60, help="of sustained creations and ends")
    options.add_argument("--only", action="append", help="only rows whose title holds this")
    chosen = options.parse_args()
    load = os.getloadavg()[0]

    def wanted(title):
        return not chosen.only or any(part in title for part in chosen.only)

    results = {"races": {}, "figures": {}}
    for title, contenders in rows(Ours()).items():
        if not wanted(title):
            continue
        Server().settle()
        results["races"][title] = race = compete(title, contenders, chosen.rounds)
        for name, found in race.items():
            say(f"{title}: {name}: {_short(found)}")
    for count in (10, 20, 50):
        if wanted(title := f"burst of {count}, each with a cell"):
            results["races"].setdefault("bursts", {})[title] = found = bursts(count, max(1, chosen.rounds // 20))
            say(f"{title}: {_short(found)}")
    figures = {
        "idle sandboxes without a context": idle,
        f"held sandboxes with a pandas context ({chosen.held})": lambda: held(chosen.held),
        f"creations and ends, sustained for {chosen.seconds} s": lambda: throughput(chosen.seconds),
        f"a file of {chosen.mib} MiB": lambda: files(chosen.mib),
        "the shape of E2B's published script, ms": lambda: _medians([published_shape() for _ in range(max(5, chosen.rounds // 4))]),
    }
    for title, figure in figures.items():
        if wanted(title):
            Server().settle()
            try:
                found = figure()
            except (OSError, Refused, AssertionError) as error:
                found = {"failed": str(error)[:300]}
            results["figures"][title] = found
            say(f"{title}: {found}")
    results["host"] = {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "date": time.strftime("%Y-%m-%d"),
        "load before": round(load, 2),
        "load after": round(os.getloadavg()[0], 2),
        "rounds": chosen.rounds,
    }
    # A part of it must not pass for the whole.
    write(results, HERE if not chosen.only else Path(os.environ.get("HOOD_BENCH_OUT", ".")))


def _medians(laps):
    return {name: percentiles([one[name] for one in laps], (50,))[0] for name in laps[0]}


def _short(found):
    if "absent" in found:
        return f"absent: {found['absent']}"
    if not found["seconds"]:
        return f"failed: {found.get('error')}"
    return " / ".join(f"{ms:.1f}" for ms in percentiles(found["seconds"])) + f" ms, {found['failed']} failed"


if __name__ == "__main__":
    main()
