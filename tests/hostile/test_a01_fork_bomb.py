"""A1. A bomb that outlives its kill, or that fills the host's pid table, ends every sandbox on the machine."""

from programs import answered, background, shell, until

PIDS_EVENTS = "cat /sys/fs/cgroup/pids/pids.events /sys/fs/cgroup/pids.events 2>/dev/null"
SLEEPERS = """
n = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(99)
            os._exit(0)
    except OSError as error:
        seen["why"] = errno.errorcode[error.errno]
        break
    n += 1
print("ready", json.dumps(seen), n, flush=True)
time.sleep(99)
"""


def refusals(sandbox):
    """Counted by the controller, or nobody could say why the program failed."""
    return int(shell(sandbox, PIDS_EVENTS).split()[1])


def test_the_classic_bomb(sandbox, trial, who):
    bomb = sandbox.commands.run(
        "bash -c 'bomb() { bomb | bomb & }; bomb; sleep 99' 2>/dev/null", user=who, background=True, timeout=99
    )
    # With the table full nobody inside can be started to look: files are answered by the guest itself.
    assert until(lambda: b"max 0" not in sandbox.files.read("/sys/fs/cgroup/pids/pids.events", format="bytes"), 20)
    bomb.kill()
    assert until(lambda: answered(sandbox), 10)
    assert until(lambda: int(shell(sandbox, "ls /proc | grep -c '^[0-9]'")) < 20, 5)
    trial.saw = f"EAGAIN, {refusals(sandbox)} forks refused, killed whole"


def test_a_table_full_of_sleepers(sandbox, trial, who):
    bomb = background(sandbox, SLEEPERS, who)
    bomb.kill()
    assert until(lambda: answered(sandbox), 5)
    assert refusals(sandbox) > 0
    trial.saw = "EAGAIN at the pids limit"
