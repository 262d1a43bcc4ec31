"""B2. A mount of one's own shows what a mask hides, or hides what protects."""

from calls import refused
from programs import shell

CALLS = {
    "tmpfs": (165, b"x", b"/mnt", b"tmpfs", 0, 0),
    "proc": (165, b"x", b"/mnt", b"proc", 0, 0),
    "sysfs": (165, b"x", b"/mnt", b"sysfs", 0, 0),
    "cgroup": (165, b"x", b"/mnt", b"cgroup", 0, b"memory"),
    "cgroup2": (165, b"x", b"/mnt", b"cgroup2", 0, 0),
    "overlay": (165, b"x", b"/mnt", b"overlay", 0, b"lowerdir=/,upperdir=/tmp,workdir=/tmp"),
    "bind": (165, b"/", b"/mnt", b"", 0x1000, 0),
    "remount": (165, b"x", b"/proc/sys", 0, 0x1020, 0),
    "remount the root": (165, b"x", b"/", 0, 0x20, 0),
    "propagation": (165, b"x", b"/", 0, 0x100000, 0),
    "umount of a mask": (166, b"/proc/keys", 2),
    "umount of a read-only tree": (166, b"/proc/sys", 2),
    "pivot_root": (155, b".", b"."),
    "open_tree": (428, -100, b"/", 1),
    "move_mount": (429, -100, b"/", -100, b"/mnt", 0),
    "fsopen": (430, b"tmpfs", 0),
    "fspick": (433, -100, b"/", 0),
    "mount_setattr": (442, -100, b"/", 0, bytes(32), 32),
}


def test_nothing_can_be_mounted_or_unmounted(sandbox, trial, who):
    trial.saw = refused(sandbox, CALLS, who)


def test_the_mounts_are_the_same_afterwards(sandbox, trial, who):
    before = shell(sandbox, "cat /proc/self/mountinfo")
    shell(
        sandbox,
        "umount -l /proc/sys; umount -a; mount -o remount,rw /proc/sys; mount --bind / /mnt; mount -t proc p /mnt",
        who,
    )
    assert shell(sandbox, "cat /proc/self/mountinfo") == before
    trial.saw = "the table is unchanged"
