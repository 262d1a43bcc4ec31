"""B1. A new user namespace makes its creator root of it, and the kernel's code for root is where most escapes lie."""

from calls import refused
from programs import shell

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
