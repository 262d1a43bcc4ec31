"""C1. Names that are none were, somewhere, a crash, a hang or a write to the wrong place."""

import pytest
from e2b import SandboxException

from programs import answers, shell

NO_FILES = ["a\0b", "x" * 5000, "/tmp/directory/", "~", "", "/", ".", "..", "/tmp", "/dev/null", "/proc/self/fd/1",
            "/proc/sys/kernel/core_pattern", "/sys/x", "/proc/self/exe", "/tmp/" + "x" * 300,
            "/".join(["d"] * 3000)]  # fmt: skip
DOTS = ["../../../../../../tmp/up", "/proc/1/root/tmp/up", "a/../../../../../tmp/up", "/proc/self/root/tmp/up",
        "/proc/self/cwd/../../../../tmp/up"]  # fmt: skip


def test_names_that_are_no_files_are_refused(sandbox, trial, who):
    said = set()
    for path in NO_FILES:
        with pytest.raises(SandboxException) as caught:
            sandbox.files.write(path, b"x", user=who)
            raise AssertionError(path)
        said.add(type(caught.value).__name__)
    assert answers(sandbox)
    trial.saw = ", ".join(sorted(said))


def test_dots_end_at_the_sandboxs_root(sandbox, trial, who):
    """The host's root lies where the dots would lead if the walls were only names."""
    refused = 0
    for path in DOTS:
        shell(sandbox, "rm -f /tmp/up", "root")
        try:
            sandbox.files.write(path, b"inside", user=who)
            assert shell(sandbox, "cat /tmp/up", "root") == "inside"
        except SandboxException:
            refused += 1
    trial.saw = f"{refused} of {len(DOTS)} refused, the others inside"


def test_what_only_the_guest_may_nobody_may_through_the_api(sandbox, trial, who):
    """The API's files are its user's, root's at most, and the guest holds more than that."""
    for name in ("environ", "mem", "fd/3", "fd/4"):
        for path in (f"/proc/1/{name}", f"/proc/self/{name}", f"/proc/2/{name}"):
            with pytest.raises(SandboxException):
                assert sandbox.files.read(path, format="bytes", user=who) == b"", path
                raise SandboxException("empty")
            with pytest.raises(SandboxException):
                sandbox.files.write(path, b"x", user=who)
    trial.saw = "refused or empty"


@pytest.mark.parametrize("name", ["maps", "auxv", "smaps", "syscall"])
def test_the_guests_layout_does_not_show(sandbox, trial, who, name):
    """Inside, `/proc/1/maps` is refused, though the kernel would let the guest: it is what an attack on PID 1 needs."""
    for pid in ("1", "self", "2"):
        with pytest.raises(SandboxException):
            assert sandbox.files.read(f"/proc/{pid}/{name}", format="bytes", user=who) == b"", name
            raise SandboxException("empty")
    trial.saw = "refused or empty"


def test_the_user_reads_and_writes_what_it_may_itself(sandbox, trial):
    """The guest is root, and a link in a home directory leads it where its owner may not go."""
    shell(sandbox, "ln -s /etc/shadow stolen; ln -s /root/planted planted; ln -s /etc/sudoers.d/mine rule")
    shell(sandbox, "printf root > /root/planted; printf root > /tmp/of-root; chmod 644 /tmp/of-root", "root")
    files = sandbox.files
    for attempt in (
        lambda: files.read("stolen"),
        lambda: files.read("/etc/shadow"),
        lambda: files.list("/root"),
        lambda: files.write("planted", "user"),
        lambda: files.write("rule", "user ALL=(ALL) NOPASSWD: ALL"),
        lambda: files.write("/tmp/of-root", "user"),
        lambda: files.remove("/tmp/of-root"),
        lambda: files.rename("/etc/hostname", "/home/user/hostname"),
        lambda: files.make_dir("/etc/user"),
        lambda: files.watch_dir("/root"),
    ):
        with pytest.raises(SandboxException):
            attempt()
            raise AssertionError("the guest did it")
    assert shell(sandbox, "cat /root/planted /tmp/of-root; ls /etc/sudoers.d/mine", "root").startswith("rootroot")
    assert "root:" in files.read("/etc/shadow", user="root")
    trial.saw = "refused to the user, open to root"
