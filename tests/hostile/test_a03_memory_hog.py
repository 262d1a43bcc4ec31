"""A3. The kernel must kill the hog, not the guest: the owner still needs an answer."""

from programs import answers, probe, python, shell

HOG = "b = []\nwhile True: b.append(b'x' * (64 << 20))"


def test_the_hog_dies_alone(sandbox, trial, who):
    assert "status 137" in shell(sandbox, python(HOG) + "; echo status $?", who)
    assert answers(sandbox)
    events = shell(sandbox, "cat /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events 2>/dev/null")
    kills = int(events.split("oom_kill ")[1].split()[0])
    assert kills > 0
    trial.saw = f"killed with 137, oom_kill {kills}"


def test_a_command_that_is_killed_for_memory_says_so(sandbox, trial, who):
    """What the kernel did must not look like a program that failed."""
    from e2b import CommandExitException

    try:
        sandbox.commands.run("exec " + python(HOG), user=who, timeout=60)
        raise AssertionError("it was not killed")
    except CommandExitException as ended:
        trial.saw = f"exit {ended.exit_code}: {ended.error}"
        assert "memory" in (ended.error or "").lower() + ended.stderr.lower()


def test_many_hogs_at_once(sandbox, trial, who):
    """One OOM kill at a time does not keep up with sixteen: the guest must still not be the one that is chosen."""
    hogs = " & ".join([python("b = []\nwhile True: b.append(b'x' * (8 << 20))")] * 16)
    shell(sandbox, f"({hogs} & wait) 2>/dev/null; true", who, timeout=90)
    assert answers(sandbox)
    trial.saw = "16 hogs died, the guest answers"


def test_the_guest_cannot_be_offered_instead(sandbox, trial, who):
    """Whoever may write PID 1's score makes it the victim."""
    found = probe(sandbox, """
for path, score in (("/proc/1/oom_score_adj", b"1000"), ("/proc/self/oom_score_adj", b"-1000")):
    seen[path] = attempt(lambda: os.write(os.open(path, os.O_WRONLY), score))
""", who)  # fmt: skip
    # Payload root may write the guest's file (walls.md 2.3); then the sandbox's own end is all it gains.
    assert found["/proc/self/oom_score_adj"] in ("EACCES", "EPERM")
    shell(sandbox, python(HOG) + "; true", who)
    trial.saw = f"PID 1's score: {found['/proc/1/oom_score_adj']}"
    if found["/proc/1/oom_score_adj"] != "OK":
        assert answers(sandbox)
