"""B13. A supervisor that decides on what a pointer points to can be shown one thing and given another (TOCTOU).

No decision here is made by a user-mode supervisor; every rule compares registers, which nobody can change meanwhile. So
what is to be shown: no payload can become such a supervisor either, and pointers do not matter to a refusal.
"""

from calls import refused
from programs import built, shell

CALLS = {
    "a listener": (317, 1, 8, 0),
    "a listener that waits killably": (317, 1, 0x28, 0),
    "clone3, whose flags lie behind a pointer": (435, 0, 88),
}


def test_nobody_becomes_a_supervisor(sandbox, trial, who):
    trial.saw = refused(sandbox, CALLS, who)


def test_changing_what_a_pointer_shows_gains_nothing(sandbox, trial, who):
    """One thread asks for a harmless thing and for a namespace by turns, another swaps the bytes between check and use."""
    program = built(sandbox, "b13_swap", "-pthread")
    said = shell(sandbox, f"{program} 2", who)
    asked, granted = (int(word) for word in said.split())
    assert asked > 1000 and granted == 0
    trial.saw = f"{asked} calls, none granted"
