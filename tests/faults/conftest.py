"""What happens when something dies: the server, its helpers, a guest. Each test has a server and a data directory of its
own; `HOOD_BIN` is the program, and `HOOD_TEMPLATES` a data directory with built templates. Must be run as root.
"""

import os

import pytest
from e2b import Sandbox
from place import Place


@pytest.fixture
def places():
    """Makes data directories; servers on them are started by the test."""
    made = []

    def make():
        made.append(Place(os.environ["HOOD_BIN"], os.environ["HOOD_TEMPLATES"]))
        return made[-1]

    yield make
    for place in made:
        place.remove()


@pytest.fixture
def place(places):
    """A running server."""
    return places().start()


@pytest.fixture
def sdk(monkeypatch):
    """The official package, pointed at a place."""

    def point(place):
        for name, value in place.env.items():
            monkeypatch.setenv(name, value)
        return Sandbox

    return point
