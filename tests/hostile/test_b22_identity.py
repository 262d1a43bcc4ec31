"""B22. Paths, names and ids of the host tell where to dig, and which sandboxes share a machine."""

import os
import re
import socket
from pathlib import Path

import pytest

from programs import shell

ASK = """cat /proc/self/mountinfo /proc/self/mounts /proc/self/mountstats /proc/self/cgroup /proc/1/cgroup
cat /proc/sys/kernel/random/boot_id /etc/machine-id /etc/hostname /proc/sys/kernel/hostname /proc/sys/kernel/domainname
env; ls -l /proc/self/fd; cat /proc/cmdline; df -a; df -h /; mount; findmnt; uname -n; hostname
cat /sys/class/dmi/id/* /proc/self/environ /proc/self/smaps /proc/filesystems; ls /sys /sys/fs /sys/devices
cat /proc/net/route /proc/net/arp /proc/net/unix /proc/net/dev; cat /etc/resolv.conf /etc/hosts"""


def host_names():
    """What only the host is called, or has."""
    names = [Path(path).read_text().strip() for path in ("/proc/sys/kernel/random/boot_id",)]
    names += [socket.gethostname()] if len(socket.gethostname()) > 5 else []
    names += [text for path in ("/etc/machine-id", "/sys/class/dmi/id/product_uuid") if (text := read(path))]
    return names


def read(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def test_nothing_names_the_host(interpreter, trial, who):
    said = shell(interpreter, f"({ASK}) 2>/dev/null; true", who)
    for secret in [*host_names(), os.environ["HOOD_DATA_DIR"], "hood-data", "writable", "/var/", "hood-", "/dev/loop"]:
        assert secret not in said.replace("hood-guest", ""), secret
    for line in said.splitlines():
        if re.match(r"\d+:[a-z_,=]*:/", line):
            assert re.fullmatch(r"\d+:[a-z_,=]*:(/c-\d+)?/?", line), line
    listed = [(entry.name, entry.symlink_target) for entry in interpreter.files.list("/proc/self/fd", user=who)]
    assert not [target for _, target in listed if target and "hood" in target]
    trial.saw = f"{len(said.splitlines())} lines name nothing of the host"


@pytest.mark.xfail(reason="btrfs answers statfs for the whole file system of all writable layers", strict=False)
def test_df_shows_the_sandboxs_disk(sandbox, trial, who):
    """Size and use of the host's disk would tell what the others do, and where a limit is not."""
    said = shell(sandbox, "df -B1 --output=source,size,used / | tail -1", who).split()
    assert said[0] in ("overlay", "none", "root")
    trial.saw = f"{int(said[1]) >> 20} MiB, {int(said[2]) >> 20} used"
    assert int(said[1]) <= 5 << 30, "the size of the sandbox's own disk, not of what it lies on"


def test_two_sandboxes_look_unrelated(create, trial, who):
    """Ids made fresh for each; what is left in common is the kernel's and the processor's."""
    ask = "cat /etc/machine-id /proc/sys/kernel/random/boot_id /etc/hostname"
    first, second = shell(create(), ask, who).split(), shell(create(), ask, who).split()
    assert len(first) == len(second) == 3
    assert not set(first) & set(second)
    trial.saw = "machine id, boot id and name differ"
