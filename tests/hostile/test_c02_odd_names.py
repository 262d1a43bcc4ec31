"""C2. Quoting on the way would make two files of one name, or run one."""

from programs import shell

NAMES = ["a b", "\U0001f525", "\u202egnp.exe", "new\nline", "-rf", "%2e%2e%2fetc", "'\"$(id)`id`", "*", "a\\b", "\x01\x7f",
         "e\u0301", "\u00e9", " ", "..x", "x" * 255]  # fmt: skip


def test_they_come_back_as_they_went(sandbox, trial, who):
    for name in NAMES:
        path = f"/tmp/names/{name}"
        sandbox.files.write(path, name, user=who)
        assert sandbox.files.read(path, user=who) == name
        assert name in [entry.name for entry in sandbox.files.list("/tmp/names", user=who)]
    assert len(sandbox.files.list("/tmp/names")) == len(NAMES)
    for name in NAMES:
        sandbox.files.remove(f"/tmp/names/{name}", user=who)
    assert sandbox.files.list("/tmp/names") == []
    trial.saw = f"{len(NAMES)} names"


def test_bytes_that_are_no_text_do_not_break_a_listing(sandbox, trial, who):
    """A file system takes any bytes as a name; JSON does not."""
    shell(sandbox, "mkdir -p /tmp/odd; touch $'/tmp/odd/\\xff\\xfe' /tmp/odd/plain", who)
    names = [entry.name for entry in sandbox.files.list("/tmp/odd", user=who)]
    assert "plain" in names
    trial.saw = f"listed as {names}"
