"""C3. A link planted inside must lead nowhere new, whoever follows it; and what is removed is the link."""

import pytest
from e2b import SandboxException

from programs import shell


def test_reading_listing_and_removing(sandbox, trial, who):
    shell(sandbox, "ln -sfn / /tmp/root; ln -sfn /tmp/loop /tmp/loop; ln -sfn /proc/1/root/etc /tmp/other", who)
    inside = shell(sandbox, "cat /etc/hostname").strip()
    assert sandbox.files.read("/tmp/root/etc/hostname", user=who).strip() == inside
    with pytest.raises(SandboxException):
        sandbox.files.read("/tmp/loop", user=who)
    try:
        assert sandbox.files.read("/tmp/other/hostname", user=who).strip() == inside
    except SandboxException:
        pass
    before = shell(sandbox, "ls /etc | wc -l")
    sandbox.files.remove("/tmp/root", user=who)
    assert shell(sandbox, "ls /etc | wc -l; test -e /tmp/root || echo gone") == before + "gone\n"
    trial.saw = "inside; the link is removed, its target stays"


def ways(files, door, who):
    """What the files API offers on a directory, each as a call."""
    yield lambda: files.list(door, user=who)
    yield lambda: files.read(f"{door}/cgroup.procs", user=who)
    yield lambda: files.get_info(f"{door}/cgroup.kill", user=who)
    yield lambda: files.make_dir(f"{door}/mine", user=who)
    yield lambda: files.watch_dir(door, user=who)


GUEST_FD = ("/proc/1/fd/4", "/proc/self/fd/4", "/proc/2/fd/4", "/proc/1/task/1/fd/4", "/proc/thread-self/fd/4")


@pytest.mark.parametrize("target", GUEST_FD)
def test_a_link_to_a_descriptor_of_the_guest_is_a_dead_end(sandbox, trial, who, target):
    """For itself the kernel opens every link below `/proc/1/fd`: 4 is the group's directory, to list and to make groups in.

    The guest asks the kernel to follow no such link, and does not list its own.
    """
    shell(sandbox, f"ln -sfn {target} /tmp/door", who)
    for door in ("/tmp/door", target):
        for way in ways(sandbox.files, door, who):
            with pytest.raises(SandboxException):
                way()
                raise AssertionError(door)
    trial.saw = "refused by five calls"


def test_nothing_is_made_or_written_behind_it(sandbox, trial, who):
    """Groups made there would count against the sandbox's, and a written control file would stop or end it."""
    before = shell(sandbox, "cat /proc/self/cgroup")
    for door in GUEST_FD:
        for attempt in (
            lambda: sandbox.files.make_dir(f"{door}/m", user=who),  # noqa: B023 - called at once
            lambda: sandbox.files.rename(f"{door}/cgroup.procs", "/tmp/x", user=who),  # noqa: B023
            *(
                lambda name=name: sandbox.files.write(f"{door}/{name}", "1", user=who)  # noqa: B023
                for name in ("cgroup.freeze", "cgroup.kill", "cgroup.max.descendants", "cgroup.procs", "memory.max")
            ),
        ):
            with pytest.raises(SandboxException):
                attempt()
                raise AssertionError(door)
        # Nothing is there, as far as this call can see: it removes nothing.
        try:
            sandbox.files.remove(f"{door}/c-1", user=who)
        except SandboxException:
            pass
    assert len(shell(sandbox, "cat /proc/self/cgroup")) >= len(before) - 2
    trial.saw = "nothing made, nothing written"


def test_renaming_over_and_through_links(sandbox, trial, who):
    shell(
        sandbox,
        "mkdir -p /tmp/a /tmp/b; echo x > /tmp/a/f; ln -s /etc /tmp/l; echo keep > /tmp/b/f; ln -s /tmp/b/f /tmp/a/l",
        who,
    )
    sandbox.files.write("/tmp/a/l", b"through", user=who)
    assert shell(sandbox, "cat /tmp/b/f") in ("through", "keep\n")
    sandbox.files.rename("/tmp/l", "/tmp/l2", user=who)
    assert shell(sandbox, "test -L /tmp/l2 && test -d /etc && echo link") == "link\n"
    trial.saw = "as a shell would"
