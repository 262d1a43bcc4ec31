"""C4. An endless device, a terminal, the guest's own memory: no bytes, and an answer at once."""

import time

import pytest
from e2b import SandboxException

from programs import answers, shell

PATHS = ["/proc/1/environ", "/proc/1/mem", "/proc/self/mem", "/proc/kmsg", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/random",
         "/proc/self/fd/3", "/proc/self/fd/4/cgroup.procs/x", "/proc/sys/kernel/random/uuid/x", "/proc/self/task"]  # fmt: skip


def test_they_are_not_read(sandbox, trial, who):
    worst = 0.0
    for path in PATHS:
        began = time.monotonic()
        try:
            assert sandbox.files.read(path, format="bytes", user=who, request_timeout=8) == b""
        except SandboxException:
            pass
        worst = max(worst, time.monotonic() - began)
    assert worst < 5
    trial.saw = f"refused or empty, within {worst * 1000:.0f} ms"


def test_a_fifo_and_a_socket_make_nobody_wait(sandbox, trial, who):
    """Opening one blocks until somebody opens the other end."""
    shell(
        sandbox,
        "mkfifo /tmp/fifo; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/tmp/socket\")'",
        who,
    )
    for path in ("/tmp/fifo", "/tmp/socket"):
        for attempt in (
            lambda p=path: sandbox.files.read(p, user=who, request_timeout=8),
            lambda p=path: sandbox.files.write(p, "x", user=who),
        ):
            began = time.monotonic()
            with pytest.raises(SandboxException):
                attempt()
            assert time.monotonic() - began < 5
    assert answers(sandbox)
    trial.saw = "refused at once"


def test_a_file_that_grows_while_it_is_read_ends(sandbox, trial, who):
    """Its length is known when the answer begins; whoever follows the end reads for ever."""
    writer = sandbox.commands.run(
        "while :; do head -c 1000000 /dev/zero; sleep 0.01; done > /tmp/grows", user=who, background=True
    )
    time.sleep(0.5)
    began = time.monotonic()
    got = len(sandbox.files.read("/tmp/grows", format="bytes", user=who, request_timeout=30))
    took = time.monotonic() - began
    writer.kill()
    assert took < 10
    trial.saw = f"{got >> 10} KiB in {took:.2f} s"


def test_a_file_that_shrinks_while_it_is_read_does_not_hang(sandbox, trial, who):
    shell(sandbox, "truncate -s 200M /tmp/shrinks", who)
    shrinker = sandbox.commands.run("sleep 0.05; truncate -s 1 /tmp/shrinks", user=who, background=True)
    began = time.monotonic()
    try:
        sandbox.files.read("/tmp/shrinks", format="bytes", user=who, request_timeout=20)
    except Exception:  # noqa: BLE001 - fewer bytes than were announced is an error of the transport
        pass
    shrinker.wait()
    assert time.monotonic() - began < 15
    assert answers(sandbox)
    trial.saw = "an answer or an error, no hang"
