"""A8. A forgotten writable mount is a disk without a limit."""

from programs import shell

TRY = """
for d in $(awk '{print $5}' /proc/self/mountinfo | sort -u); do
    (: > $d/.w) 2>/dev/null && { echo $d; rm $d/.w; }
done
"""
KNOWN = {"/": "A6", "/run": "A5", "/dev/shm": "A5", "/dev/mqueue": "its own limit: A10"}


def test_no_mount_is_writable_but_the_known_ones(sandbox, trial, who):
    writable = set(shell(sandbox, TRY, who).split())
    assert writable <= set(KNOWN), "each of them must be one whose limit a test fills"
    trial.saw = " ".join(sorted(writable))
