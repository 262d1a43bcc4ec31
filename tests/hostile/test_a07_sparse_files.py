"""A7. An exabyte of holes is free; an exabyte of promises must be refused."""

from programs import probe

SPARSE = """
fd = os.open("/tmp/sparse", os.O_CREAT | os.O_RDWR)
seen["truncate"] = attempt(os.ftruncate, fd, 1 << 60)
seen["blocks"] = os.fstat(fd).st_blocks
seen["allocate"] = attempt(os.posix_fallocate, fd, 0, 1 << 40)
seen["keep size"] = call(285, fd, 1, 0, 1 << 40)
os.unlink("/tmp/sparse")
"""


def test_holes_are_free_and_promises_refused(sandbox, trial, who):
    found = probe(sandbox, SPARSE, who)
    assert found["blocks"] == 0
    assert {found["allocate"], found["keep size"]} <= {"EDQUOT", "ENOSPC", "EOPNOTSUPP"}
    trial.saw = f"1 EiB of holes: 0 blocks; 1 TiB promised: {found['allocate']}"
