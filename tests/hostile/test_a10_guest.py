"""A10. The supervisor must not be affected: neither by limits set for it, nor by children stopped half-way, nor by leases."""

import time

from programs import answers, background, built, probe, shell

LEASE = """
import fcntl
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open("/sys/devices/system/cpu/online", os.O_RDONLY)
attempt(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("ready", flush=True)
time.sleep(60)
"""


def test_the_guests_limits_cannot_be_set(sandbox, trial, who):
    """`prlimit` on PID 1 asks for equal ids only: with ten descriptors the guest answers nobody."""
    found = probe(sandbox, """
seen["set"] = attempt(resource.prlimit, 1, resource.RLIMIT_NOFILE, (10, 10))
seen["get"] = attempt(resource.prlimit, 1, resource.RLIMIT_NOFILE)
""", who)  # fmt: skip
    assert set(found.values()) == {"EPERM"}
    assert answers(sandbox)
    trial.saw = "EPERM"


def test_stopping_every_new_process_does_not_stop_the_guest(sandbox, trial, who):
    """The guest waits for a child to exec; the program stops the child half-way."""
    program = built(sandbox, "a10_stop")
    sandbox.commands.run(program, user=who, background=True, timeout=60)
    time.sleep(0.5)
    worst = 0.0
    for _ in range(3):
        try:
            sandbox.commands.run("true", user=who, timeout=3, request_timeout=6)
        except Exception:  # noqa: BLE001 - the command may well be stopped; the guest may not
            pass
        began = time.monotonic()
        sandbox.files.list("/tmp", request_timeout=6)
        worst = max(worst, time.monotonic() - began)
    assert worst < 5
    trial.saw = f"the guest answered within {worst * 1000:.0f} ms"


def test_a_lease_in_one_sandbox_does_not_hold_another(create, trial, who):
    """On a shared file of `/sys`, opening it elsewhere waited 45 seconds for the lease to break."""
    sandbox, neighbour = create(), create()
    background(sandbox, LEASE, who)
    began = time.monotonic()
    assert shell(neighbour, "cat /sys/devices/system/cpu/online").strip()
    took = time.monotonic() - began
    assert took < 3
    trial.saw = f"opened elsewhere after {took * 1000:.0f} ms"
