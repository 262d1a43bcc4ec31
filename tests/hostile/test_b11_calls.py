"""B11. Calls whose code is large, seldom needed, and often at fault; and those that act on the whole machine."""

from calls import refused

CALLS = {
    "bpf": (321, 0, 0, 0),
    "perf_event_open": (298, 0, 0, -1, -1, 0),
    "userfaultfd": (323, 0),
    "userfaultfd for user mode": (323, 1),
    "kexec_load": (246, 0, 0, 0, 0),
    "kexec_file_load": (320, 0, 0, 0, 0, 0),
    "init_module": (175, 0, 0, b""),
    "finit_module": (313, 0, b"", 0),
    "delete_module": (176, b"x", 0),
    "open_by_handle_at": (304, 3, 0, 0),
    "swapon": (167, b"x", 0),
    "swapoff": (168, b"x"),
    "reboot": (169, 0xFEE1DEAD, 672274793, 0x1234567, 0),
    "acct": (163, b"/tmp/a"),
    "quotactl": (179, 0, 0, 0, 0),
    "quotactl_fd": (443, 0, 0, 0, 0),
    "syslog": (103, 3, 0, 100),
    "fanotify_init": (300, 0, 0),
    "modify_ldt": (154, 0, 0, 0),
    "iopl": (172, 3),
    "ioperm": (173, 0, 8, 1),
    "lookup_dcookie": (212, 0, 0, 0),
    "uselib": (134, b"/bin/true"),
    "vhangup": (153,),
    "memfd_secret": (447, 0),
    "move_pages": (279, 1, 0, 0, 0, 0, 0),
    "migrate_pages": (256, 1, 0, 0, 0),
    "personality: no randomization with high bits": (135, 0x1_0004_0000),
    "personality: no randomization": (135, 0x40000),
    "from the future": (500,),
    "beyond every table": (0x3FFF_FFFF,),
}


def test_they_are_closed(sandbox, trial, who):
    trial.saw = refused(sandbox, CALLS, who)
