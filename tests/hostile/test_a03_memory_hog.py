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
    """Whoever may write PID 1's score makes it the victim: by its number, by its threads', by its tasks, the old way."""
    # With threads: it reads a file where waiting harms nobody.
    sandbox.files.read("/etc/hostname")
    found = probe(sandbox, """
threads = [int(name) for name in os.listdir("/proc/1/task")]
seen["threads"] = len(threads)
for number in threads:
    for place in (f"/proc/{number}", f"/proc/1/task/{number}"):
        for name, score in (("oom_score_adj", b"1000"), ("oom_adj", b"15")):
            if os.path.exists(f"{place}/{name}"):
                seen[f"{place}/{name}"] = attempt(lambda: os.write(os.open(f"{place}/{name}", os.O_WRONLY), score))
seen["own"] = attempt(lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000"))
seen["score"] = open("/proc/1/oom_score_adj").read().strip()
""", who)  # fmt: skip
    threads, score = found.pop("threads"), found.pop("score")
    assert set(found.values()) <= {"EACCES", "EPERM"} and len(found) > 3, found
    assert int(score) <= 0, score
    shell(sandbox, python(HOG) + "; true", who)
    assert answers(sandbox)
    trial.saw = f"PID 1's score, {len(found) - 1} ways to {threads} threads: refused"
