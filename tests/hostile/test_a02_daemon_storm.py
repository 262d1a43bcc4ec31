"""A2. `setsid` and a second fork leave the session and the parent behind; what is left over runs for ever."""

from programs import alive, background, shell, until

STORM = """
for _ in range(50):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.execvp("sleep", ["sleep", "4241"])
time.sleep(0.5)
print("ready", flush=True)
"""


def test_daemons_die_with_their_command(sandbox, trial, who):
    storm = background(sandbox, STORM + "time.sleep(99)", who)
    assert alive(sandbox, "sleep 424[1]") == 50
    storm.kill()
    assert until(lambda: alive(sandbox, "sleep 424[1]") == 0)
    assert int(shell(sandbox, "ps -eo stat | grep -c ^Z || true", "root")) == 0
    trial.saw = "50 daemons killed, no zombie"


def test_daemons_die_with_the_sandbox(sandbox, trial, who):
    """Whose parent has ended before them: the kill must find them all the same (the trial counts processes)."""
    background(sandbox, STORM + "os._exit(0)", who)
    trial.saw = f"{alive(sandbox, 'sleep 424[1]')} outlived their command"
