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


def test_no_directory_below_them_is_on_another_file_system(sandbox, trial, who):
    """What is no mount point in `mountinfo` cannot have a size of its own; a device number tells."""
    find = "find / -xdev -type d -writable 2>/dev/null | xargs -r stat -c %d | sort -u | wc -l"
    assert int(shell(sandbox, find, who)) == 1
    trial.saw = "one device"
