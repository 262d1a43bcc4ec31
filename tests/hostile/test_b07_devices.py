"""B7. A device node is a door in the wall: to memory, disks, the hypervisor. Whoever can make one needs no other way."""

from programs import probe

ABSENT = """/dev/mem /dev/kmem /dev/port /dev/kvm /dev/fuse /dev/loop0 /dev/loop-control /dev/net/tun /dev/vsock /dev/console
/dev/kmsg /dev/sda /dev/vda /dev/nvme0 /dev/hpet /dev/cuse /dev/vhost-net /dev/btrfs-control /dev/mapper/control
/dev/uinput /dev/input /dev/snd /dev/dri /dev/rtc0 /dev/watchdog"""
PRESENT = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "mqueue", "fd", "stdin", "stdout",
           "stderr", "core"}  # fmt: skip


def test_none_can_be_opened_or_made(sandbox, trial, who):
    found = probe(sandbox, f"""
for path in {ABSENT!r}.split():
    seen[path] = attempt(os.open, path, os.O_RDWR)
for place in ("/tmp", "/dev/shm", "/run", "/home/user"):
    for kind in (0o60600, 0o20600):
        for device in (os.makedev(1, 1), os.makedev(7, 0), os.makedev(10, 229), os.makedev(254, 0)):
            seen[f"{{place}} {{kind:o}} {{device}}"] = attempt(os.mknod, place + "/node", kind, device)
""", who)  # fmt: skip
    # The character device 0:0 may be made by anybody, on a tmpfs: it is no device but the name for a deleted file.
    assert {what: said for what, said in found.items() if said not in ("ENOENT", "EPERM", "EACCES")} == {}
    trial.saw = f"{len(found)} attempts refused"


def test_dev_holds_nothing_else_and_cannot_be_changed(sandbox, trial, who):
    found = probe(sandbox, """
seen["names"] = os.listdir("/dev")
seen["create"] = attempt(os.open, "/dev/new", os.O_CREAT | os.O_WRONLY)
seen["unlink"] = attempt(os.unlink, "/dev/null")
seen["rename"] = attempt(os.rename, "/dev/null", "/dev/other")
seen["link"] = attempt(os.symlink, "/proc/kcore", "/dev/zero2")
seen["chmod"] = attempt(os.chmod, "/dev/null", 0o600)
""", who)  # fmt: skip
    assert set(found.pop("names")) <= PRESENT
    assert "OK" not in found.values()
    trial.saw = ", ".join(sorted(set(found.values())))
