"""A16. Who sleeps whenever the clock looks is never seen by an accounting that samples: time must be counted, not sampled."""

from programs import built, shell

CORES = 0.25  # a small share, so that a dodge shows


def test_sleeping_around_the_ticks_buys_nothing(sized, trial, who):
    """64 processes, each of which works for a part of a tick and sleeps over its end."""
    sandbox = sized(cpus=CORES)
    program = built(sandbox, "a16_steal")
    said = shell(sandbox, f"{program} 64 4", who, timeout=60)
    worked, counted, seconds = (float(word) for word in said.split())
    # The quota binds what they did by their own count, and the accounting agrees with them.
    assert worked / seconds <= CORES * 1.3
    assert counted >= worked * 0.8
    trial.saw = f"worked {worked / seconds:.2f} cores, counted {counted / seconds:.2f}, quota {CORES}"
