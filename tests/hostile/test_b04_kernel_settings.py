"""B4. `core_pattern` and `modprobe` name programs that the kernel runs as the host's root; `sysrq-trigger` is a reboot."""

from calls import unwritable
from programs import probe

FILES = """/proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/hotplug /proc/sys/kernel/ns_last_pid
/proc/sys/kernel/pid_max /proc/sys/kernel/poweroff_cmd /proc/sys/user/max_user_namespaces
/proc/sys/user/max_inotify_instances /proc/sys/net/ipv4/ip_forward /proc/sys/kernel/shmmax
/proc/sys/vm/overcommit_memory /proc/sys/fs/binfmt_misc/register
/proc/irq/default_smp_affinity /proc/pressure/memory /sys/kernel/uevent_helper /sys/devices/system/cpu/online"""


def test_no_setting_can_be_written(sandbox, trial, who):
    trial.saw = unwritable(sandbox, FILES, who)


def test_nothing_below_proc_sys_can_be_written(sandbox, trial, who):
    """All of them, not only those that somebody thought of."""
    found = probe(sandbox, """
paths = [os.path.join(folder, name) for folder, _, names in os.walk("/proc/sys") for name in names]
seen["open"] = [path for path in paths if attempt(os.open, path, os.O_WRONLY) == "OK"]
seen["n"] = len(paths)
""", who)  # fmt: skip
    assert found["open"] == [] and found["n"] > 300
    trial.saw = f"none of {found['n']} files"


def test_maps_and_sysrq_take_nothing(sandbox, trial, who):
    """Some can be opened by root: what counts is that nothing is taken."""
    found = probe(sandbox, """
for path, text in (("/proc/1/uid_map", b"0 0 1"), ("/proc/1/gid_map", b"0 0 1"), ("/proc/self/uid_map", b"0 0 1"),
                   ("/proc/1/setgroups", b"allow"), ("/proc/self/setgroups", b"allow"), ("/proc/self/projid_map", b"0 0 1")):
    seen[path] = attempt(lambda: os.write(os.open(path, os.O_WRONLY), text))
trigger = "/proc/sysrq-trigger"
closed = not os.path.exists(trigger) or os.stat(trigger).st_rdev == os.makedev(1, 3)
seen["sysrq is the null device"] = "EPERM" if closed else "OK"
""", who)  # fmt: skip
    assert set(found.values()) <= {"EPERM", "EACCES", "EINVAL", "ENOENT"}
    trial.saw = ", ".join(sorted(set(found.values())))


def test_what_else_of_proc_can_be_written(sandbox, trial, who):
    found = probe(sandbox, """
paths = [os.path.join(folder, name) for folder, folders, names in os.walk("/proc") for name in names
         if not folders.clear() or folder == "/proc"]
seen["open"] = [path for path in paths if not path.split("/")[2].isdigit() and not os.path.islink(path)
                and attempt(os.open, path, os.O_WRONLY) == "OK"]
""", who)  # fmt: skip
    # The masks are the null device.
    assert [path for path in found["open"] if path not in MASKED] == []
    trial.saw = f"only {len(found['open'])} masks, which are the null device"


MASKED = {f"/proc/{name}" for name in """kcore kallsyms kmsg keys key-users kpagecount kpageflags kpagecgroup slabinfo
vmallocinfo pagetypeinfo timer_list timer_stats sched_debug latency_stats iomem ioports mtrr config.gz sysrq-trigger cmdline
consoles partitions diskstats swaps locks interrupts softirqs misc dma""".split()}  # fmt: skip
