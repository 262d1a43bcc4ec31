"""A5. A tmpfs without a size, or one that nobody pays for, is the host's memory."""

import pytest

from programs import answers, python, shell


@pytest.mark.parametrize("where", ["/dev/shm", "/run", "memfd"])
def test_filling_stops(sandbox, trial, who, where):
    opened = 'os.memfd_create("x")' if where == "memfd" else f'os.open("{where}/x", os.O_CREAT | os.O_WRONLY)'
    fill = f"fd = {opened}\nfor n in range(1, 2049): os.write(fd, b'x' * (16 << 20)); print(n, flush=True)"
    said = shell(sandbox, python(fill) + "; echo status $?", who, timeout=120)
    lines = said.splitlines()
    if where == "/run" and who == "user":
        assert "PermissionError" in said
    else:
        assert "status 0" not in said
        # Never more than the sandbox's memory (1 GiB).
        assert len([line for line in lines if line.isdigit()]) <= 64
    shell(sandbox, f"rm -f {where}/x", who)
    assert answers(sandbox)
    trial.saw = next((line for line in reversed(lines) if "Error" in line or "status" in line), "")


def test_many_empty_files_of_memory(sandbox, trial, who):
    """An inode of tmpfs is a kilobyte of the kernel's memory, whatever the file holds."""
    source = (
        'n = 0\ntry:\n    while n < 3_000_000:\n        os.close(os.open(f"/dev/shm/{n}", os.O_CREAT)); n += 1\n'
        "except OSError as error: print(errno.errorcode[error.errno], n)"
    )
    said = shell(sandbox, python(source) + "; echo status $?", who, timeout=90)
    assert "ENOSPC" in said or "status 137" in said
    assert answers(sandbox)
    trial.saw = said.splitlines()[0]
