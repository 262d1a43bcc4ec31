"""A14. A piped core handler of the host runs as the host's root; only a core limit of 1 that stays keeps it from that."""

from pathlib import Path

import pytest

from programs import probe, shell, until

CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")


def test_the_limit_stays_at_one(sandbox, trial, who):
    found = probe(sandbox, """
for limits in ((0, 0), (resource.RLIM_INFINITY,) * 2):
    seen[str(limits)] = attempt(resource.setrlimit, resource.RLIMIT_CORE, limits)
seen["raw"] = call(160, 4, ctypes.byref((ctypes.c_ulong * 2)(0, 0)))
seen["prlimit"] = call(302, 0, 4, ctypes.byref((ctypes.c_ulong * 2)(0, 0)), 0)
seen["limit"] = resource.getrlimit(resource.RLIMIT_CORE)
""", who)  # fmt: skip
    assert found.pop("limit") == [1, 1]
    # Pretended, so that `ulimit -c 0` in everybody's scripts goes on working.
    assert set(found.values()) == {"OK"}
    trial.saw = "changes pretended, 1 stays"


def test_a_crash_leaves_no_core(sandbox, trial, who):
    crash = "x = bytearray(200 << 20); import os; os.kill(os.getpid(), 11)"
    shell(sandbox, f"mkdir -p /tmp/c; cd /tmp/c; ulimit -c unlimited; python3 -c '{crash}'; sh -c 'kill -SEGV $$'", who)
    assert shell(sandbox, "ls -A /tmp/c", who) == ""
    trial.saw = "no file"


@pytest.mark.skipif(not CORE_PATTERN.exists(), reason="the kernel has no core dumps")
def test_a_handler_of_the_host_is_not_run(sandbox, trial, who, tmp_path, laboratory):
    """The host's pattern is set for the length of one crash, to a handler that would leave a mark."""
    mark, handler = tmp_path / "ran", tmp_path / "handler"
    handler.write_text(f"#!/bin/sh\ncat > /dev/null\ntouch {mark}\n")
    handler.chmod(0o755)
    kept = CORE_PATTERN.read_text()
    CORE_PATTERN.write_text(f"|{handler}")
    try:
        for limit in ("", "ulimit -c 0; ", "ulimit -c unlimited; "):
            shell(sandbox, f"{limit}sh -c 'kill -SEGV $$'", who)
        # That the handler works at all is shown by a crash outside.
        assert not until(mark.exists, 1)
        import subprocess

        subprocess.run(["sh", "-c", "ulimit -c unlimited; kill -SEGV $$"], cwd=tmp_path)
        assert until(mark.exists, 5), "the handler does not run for the host either: this test shows nothing"
    finally:
        CORE_PATTERN.write_text(kept)
    trial.saw = "the host's handler ran for the host's crash only"
