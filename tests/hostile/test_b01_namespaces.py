"""B1. A new user namespace makes its creator root of it, and the kernel's code for root is where most escapes lie."""

import json

import pytest

from calls import refused
from programs import python, shell

CALLS = {
    "unshare user": (272, 0x10000000),
    "unshare mount": (272, 0x20000),
    "unshare net": (272, 0x40000000),
    "unshare pid": (272, 0x20000000),
    "unshare ipc": (272, 0x8000000),
    "unshare uts": (272, 0x4000000),
    "unshare cgroup": (272, 0x2000000),
    "unshare time": (272, 0x80),
    "unshare with high bits": (272, 0x1_1000_0000),
    "clone user": (56, 0x10000011, 0, 0, 0, 0),
    "clone mount": (56, 0x20011, 0, 0, 0, 0),
    "clone3": (435, 0, 88),
    "setns": (308, 0, 0x10000000),
}


def test_no_namespace_can_be_made_or_joined(sandbox, trial, who):
    trial.saw = refused(sandbox, CALLS, who)


def test_the_usual_tools_say_so(sandbox, trial, who):
    for tool in ("unshare -Ur true", "unshare -m true", "nsenter -t 1 -a true", "nsenter -t 1 -U true"):
        assert "ran" not in shell(sandbox, f"{tool} 2>&1 && echo ran", who), tool
    trial.saw = "unshare and nsenter fail"


def test_the_kernels_own_count_is_zero(sandbox, trial, who):
    """The second fence: were the filter gone, there would still be room for none."""
    kinds = "user mnt net pid ipc uts cgroup time".split()
    paths = " ".join(f"/proc/sys/user/max_{kind}_namespaces" for kind in kinds)
    assert shell(sandbox, f"cat {paths}", who).split() == ["0"] * len(kinds)
    trial.saw = "0 of each kind"


BWRAP = "bwrap --unshare-{user,pid,net,ipc,uts} --dev-bind / / --tmpfs /home --hostname inner"


@pytest.fixture
def opened(template, create):
    """A sandbox of a template whose recipe says `walls.nested_user_namespaces`."""
    return create(template=template("nested"))


def test_a_template_can_open_them(opened, trial, who):
    """What browsers and bubblewrap need: a namespace of each kind, a mount table of one's own, a new root."""
    said = shell(opened, f"{BWRAP} sh -c 'id -u; hostname; ls -A /home | wc -l; echo $$'", who).split()
    assert said == ["1000" if who == "user" else "0", "inner", "0", "2"]
    said = shell(opened, "unshare -Urmn sh -c 'mount -t tmpfs x /mnt && touch /mnt/a && ls /mnt && id -u'", who)
    assert said.split() == ["a", "0"]
    assert shell(opened, "ls -A /mnt; hostname", who).split() == [opened.sandbox_id]
    trial.saw = "bubblewrap and unshare work"


#: What a root of its own namespace inside may try against the walls around it.
ATTACKS = """
mount -t proc x /mnt
mount -t sysfs x /mnt
mount -t cgroup2 x /mnt
mount -t cgroup -o memory x /mnt
unshare -C mount -t cgroup2 x /mnt
mount -t debugfs x /mnt
mount -o remount,bind,rw /proc/sys
mount -o remount,bind,rw /sys/fs/cgroup
umount /proc/sys
umount -l /proc
umount -l /sys
mknod /tmp/null c 1 3
sysctl -w kernel.core_pattern=x
sysctl -w user.max_user_namespaces=100
ip link add type dummy
date -s 2000-01-01
cat /proc/1/environ
cat /proc/kcore
chroot /proc/1/root true
"""

#: These look for PID 1 by number, which in a pid namespace of one's own is oneself.
JOINS = ["nsenter -t 1 -a true", "nsenter -t 1 -m true", "nsenter -t 1 -U true", "nsenter -t 1 -n true"]


def test_opened_namespaces_open_nothing_else(opened, trial, who):
    """Full capabilities over a namespace of one's own are none over the sandbox's: locked mounts, its network, PID 1."""
    attacks = [("-Urmnpf", attack) for attack in ATTACKS.strip().splitlines()] + [("-Urmn", join) for join in JOINS]
    for flags, attack in attacks:
        said = shell(opened, f"unshare {flags} sh -c '{attack} 2>&1 && echo RAN'", who)
        assert "RAN" not in said, f"{attack}: {said}"
    closed = {"clone3": CALLS["clone3"], "bpf": (321, 0, 0, 0), "io_uring": (425, 8, 0), "keyctl": (250, 0, 0)}
    closed |= {"userfaultfd": (323, 0), "perf": (298, 0, 0, -1, -1, 0), "fsopen": (430, 0, 0)}
    trial.saw = f"{len(attacks)} attacks failed; {refused(opened, closed, who)}"


def test_opened_namespaces_are_counted(opened, trial, who):
    """A loop that makes them meets a ceiling, as every loop must."""
    source = """
seen["words"] = []
for _ in range(100):
    out, into = os.pipe()
    if os.fork() == 0:
        os.write(into, call(272, 0x10000000).encode())
        signal.pause()
    seen["words"].append(os.read(out, 20).decode())
say()
os.killpg(0, 9)
"""
    words = json.loads(shell(opened, f"setsid -w {python(source)}; true", who).splitlines()[0])["words"]
    assert set(words) == {"OK", "ENOSPC"} and words.count("OK") <= 64, words
    trial.saw = f"{words.count('OK')} at once, then ENOSPC"
