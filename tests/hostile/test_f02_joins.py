"""F1, F2 (walls.md 2). While a context steps through the walls it still holds the nursery's rights: nobody inside may touch it."""

import json
import re

import pytest

from programs import built, shell

ROUNDS = 12


@pytest.mark.slow
@pytest.mark.parametrize("sandboxes", ["python contexts", "commands"])
def test_a_joiner_is_out_of_reach(interpreter, trial, who, sandboxes):
    """A program looks for new processes without pause and tries everything on each, while contexts are created."""
    program = built(interpreter, "f02_joins")
    watch = interpreter.commands.run(f"{program} 8 > /tmp/joins 2>&1", user=who, background=True, timeout=60)
    for _ in range(ROUNDS):
        try:
            if sandboxes == "commands":
                shell(interpreter, "true", "root" if who == "user" else "user")
            else:
                context = interpreter.create_code_context()
                interpreter.run_code("1", context=context, timeout=10, request_timeout=15)
                interpreter.remove_code_context(context)
        except Exception:  # noqa: BLE001 - a joiner that was stopped is given up: an error, and no hole
            continue
    watch.wait()
    said = interpreter.files.read("/tmp/joins")
    counts = json.loads(said.splitlines()[0])
    assert counts["processes"] >= ROUNDS, said
    assert counts["attempts"] > 1000, said
    # The line is "HOLE what": got something of a process that was not yet the payload's.
    assert not re.search("^HOLE", said, re.M), said
    trial.saw = said.splitlines()[0]


def test_capabilities_are_gone_after_the_join(interpreter, trial):
    """F1: set from an unmapped id straight to the user's, all of them would stay, since a fork never execs."""
    said = interpreter.run_code("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
header, data = (ctypes.c_uint * 2)(0x20080522, 0), (ctypes.c_uint * 6)()
print(libc.capget(header, data), list(data), libc.mount(b'x', b'/mnt', b'tmpfs', 0, 0), libc.prctl(3), ctypes.get_errno())
print([line.split()[1] for line in open('/proc/self/status') if line.startswith('Cap')])""")
    text = "".join(said.logs.stdout)
    assert text.startswith("0 [0, 0, 0, 0, 0, 0] -1 1"), text
    trial.saw = "capget says none, mount is refused"
