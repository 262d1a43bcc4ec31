"""B3. `release_agent` is a program that the host runs as its root; one's own limits are one write away beside it."""

from calls import unwritable
from programs import shell

FILES = """/sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids/pids.max
/sys/fs/cgroup/pids.max /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/cgroup.subtree_control /sys/fs/cgroup/memory/tasks
/sys/fs/cgroup/memory/release_agent /sys/fs/cgroup/release_agent /sys/fs/cgroup/memory/notify_on_release
/sys/fs/cgroup/memory/cgroup.event_control /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max"""


def test_no_file_of_a_group_can_be_written(sandbox, trial, who):
    trial.saw = unwritable(sandbox, FILES, who)


def test_no_group_can_be_made_or_left(sandbox, trial, who):
    for command in ("mkdir /sys/fs/cgroup/x", "mkdir /sys/fs/cgroup/memory/x", "echo $$ > /sys/fs/cgroup/cgroup.procs"):
        assert "done" not in shell(sandbox, f"({command}) 2>&1 && echo done", who), command
    assert "release_agent" not in shell(sandbox, "ls -R /sys/fs/cgroup", who)
    trial.saw = "none made, none left, no release_agent"
