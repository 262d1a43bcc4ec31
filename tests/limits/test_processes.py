"""The guest's ceilings on commands and terminals."""

import base64
import contextlib
import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers import run, until
from page import meets

INSIDE = "Inside a sandbox"


def pid_of(stream):
    return next(stream)["event"]["start"]["pid"]


def outputs(stream, name="stdout"):
    """What the events of a stream hold."""
    for message in stream:
        if name in message.get("event", {}).get("data", {}):
            yield base64.b64decode(message["event"]["data"][name])


def leave(calls, command, **process):
    """Starts a process and goes away; it lives on."""
    with calls.start(command, **process) as stream:
        said = next(stream)
        return said["event"]["start"]["pid"] if "event" in said else said["error"]


@pytest.mark.slow
@meets(INSIDE, "MAX_PROCESSES")
def test_processes(limit, sized, calls):
    http = calls(sized(pids=3 * limit, memoryMB=2048))
    with ThreadPoolExecutor(8) as pool:
        for said in pool.map(lambda _: leave(http, "exec sleep 100"), range(limit)):
            assert isinstance(said, int), said
    assert leave(http, "true")["code"] == "resource_exhausted"


@meets(INSIDE, "MAX_CONFIGS")
def test_configurations(limit, sandbox, calls):
    http = calls(sandbox)
    envs = {f"V{n}": "x" * 100_000 for n in range(10)}
    most = limit // 1_000_000
    said = [leave(http, "exec sleep 100", envs=envs) for _ in range(most + 2)]
    assert all(isinstance(one, int) for one in said[: most - 2])
    assert said[-1]["code"] == "resource_exhausted"


@meets(INSIDE, "MAX_ARGUMENTS")
def test_arguments(limit, sandbox, calls):
    envs = {f"V{n}": "x" * 100_000 for n in range(limit // 100_000 + 1)}
    assert leave(calls(sandbox), "true", envs=envs)["code"] == "invalid_argument"


@meets(INSIDE, "MAX_TAG")
def test_tag(limit, sandbox, calls):
    for length, is_refused in ((limit, False), (limit + 1, True)):
        message = {"process": {"cmd": "true"}, "tag": "t" * length}
        with calls(sandbox).stream("process.Process/Start", message) as stream:
            said = next(stream)
        assert ("error" in said) == is_refused
        assert not is_refused or said["error"]["code"] == "invalid_argument"


@meets(INSIDE, "MAX_WRITES_WAITING")
def test_writes_that_wait(limit, sandbox, calls):
    http = calls(sandbox)
    pid = leave(http, "exec sleep 100")
    message = {"process": {"pid": pid}, "input": {"stdin": base64.b64encode(b"x" * 200_000).decode()}}

    def write(_):
        return http.unary("process.Process/SendInput", message, **{"Connect-Timeout-Ms": "4000"}).json().get("code")

    with ThreadPoolExecutor(limit + 1) as pool:
        said = list(pool.map(write, range(limit + 1)))
    assert sorted(said) == ["deadline_exceeded"] * limit + ["resource_exhausted"]


@meets(INSIDE, "MAX_READERS")
def test_readers(limit, sandbox, calls):
    http = calls(sandbox)
    pid = leave(http, "exec sleep 100")
    message = {"process": {"pid": pid}}
    with contextlib.ExitStack() as open_ones:
        # Kept: a stream that nobody holds is closed.
        streams = [open_ones.enter_context(http.stream("process.Process/Connect", message)) for _ in range(limit)]
        assert all("error" not in next(stream) for stream in streams)
        with http.stream("process.Process/Connect", message) as one_more:
            assert next(one_more)["error"]["code"] == "resource_exhausted"


@meets(INSIDE, "READER_QUEUE")
def test_a_reader_that_does_not_read(_, sandbox, calls):
    http = calls(sandbox)
    with http.start("head -c 100000000 /dev/zero; touch /tmp/printed") as stream:
        pid_of(stream)
        time.sleep(2)
        assert run(sandbox, "ls /tmp") == "", "the process did not wait"
        assert sum(map(len, outputs(stream))) == 100_000_000
    assert run(sandbox, "ls /tmp") == "printed"


@pytest.mark.slow
@meets(INSIDE, "READER_PATIENCE")
def test_a_reader_holds_up_others_for_a_while(limit, sandbox, calls):
    http = calls(sandbox)
    slowly = "for n in $(seq 800); do head -c 60000 /dev/zero; sleep 0.01; done"
    with http.start(f"sleep 1; {slowly}") as lazy:
        pid = pid_of(lazy)
        with http.stream("process.Process/Connect", {"process": {"pid": pid}}) as eager:
            pauses, size, last = [], 0, time.monotonic()
            for piece in outputs(eager):
                pauses.append(time.monotonic() - last)
                size, last = size + len(piece), time.monotonic()
    assert size == 800 * 60_000
    assert limit * 0.9 < max(pauses) < limit + 3, max(pauses)


@meets(INSIDE, "PIPE_PIECE")
def test_pieces_of_a_pipe(limit, sandbox, calls):
    with calls(sandbox).start("head -c 3000000 /dev/zero") as stream:
        sizes = [len(piece) for piece in outputs(stream)]
    assert sum(sizes) == 3_000_000 and max(sizes) <= limit


@meets(INSIDE, "TERMINAL_PIECE")
def test_pieces_of_a_terminal(limit, sandbox, calls):
    process = {"cmd": "/bin/sh", "args": ["-c", "head -c 1000000 /dev/zero"]}
    message = {"process": process, "pty": {"size": {"cols": 80, "rows": 24}}}
    with calls(sandbox).stream("process.Process/Start", message) as stream:
        sizes = [len(piece) for piece in outputs(stream, "pty")]
    assert sum(sizes) == 1_000_000 and max(sizes) <= limit


@meets(INSIDE, "MAX_MESSAGE")
def test_messages(limit, sandbox, calls):
    message = {"path": "/" + "x" * limit}
    calls(sandbox).refused("filesystem.Filesystem/Stat", message, "resource_exhausted")


@meets(INSIDE, "MAX_PATH")
def test_paths(limit, sandbox, calls):
    http = calls(sandbox)
    path = "/" + "/".join(itertools.repeat("d" * 99, limit // 100 + 1))
    http.refused("filesystem.Filesystem/Stat", {"path": path[: limit + 1]}, "invalid_argument")
    http.refused("filesystem.Filesystem/Stat", {"path": path[: limit - 100]}, "not_found")


@meets(INSIDE, "MAX_ACCOUNTS")
def test_accounts(limit, sandbox, calls):
    line = "x:x:5000:5000::/:/bin/sh"
    run(sandbox, f"yes '#{'-' * 98}' | head -c {limit} >> /etc/passwd; echo 'late{line[1:]}' >> /etc/passwd", user="root")
    assert run(sandbox, "whoami") == "user"
    assert leave(calls(sandbox, user="late"), "true")["code"] == "unauthenticated"


@meets(INSIDE, "ENDS_KEPT")
def test_ends_are_kept(limit, sandbox, calls):
    http = calls(sandbox)
    pid = leave(http, "exit 7")

    def end():
        with http.stream("process.Process/Connect", {"process": {"pid": pid}}) as stream:
            said = list(stream)
        return said[0].get("error", {}).get("code") or [m for m in said if "end" in m.get("event", {})]

    assert until(lambda: end() != "not_found", 2)
    assert end()[0]["event"]["end"]["status"] == "exit status 7"
    time.sleep(limit + 1)
    assert end() == "not_found"
