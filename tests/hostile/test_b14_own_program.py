"""B14. runc's CVE-2019-5736: a payload wrote into the program of the runtime that had started it, and the host ran it."""

from programs import answers, built, probe, shell


def test_the_guests_program_cannot_be_reached(sandbox, trial, who):
    found = probe(sandbox, """
seen["mapped"] = attempt(os.listdir, "/proc/1/map_files")
for name in ("exe", "root/proc/self/exe", "task/1/exe"):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        seen[f"{name} {flags}"] = attempt(os.open, "/proc/1/" + name, flags)
seen["link"] = attempt(os.readlink, "/proc/1/exe")
""", who)  # fmt: skip
    assert {what: said for what, said in found.items() if said not in ("EACCES", "EPERM", "EISDIR", "ENOENT")} == {}
    trial.saw = ", ".join(sorted(set(found.values())))


def test_a_command_started_by_the_guest_is_not_the_guest(sandbox, trial, who):
    """As in the CVE: the payload is `/proc/self/exe` itself, so that the runtime would be run, and opened, inside."""
    said = shell(sandbox, "cd /; /proc/self/exe -c 'readlink /proc/self/exe'; ls -l /proc/self/exe", who)
    assert "hood" not in said and "memfd" not in said
    for path in ("/proc/self/exe", "/proc/1/exe", "/proc/thread-self/exe"):
        shell(
            sandbox,
            f"ln -sfn {path} /tmp/interpreter; printf '#!/tmp/interpreter\\n' > /tmp/script; chmod 755 /tmp/script",
            who,
        )
        assert "hood" not in shell(sandbox, "/tmp/script; true", who)
    assert answers(sandbox)
    trial.saw = "commands are the shell, by every name"


def test_a_program_catches_nothing_between_clone_and_exec(sandbox, trial, who):
    """Whoever is quick opens `/proc/PID/exe` while the new process is still the guest."""
    program = built(sandbox, "b14_catch")
    sandbox.commands.run(f"{program} 4 > /tmp/caught 2>&1", user=who, background=True)
    for _ in range(40):
        shell(sandbox, "true", who)
    import time

    time.sleep(4)
    caught = sandbox.files.read("/tmp/caught")
    assert caught.startswith("0 of "), caught
    trial.saw = caught.strip()


def test_programs_in_memory_are_behind_the_walls_too(sandbox, trial, who):
    found = probe(sandbox, """
fd = os.memfd_create("x")
os.write(fd, open("/bin/cat", "rb").read())
r, w = os.pipe()
if os.fork() == 0:
    os.dup2(w, 1)
    os.execve(fd, ["cat", "/proc/self/status"], {})
os.wait()
seen["status"] = os.read(r, 65536).decode()
""", who)  # fmt: skip
    assert "Seccomp:\t2" in found["status"]
    trial.saw = "filtered"
