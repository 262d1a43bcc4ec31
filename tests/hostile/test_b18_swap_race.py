"""B18. Swapping a directory and a link in a loop is how a check of a name and its use come apart."""

import time

import pytest
from e2b import SandboxException

from programs import answers, built, shell

OUT = "/proc/self/fd/4/../../../../../../tmp"


@pytest.mark.parametrize("target", [OUT, "/proc/1/root/etc", "../../../../../../../../etc"])
def test_reads_and_writes_stay_inside(sandbox, trial, who, target):
    program = built(sandbox, "b18_swap")
    shell(sandbox, f"mkdir -p /tmp/swap/a; ln -sfn {target} /tmp/swap/b; echo inside > /tmp/swap/a/hostname", who)
    swap = sandbox.commands.run(f"{program} /tmp/swap/a /tmp/swap/b 6", user=who, background=True)
    read, refused, end = 0, 0, time.monotonic() + 3
    while time.monotonic() < end:
        for act in (lambda: sandbox.files.read("/tmp/swap/a/hostname", user=who), lambda: write(sandbox, who)):
            try:
                said = act()
                assert said in ("inside\n", "", "written", f"{sandbox.sandbox_id}\n"), said
                read += 1
            except SandboxException:
                refused += 1
    for list_ in (sandbox.files.list, sandbox.files.exists, sandbox.files.get_info):
        try:
            list_("/tmp/swap/a", user=who)
        except SandboxException:
            refused += 1
    swap.kill()
    assert answers(sandbox)
    trial.saw = f"{read} answered from inside, {refused} refused"


def write(sandbox, who):
    sandbox.files.write("/tmp/swap/a/new", "written", user=who)
    return "written"


def test_removal_stays_inside(sandbox, trial, who):
    """A recursive removal that follows a link removes another tree; here the tree with the account's own files."""
    program = built(sandbox, "b18_swap")
    shell(
        sandbox,
        "mkdir -p /tmp/keep/deep /tmp/swap; for i in $(seq 50); do echo x > /tmp/keep/deep/$i; done; ln -sfn /tmp/keep /tmp/swap/b",
        who,
    )
    swap = sandbox.commands.run(f"{program} /tmp/swap/a /tmp/swap/b 8", user=who, background=True)
    removed = 0
    for _ in range(40):
        shell(sandbox, "mkdir -p /tmp/swap/a/deep; touch /tmp/swap/a/deep/1 2>/dev/null", who)
        try:
            sandbox.files.remove("/tmp/swap/a", user=who)
            removed += 1
        except SandboxException:
            pass
        shell(sandbox, "test -L /tmp/swap/b || ln -sfn /tmp/keep /tmp/swap/b", who)
    swap.kill()
    assert int(shell(sandbox, "ls /tmp/keep/deep | wc -l")) == 50
    trial.saw = f"{removed} removals, nothing behind the link"
