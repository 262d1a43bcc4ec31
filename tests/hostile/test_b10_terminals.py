"""B10. TIOCSTI types into the terminal of whoever started us; with high bits set it passed filters of 64 bits."""

from e2b import PtySize

from programs import probe, python

REQUESTS = (0x5412, 0x541C, 0x5423, 0x1_0000_5412, 0xFFFF_FFFF_0000_541C)
FORGE = f"""
for request in {REQUESTS}:
    seen[hex(request)] = call(16, FD, request, b"x")
"""


def test_on_a_terminal_of_ones_own(sandbox, trial, who):
    found = probe(sandbox, "import pty\n_, slave = pty.openpty()" + FORGE.replace("FD", "slave"), who)
    assert set(found.values()) == {"EPERM"}
    trial.saw = "EPERM"


def test_on_the_controlling_terminal(sandbox, trial, who):
    """What `hood` itself hands out: the terminal of a session."""
    seen = []
    terminal = sandbox.pty.create(PtySize(24, 80), user=who, timeout=20)
    sandbox.pty.send_stdin(terminal.pid, (python(FORGE.replace("FD", "0") + "\nsay()") + "; exit\n").encode())
    terminal.wait(on_pty=seen.append)
    said = b"".join(seen).decode(errors="replace")
    assert said.count('"EPERM"') == len(REQUESTS)
    trial.saw = "EPERM"
