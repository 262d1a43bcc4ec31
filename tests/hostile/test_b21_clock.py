"""B21. The clock is everybody's: set back, certificates live again and deadlines never come."""

from calls import refused
from programs import probe

SECOND = bytes([1] + [0] * 15)
CALLS = {
    "clock_settime": (227, 0, SECOND),
    "clock_settime of another clock": (227, 1, SECOND),
    "settimeofday": (164, SECOND, 0),
    "the time zone of the kernel": (164, 0, bytes(8)),
}


def test_it_cannot_be_set(sandbox, trial, who):
    trial.saw = refused(sandbox, CALLS, who)


def test_it_cannot_be_bent(sandbox, trial, who):
    """`adjtimex` may be asked (programs do), and must not set anything."""
    found = probe(sandbox, """
for name, modes in (("offset", 1), ("frequency", 2), ("tick", 0x4000), ("step", 0x100), ("tai", 0x80)):
    timex = ctypes.create_string_buffer(208)
    timex[0:4] = modes.to_bytes(4, "little")
    seen[name] = call(159, timex)
    seen["clock " + name] = call(305, 0, timex)
""", who)  # fmt: skip
    assert set(found.values()) <= {"EPERM"}
    trial.saw = "EPERM"
