"""B23. Processors leak between processes that share them. What stands against it is the host's and documented, not hidden."""

from pathlib import Path

from programs import probe, shell

SECURITY = Path(__file__).parents[2] / "SECURITY.md"


def test_it_is_documented():
    text = SECURITY.read_text().lower()
    assert "side channel" in text and "multi-threading" in text


def test_what_the_kernel_says_of_a_payload(sandbox, trial, who):
    """Filtered processes get what the host chose (`spec_store_bypass_disable=prctl|seccomp`); a payload cannot undo it."""
    found = probe(sandbox, """
for name, feature in (("store bypass", 0), ("indirect branch", 1)):
    seen[name] = libc.prctl(52, feature, 0, 0, 0)
""", who)  # fmt: skip
    line = next(
        line for line in shell(sandbox, "cat /proc/self/status", who).splitlines() if "Speculation_Store" in line
    )
    assert min(found.values()) >= -1
    trial.saw = f"{line.split(':')[1].strip()}; prctl says {found}"


def test_what_was_disabled_stays_so(sandbox, trial, who):
    """Force-disabled for oneself, it must survive an exec: no program's child turns it on again."""
    found = probe(sandbox, """
seen["before"] = libc.prctl(52, 0, 0, 0, 0)
seen["force"] = libc.prctl(53, 0, 8, 0, 0)
seen["undo"] = libc.prctl(53, 0, 2, 0, 0)
seen["after"] = libc.prctl(52, 0, 0, 0, 0)
""", who)  # fmt: skip
    if found["force"] == 0:
        assert found["undo"] == -1 and found["after"] & 8
    trial.saw = str(found)
