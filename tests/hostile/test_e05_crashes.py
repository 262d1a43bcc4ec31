"""E5. `kill -9` of the server or a helper, at any step: on restart nothing may be left over."""

import pytest


def test_they_lie_with_the_faults():
    pytest.skip("in tests/faults (test_crash.py, test_dead_parts.py, test_stop.py), each with a server of its own")
