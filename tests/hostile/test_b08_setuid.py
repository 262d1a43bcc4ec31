"""B8. One way to gain a capability, or to start a process that forgets a wall, is enough."""

import re

from e2b import PtySize

from programs import probe, shell

REDUCED = "00000000a80425fb"  # the fourteen capabilities that root inside may use
STATUS = "grep -E '^(Cap(Prm|Eff|Bnd|Inh|Amb)|Seccomp):' /proc/self/status"


def test_setuid_gains_nothing_more(sandbox, trial, who):
    """A set-user-id shell makes root inside, which is what `sudo` gives anyway: the same fourteen, the filter on."""
    shell(sandbox, "cp /bin/bash /tmp/s; chmod 4755 /tmp/s", "root")
    said = shell(sandbox, f'/tmp/s -p -c "id -u; {STATUS}"', who)
    assert said.startswith("0\n")
    assert set(re.findall("[0-9a-f]{16}", said)) <= {REDUCED, "0" * 16}
    trial.saw = "the reduced set"


def test_file_capabilities_gain_nothing_more(sandbox, trial, who):
    """All of them on a copy of `cat`: root inside may write the mark, the bounding set is what counts."""
    everything = "b'\\1\\0\\0\\2' + b'\\xff' * 8 + b'\\xff\\xff\\xff\\xff\\xff\\1\\0\\0'"
    mark = f"import os, shutil; shutil.copy('/bin/cat', '/tmp/c'); os.setxattr('/tmp/c', 'security.capability', {everything})"
    shell(sandbox, f'python3 -c "{mark}"; chmod 755 /tmp/c', "root")
    said = shell(sandbox, "/tmp/c /proc/self/status | grep ^Cap", who)
    assert set(re.findall("[0-9a-f]{16}", said)) <= {REDUCED, "0" * 16}
    trial.saw = said.split()[-1] if said else "it does not start"


def test_what_was_dropped_cannot_be_taken_back(sandbox, trial, who):
    found = probe(sandbox, """
header, everything = (ctypes.c_uint * 2)(0x20080522, 0), (ctypes.c_uint * 6)(*[0xffffffff] * 6)
seen["capset"] = call(126, header, everything)
seen["ambient"] = call(157, 47, 2, 21, 0, 0)
seen["securebits"] = call(157, 28, 0, 0, 0, 0)
seen["filter off"] = call(317, 0, 0, 0)
seen["no_new_privs off"] = call(157, 38, 0, 0, 0, 0)
seen["uid"] = call(105, 4294967294)
seen["status"] = open("/proc/self/status").read()
""", who)  # fmt: skip
    status = found.pop("status")
    # Root may set its own securebits to what they are; the set that bounds it stays.
    assert "OK" not in [said for name, said in found.items() if name != "securebits"]
    assert f"CapBnd:\t{REDUCED}" in status and "Seccomp:\t2" in status
    trial.saw = ", ".join(sorted(set(found.values())))


def everywhere(box):
    """The status lines of a process in each place where a user's code can run."""
    yield "command", shell(box, STATUS)
    yield "root", shell(box, STATUS, "root")
    yield "sudo", shell(box, "sudo -n " + STATUS)
    code = f"import subprocess; print(subprocess.run({STATUS!r}, shell=True, capture_output=True, text=True).stdout)"
    yield "python child", "".join(box.run_code(code).logs.stdout)
    yield "python", "".join(box.run_code("print(open('/proc/self/status').read())").logs.stdout)
    yield "bash", "".join(box.run_code(STATUS, language="bash").logs.stdout)
    seen = []
    terminal = box.pty.create(PtySize(24, 80), timeout=20)
    box.pty.send_stdin(terminal.pid, f"{STATUS}; exit\n".encode())
    terminal.wait(on_pty=seen.append)
    yield "pty", b"".join(seen).decode(errors="replace")


def test_every_process_is_behind_the_filter_with_the_reduced_set(interpreter, trial):
    """A join without exec keeps every capability (walls F1); whoever starts a process must not forget a step."""
    places = []
    for place, status in everywhere(interpreter):
        lines = dict(re.findall(r"(Cap\w+|Seccomp):\s*(\w+)", status))
        assert lines["Seccomp"] == "2", place
        assert lines["CapBnd"] == REDUCED, place
        held = REDUCED if place in ("root", "sudo") else "0" * 16
        assert (lines["CapPrm"], lines["CapEff"]) == (held, held), place
        assert (lines["CapInh"], lines["CapAmb"]) == ("0" * 16,) * 2, place
        places.append(place)
    trial.saw = ", ".join(places)
