"""C6. Archives are read by whoever unpacks them: here that is a program inside, with the sandbox's rights and limits."""

import pytest

from programs import answers, shell


def test_no_endpoint_unpacks_archives():
    pytest.skip(
        "the API takes no archives: files go one by one; unpacking happens inside, by the sandbox's own programs"
    )


def test_a_bomb_unpacked_inside_is_a_full_disk(sized, trial, who):
    """As an agent would do it: half a megabyte that wants to be a thousand times as much."""
    sandbox = sized(diskMB=64)
    shell(sandbox, "head -c 500000000 /dev/zero | gzip > /tmp/bomb.gz", who, timeout=90)
    said = shell(sandbox, "cd /tmp; gunzip -k bomb.gz 2>&1; echo status $?", who, timeout=90)
    assert "status 0" not in said and ("No space" in said or "quota" in said.lower())
    assert answers(sandbox)
    trial.saw = said.strip().splitlines()[-2][:80]


def test_members_with_tricks_stay_inside(sandbox, trial, who):
    """Absolute names, dots, links out, devices, set-user-id bits: tar runs inside, so inside it ends."""
    make = """
import io, tarfile
with tarfile.open("/tmp/t.tar", "w") as tar:
    for name, kind, link in (("/tmp/abs", tarfile.REGTYPE, ""), ("../../../../tmp/dots", tarfile.REGTYPE, ""), ("l", tarfile.SYMTYPE, "/"),
                             ("l/tmp/through", tarfile.REGTYPE, ""), ("h", tarfile.LNKTYPE, "/etc/shadow"), ("dev", tarfile.BLKTYPE, "")):
        member = tarfile.TarInfo(name)
        member.type, member.linkname, member.mode, member.devmajor = kind, link, 0o4755, 7
        tar.addfile(member, io.BytesIO())
"""
    sandbox.files.write("/tmp/make.py", make, user=who)
    shell(sandbox, "python3 /tmp/make.py; mkdir -p /tmp/x; cd /tmp/x; tar -xPf ../t.tar", who)
    assert shell(sandbox, "find / -xdev -type b 2>/dev/null") == ""
    assert answers(sandbox)
    trial.saw = "no device, nothing outside"
