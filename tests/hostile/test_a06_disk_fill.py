"""A6. One sandbox must not fill the disk of all, neither with bytes nor with the inodes that byte quotas forget."""

import os

import pytest

from programs import probe, shell

SMALL = 64  # MiB: to fill the default of 5 GiB takes a minute; HOOD_FULL=1 does


@pytest.fixture
def box(sized, create):
    return create() if os.environ.get("HOOD_FULL") else sized(diskMB=SMALL)


def test_one_big_file(box, trial, who):
    most = (5 << 30) if os.environ.get("HOOD_FULL") else SMALL << 20
    said = shell(box, "dd if=/dev/zero of=/tmp/big bs=1M 2>&1; stat -c %s /tmp/big", who, timeout=240)
    assert "exceeded" in said or "No space" in said
    assert int(said.split()[-1]) <= most
    # At the limit one can still clean up and go on.
    assert shell(box, "rm /tmp/big; sync; echo x > /tmp/y && echo wrote", who) == "wrote\n"
    trial.saw = f"stopped at {int(said.split()[-1]) >> 20} MiB"


@pytest.mark.slow
def test_many_small_files(sized, trial, who):
    found = probe(sized(diskMB=16), """
os.mkdir("/tmp/many")
for n in range(500_000):
    if (why := attempt(lambda: os.close(os.open(f"/tmp/many/{n}", os.O_CREAT)))) != "OK":
        seen["why"], seen["n"] = why, n
        break
""", who, timeout=120)  # fmt: skip
    assert found.get("why") in ("EDQUOT", "ENOSPC")
    trial.saw = f"{found['why']} after {found['n']} empty files in 16 MiB"


def test_the_hosts_disk_loses_no_more_than_the_quota(box, trial, who):
    """A layer may lie in a sparse image: what is written inside becomes blocks outside, and no more than that."""
    data_dir = trial.laboratory.premises.data_dir
    before = os.statvfs(data_dir)
    shell(
        box,
        "for d in /tmp /home/user /var/tmp; do dd if=/dev/zero of=$d/x bs=1M; done 2>/dev/null; sync",
        who,
        timeout=240,
    )
    lost = (before.f_bavail - os.statvfs(data_dir).f_bavail) * before.f_frsize
    # Twice: metadata, and blocks that the image keeps until they are discarded.
    if not os.environ.get("HOOD_FULL"):
        assert lost <= (2 * SMALL << 20) + (256 << 20), "256 MiB are for what else goes on"
    trial.saw = f"{max(0, lost) >> 20} MiB of the host's disk"
