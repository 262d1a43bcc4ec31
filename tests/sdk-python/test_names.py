"""Names are kept exactly, and none of them leads out of the sandbox."""

import json
import os
import tempfile
import uuid
from pathlib import Path

import pytest
from e2b import SandboxException
from helpers import run

NAMES = [
    "with space.txt",
    " leading and trailing ",
    "emoji 😀.txt",
    "new\nline",
    "-rf",
    "--help",
    "%2e%2e%2f",
    "a%20b",
    "\u202eright-to-left.txt",
    "quote'\".txt",
    "$HOME `id`;&|",
    "back\\slash",
    "a+b=c&d?e#f",
    "...",
    "ü" * 100,
    "e\u0301 is not \u00e9",
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_odd_names_come_back_exactly(sandbox, name):
    info = sandbox.files.write(f"odd/{name}", name)
    assert (info.name, info.path) == (name, f"/home/user/odd/{name}")
    assert sandbox.files.read(f"odd/{name}") == name
    assert sandbox.files.exists(f"odd/{name}")
    assert [entry.name for entry in sandbox.files.list("odd")] == [name]
    assert json.loads(run(sandbox, "python3 -c \"import os, json; print(json.dumps(os.listdir('odd')))\"")) == [name]
    sandbox.files.rename(f"odd/{name}", f"odd/{name}2")
    sandbox.files.remove(f"odd/{name}2")
    assert sandbox.files.list("odd") == []


def test_odd_names_in_one_call(sandbox):
    sandbox.files.write_files(
        [{"path": f"odd/{name}", "data": name} for name in NAMES if '"' not in name and "\n" not in name]
    )
    for name in NAMES:
        if '"' not in name and "\n" not in name:
            assert sandbox.files.read(f"odd/{name}") == name


@pytest.mark.parametrize("path", ["nul\0byte", "/tmp/\0"])
def test_a_nul_is_refused(sandbox, path):
    for call in (
        lambda: sandbox.files.write(path, "x"),
        lambda: sandbox.files.read(path),
        lambda: sandbox.files.list(path),
        lambda: sandbox.files.make_dir(path),
    ):
        with pytest.raises(SandboxException) as caught:
            call()
        assert "NUL" in str(caught.value)
    assert run(sandbox, "ls -A /tmp") == ""


@pytest.mark.parametrize("path", ["x" * 256, "/".join(["d" * 200] * 30)], ids=["name", "path"])
def test_too_long_is_refused(sandbox, path):
    with pytest.raises(SandboxException):
        sandbox.files.write(path, "x")
    sandbox.files.write("fine", "x")


def test_names_that_are_not_utf8(sandbox):
    run(sandbox, "mkdir raw && python3 -c \"open(b'raw/\\\\xff\\\\xfe', 'w').write('x')\"")
    assert len(sandbox.files.list("raw")) == 1
    sandbox.files.remove("raw")
    assert not sandbox.files.exists("raw")


@pytest.fixture
def marker():
    """A file of the host that no sandbox may see (if the server runs on this machine)."""
    with tempfile.NamedTemporaryFile("w", prefix=f"host-marker-{uuid.uuid4().hex}-", delete=False) as file:
        file.write("host secret")
    os.chmod(file.name, 0o644)
    yield Path(file.name)
    os.unlink(file.name)


@pytest.mark.parametrize(
    "prefix",
    [
        "../../../../../..",
        "/proc/1/root",
        "/proc/1/cwd",
        "/proc/self/root",
        "/proc/self/cwd/../../../..",
        "/home/user/a/../../../..",
        "way-out",
        "way-up",
    ],
)
@pytest.mark.parametrize("user", ["user", "root"])
def test_no_path_leads_to_the_host(sandbox, marker, prefix, user):
    run(sandbox, "ln -s / way-out; ln -s ../../../../../../.. way-up")
    path = f"{prefix}{marker}"
    for call in (sandbox.files.read, sandbox.files.get_info):
        with pytest.raises(Exception) as caught:
            call(path, user=user)
        assert "host secret" not in str(caught.value)
    try:
        sandbox.files.write(path, "overwritten", user=user)
        sandbox.files.remove(path, user=user)
    except SandboxException:
        pass
    assert marker.read_text() == "host secret"


def test_climbing_stays_inside(sandbox):
    sandbox.files.write("../../../etc/cron.d/from-the-sandbox", "x", user="root")
    assert sandbox.files.exists("/etc/cron.d/from-the-sandbox")
    assert not Path("/etc/cron.d/from-the-sandbox").exists()
    assert sandbox.files.read("../../etc/passwd") == run(sandbox, "cat /etc/passwd") + "\n"


def test_a_race_of_links_stays_inside(sandbox, marker):
    swap = "import os\nos.makedirs('race/dir', exist_ok=True)\nos.symlink('/', 'race/link')\nwhile True:\n    os.rename('race/dir', 'race/x'); os.rename('race/link', 'race/dir'); os.rename('race/x', 'race/link')"
    handle = sandbox.commands.run(f'python3 -c "{swap}"', background=True)
    for _ in range(100):
        try:
            assert "host secret" not in sandbox.files.read(f"race/dir{marker}")
        except SandboxException:
            continue
    handle.kill()
    assert marker.read_text() == "host secret"
