"""B22. Paths, names and ids of the host tell where to dig, and which sandboxes share a machine."""

import os
import re
import socket
from pathlib import Path

import pytest
from e2b import SandboxException

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
    with pytest.raises(SandboxException):
        interpreter.files.list("/proc/self/fd", user=who)
        raise AssertionError("the guest's descriptors")
    trial.saw = f"{len(said.splitlines())} lines name nothing of the host"


def test_df_shows_the_pool_and_names_nothing(sandbox, trial, who):
    """An overlay passes the question on to its upper layer, and btrfs answers it for the whole file system: of one quota
    group it has no words. So size and use are those of all writable layers together (SECURITY.md says so); where that
    file system lies does not show, and the sandbox's own limit holds all the same (A6).
    """
    source, size, used, kind = shell(sandbox, "df -B1 --output=source,size,used,fstype / | tail -1", who).split()
    assert (source in ("overlay", "none", "root"), kind) == (True, "overlay")
    trial.saw = f"the pool's {int(size) >> 20} MiB, {int(used) >> 20} used"


def test_two_sandboxes_look_unrelated(create, trial, who):
    """Ids made fresh for each; what is left in common is the kernel's and the processor's."""
    ask = "cat /etc/machine-id /proc/sys/kernel/random/boot_id /etc/hostname"
    first, second = shell(create(), ask, who).split(), shell(create(), ask, who).split()
    assert len(first) == len(second) == 3
    assert not set(first) & set(second)
    trial.saw = "machine id, boot id and name differ"
