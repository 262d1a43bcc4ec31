"""C10. Attributes, access lists, flags, holes and hard links: metadata that outlives a check of the name."""

import pytest
from e2b import SandboxException

from programs import answers, probe, shell


def test_extended_attributes(sandbox, trial, who):
    """Own ones work and cost disk; those that mean something to the kernel are refused, or mean it inside only."""
    found = probe(sandbox, """
open("/tmp/x", "w").close()
seen["user"] = attempt(os.setxattr, "/tmp/x", "user.a", b"b" * 1000)
seen["trusted"] = attempt(os.setxattr, "/tmp/x", "trusted.a", b"b")
seen["selinux"] = attempt(os.setxattr, "/tmp/x", "security.selinux", b"b")
seen["evm"] = attempt(os.setxattr, "/tmp/x", "security.evm", b"b")
n = 0
while n < 100_000 and attempt(os.setxattr, "/tmp/x", f"user.n{n}", b"b" * 200) == "OK": n += 1
seen["n"] = n
""", who, timeout=90)  # fmt: skip
    assert found["user"] == "OK"
    assert "OK" not in (found["trusted"], found["evm"])
    trial.saw = f"{found['n']} attributes on one file; security.selinux: {found['selinux']}"
    assert sandbox.files.read("/tmp/x", user=who) == ""


def test_flags_do_not_bind_the_owner_for_ever(sandbox, trial, who):
    """An immutable file would survive the sandbox's removal (the trial looks for what is left)."""
    found = probe(sandbox, """
import fcntl, struct
fd = os.open("/tmp/fixed", os.O_CREAT | os.O_RDWR)
for name, flag in (("immutable", 0x10), ("append", 0x20), ("no dump", 0x40)):
    seen[name] = attempt(fcntl.ioctl, fd, 0x40086602, struct.pack("l", flag))
""", who)  # fmt: skip
    assert found["immutable"] != "OK" and found["append"] != "OK"
    trial.saw = str(found)


def test_hard_links_to_what_is_protected(sandbox, trial, who):
    """A second name in one's own directory would outlast the protection of the first one's."""
    found = probe(sandbox, """
seen["shadow"] = attempt(os.link, "/etc/shadow", "/tmp/shadow")
seen["sudo"] = attempt(os.link, "/usr/bin/sudo", "/tmp/sudo")
seen["null"] = attempt(os.link, "/dev/null", "/tmp/null")
seen["proc"] = attempt(os.link, "/proc/1/environ", "/tmp/environ")
""", who)  # fmt: skip
    assert found["null"] == found["proc"] == "EXDEV"
    if who == "user":
        # Whatever the host's `protected_hardlinks` allows, the rights stay those of the file.
        with pytest.raises(SandboxException):
            sandbox.files.read("/tmp/shadow", user="user")
    trial.saw = str(found)


def test_access_lists_and_holes_through_the_api(sandbox, trial, who):
    shell(sandbox, "truncate -s 5M /tmp/holes; echo x >> /tmp/holes; chmod 000 /tmp/holes; chmod 644 /tmp/holes", who)
    assert len(sandbox.files.read("/tmp/holes", format="bytes", user=who)) == (5 << 20) + 2
    acl = "system.posix_acl_access"
    found = probe(sandbox, f"seen['acl'] = attempt(os.setxattr, '/tmp/holes', {acl!r}, b'\\2\\0\\0\\0')", who)
    assert answers(sandbox)
    trial.saw = f"holes read as zeros; an empty access list: {found['acl']}"
