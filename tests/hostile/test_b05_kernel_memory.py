"""B5. Addresses and tables of the kernel are the map that an exploit needs; what neighbours do shows there, too."""

from programs import probe

SILENT = """/proc/kcore /proc/kallsyms /proc/keys /proc/key-users /proc/sched_debug /proc/timer_list /proc/cmdline
/proc/partitions /proc/diskstats /proc/interrupts /proc/locks /proc/iomem /proc/ioports /proc/slabinfo /proc/vmallocinfo
/proc/pagetypeinfo /proc/kmsg /proc/kpageflags /proc/config.gz /proc/swaps /proc/softirqs /proc/pressure /proc/fs /proc/irq
/proc/bus /proc/acpi /proc/scsi /proc/driver /proc/tty/driver /sys/firmware /sys/kernel /sys/class /sys/block /sys/module
/sys/fs/bpf /sys/hypervisor /proc/self/stack /proc/1/stack /proc/1/pagemap"""


def test_they_say_nothing(sandbox, trial, who):
    found = probe(sandbox, f"""
for path in {SILENT!r}.split():
    try: said = os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(64)
    except OSError as error: said = None
    if said: seen[path] = str(said)
""", who)  # fmt: skip
    assert found == {}
    trial.saw = "all empty, absent or refused"


def test_no_frame_number_shows(sandbox, trial, who):
    """`pagemap` of one's own may be read, its physical addresses are what rowhammer wants."""
    found = probe(sandbox, """
page = ctypes.create_string_buffer(8192)
try:
    with open("/proc/self/pagemap", "rb") as table:
        table.seek(ctypes.addressof(page) // 4096 * 8)
        seen["frame"] = int.from_bytes(table.read(8), "little") & ((1 << 55) - 1)
except OSError:
    seen["frame"] = 0
""", who)  # fmt: skip
    assert found["frame"] == 0
    trial.saw = "no physical address"
