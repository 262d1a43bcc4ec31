"""A10. Files, sockets, epolls, eventfds, pipes: each has an end, the guest has its own, and the kernel's tables too."""

import pytest

from programs import answered, answers, built, probe, shell, until

MAKERS = """
import select
makers = dict(file=lambda: os.open("/dev/null", 0), socket=socket.socket, epoll=select.epoll, event=lambda: os.eventfd(0),
              timer=lambda: libc.timerfd_create(1, 0), pipe=lambda: os.pipe()[0])
for name, make in makers.items():
    held = []
    try:
        while len(held) < 1_000_000:
            if isinstance(made := make(), int) and made < 0:
                raise OSError(ctypes.get_errno(), name)
            held.append(made)
    except OSError as error:
        seen[name] = errno.errorcode[error.errno]
    seen[name + "s"] = len(held)
    held.clear()
    os.closerange(3, 1_100_000)
"""


def test_descriptors_run_out_for_the_program_only(sandbox, trial, who):
    found = probe(sandbox, MAKERS, who, timeout=90)
    kinds = {name: said for name, said in found.items() if isinstance(said, str)}
    assert set(kinds.values()) == {"EMFILE"} and len(kinds) == 6
    assert answers(sandbox)
    trial.saw = f"EMFILE at {found['files']} files"


@pytest.mark.parametrize("what", ["pipes", "sockets", "epoll", "eventfd", "files"])
def test_a_thousand_processes_hold_all_they_can(sandbox, trial, who, what):
    """One process' limit times the number of processes: what then binds is the sandbox's memory, not the host's."""
    program = built(sandbox, "a10_hold")
    if what == "epoll":
        # Five million watches, as many as a gigabyte holds, are taken down one by one when their processes end: ten
        # seconds of the sandbox's own processor time, in which nobody else is held up.
        trial.baseline = 25
    said = shell(sandbox, f"{program} {what} 8; echo status $?", who, timeout=90)
    # What they held is given back by the kernel in its own time, and is charged until then.
    assert until(lambda: answered(sandbox), 10)
    trial.saw = said.strip().replace("\n", ", ")[-90:]
