"""Group C: names and files meant to lead the files API astray. It works inside the sandbox, so inside it must end."""

import time

import pytest
from e2b import SandboxException
from programs import answers, shell


@pytest.fixture(scope="module")
def box():
    """One sandbox for all of them."""
    from e2b import Sandbox

    sandbox = Sandbox.create(timeout=600)
    yield sandbox
    sandbox.kill()


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "/tmp/directory/", "~", "", "/dev/null", "/proc/self/fd/1",
                                  "/proc/sys/kernel/core_pattern", "/sys/x", "/proc/self/exe"])  # fmt: skip
def test_C1_names_that_are_no_files_are_refused(box, path):
    """Each was, somewhere, a crash, a hang or a write to the wrong place."""
    with pytest.raises(SandboxException):
        box.files.write(path, b"x")


@pytest.mark.parametrize("path", ["../../../../../../tmp/up", "/proc/1/root/tmp/up", "a/../../../../../tmp/up"])
def test_C1_dots_end_at_the_sandboxs_root(box, path):
    """The host's root lies where the dots would lead if the walls were only names."""
    shell(box, "rm -f /tmp/up", "root")
    try:
        box.files.write(path, b"inside")
    except SandboxException:
        return
    assert shell(box, "cat /tmp/up", "root") == "inside"


@pytest.mark.parametrize("name", ["a b", "\U0001f525", "\u202egnp.exe", "new\nline", "-rf", "%2e%2e%2fetc", "'\"$(id)`id`", "*"])
def test_C2_names_come_back_as_they_went(box, name):
    """Quoting on the way would make two files of one, or run one."""
    path = f"/tmp/names/{name}"
    box.files.write(path, name)
    assert box.files.read(path) == name
    assert name in [entry.name for entry in box.files.list("/tmp/names")]
    box.files.remove(path)
    assert not box.files.exists(path)


def test_C2_bytes_that_are_no_text_do_not_break_a_listing(box):
    """A file system takes any bytes as a name; JSON does not."""
    shell(box, "mkdir -p /tmp/odd; touch $'/tmp/odd/\\xff\\xfe' /tmp/odd/plain")
    assert "plain" in [entry.name for entry in box.files.list("/tmp/odd")]


def test_C3_planted_links_lead_nowhere_new(box):
    """What a link names is inside, whoever follows it; what a link is, is what gets removed."""
    shell(box, "ln -sfn / /tmp/root; ln -sfn /tmp/loop /tmp/loop; ln -sfn /proc/1/root/etc /tmp/other")
    inside = shell(box, "cat /etc/hostname").strip()
    assert box.files.read("/tmp/root/etc/hostname").strip() == inside
    with pytest.raises(SandboxException):
        box.files.read("/tmp/loop")
    before = shell(box, "ls /etc | wc -l")
    box.files.remove("/tmp/root")
    assert shell(box, "ls /etc | wc -l; test -e /tmp/root || echo gone") == before + "gone\n"


@pytest.mark.parametrize("path", ["/proc/1/environ", "/proc/1/mem", "/proc/self/mem", "/proc/kmsg", "/dev/zero", "/dev/tty",
                                  "/dev/ptmx", "/proc/self/fd/3", "/proc/self/fd/4/cgroup.procs/x"])  # fmt: skip
def test_C4_what_is_no_file_is_not_read(box, path):
    """An endless device, a terminal, the guest's own memory: no bytes, and an answer at once."""
    began = time.monotonic()
    try:
        assert box.files.read(path, format="bytes", user="root", request_timeout=8) == b""
    except SandboxException:
        pass
    assert time.monotonic() - began < 5


def test_C4_a_fifo_makes_nobody_wait(box):
    """Opening one blocks until somebody opens the other end."""
    shell(box, "rm -f /tmp/fifo; mkfifo /tmp/fifo")
    for attempt in (lambda: box.files.read("/tmp/fifo", request_timeout=8), lambda: box.files.write("/tmp/fifo", "x")):
        began = time.monotonic()
        with pytest.raises(SandboxException):
            attempt()
        assert time.monotonic() - began < 5
    assert answers(box)


def test_B18_a_directory_that_turns_into_a_link_stays_inside(sandbox):
    """Swapping the two in a loop is how a check of the name and its use come apart."""
    shell(sandbox, "mkdir -p /tmp/swap/a /tmp/swap/target; ln -s /proc/self/fd/4/../../../../../../tmp /tmp/swap/b;"
                   " echo inside > /tmp/swap/a/hostname")  # fmt: skip
    swap = (
        "python3 -c \"import ctypes; c = ctypes.CDLL(None).renameat2\nfor _ in range(10**7):"
        " c(-100, b'/tmp/swap/a', -100, b'/tmp/swap/b', 2)\""
    )
    handle = sandbox.commands.run(swap, background=True)
    for _ in range(100):
        try:
            assert sandbox.files.read("/tmp/swap/a/hostname") in ("inside\n", "")
        except SandboxException:
            continue
    handle.kill()
    assert answers(sandbox)
