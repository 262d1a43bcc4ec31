"""B9. Keyrings are not in any namespace: an inherited one held secrets of the host (walls F12)."""

from calls import refused

CALLS = {
    "get the session keyring": (250, 0, -3, 0),
    "get the user keyring": (250, 0, -4, 1),
    "join a session": (250, 1, 0),
    "search": (250, 10, -3, b"user", b"a", 0),
    "read": (250, 11, -3, 0, 0),
    "link": (250, 8, -4, -3),
    "set a timeout": (250, 15, -3, 1),
    "add_key": (248, b"user", b"a", b"b", 1, -3),
    "request_key": (249, b"user", b"a", 0, 0),
}


def test_there_are_none(sandbox, trial, who):
    trial.saw = refused(sandbox, CALLS, who)
