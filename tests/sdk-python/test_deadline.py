"""A sandbox ends when its time is over, to the second, and not earlier."""

import time
from datetime import datetime, timedelta, timezone

import pytest
from e2b import Sandbox, SandboxException
from helpers import run

ACCURACY = 1.0  # seconds


def wait_for_end(sandbox, at_most):
    """The moment at which it stopped answering."""
    give_up = time.monotonic() + at_most
    while sandbox.is_running():
        assert time.monotonic() < give_up, "it still runs"
        time.sleep(0.05)
    return datetime.now(timezone.utc)


def test_it_ends_at_the_promised_second(create):
    sandbox = create(timeout=3)
    promised = sandbox.get_info().end_at
    ended = wait_for_end(sandbox, at_most=6)
    assert abs((ended - promised).total_seconds()) < ACCURACY


def test_set_timeout_shortens(create):
    sandbox = create(timeout=100)
    sandbox.set_timeout(2)
    began = datetime.now(timezone.utc)
    ended = wait_for_end(sandbox, at_most=5)
    assert abs((ended - began).total_seconds() - 2) < ACCURACY


def test_set_timeout_extends(create):
    sandbox = create(timeout=2)
    sandbox.set_timeout(60)
    time.sleep(3)
    assert run(sandbox, "echo alive") == "alive"


def test_zero_ends_it_now(create):
    sandbox = create()
    sandbox.set_timeout(0)
    wait_for_end(sandbox, at_most=2)


def test_connect_never_shortens(create):
    sandbox = create(timeout=100)
    before = sandbox.get_info().end_at
    Sandbox.connect(sandbox.sandbox_id, timeout=10)
    assert sandbox.get_info().end_at == before


def test_connect_extends(create):
    sandbox = create(timeout=20)
    Sandbox.connect(sandbox.sandbox_id, timeout=120)
    left = sandbox.get_info().end_at - datetime.now(timezone.utc)
    assert abs(left - timedelta(seconds=120)) < timedelta(seconds=2)


def test_old_refresh(api, create):
    sandbox = create(timeout=20)
    assert api.post(f"/sandboxes/{sandbox.sandbox_id}/refreshes", json={"duration": 200}).status_code == 204
    left = sandbox.get_info().end_at - datetime.now(timezone.utc)
    assert abs(left - timedelta(seconds=200)) < timedelta(seconds=2)


@pytest.mark.parametrize("timeout", [-1, 10**9])
def test_impossible_timeouts_are_refused(sandbox, timeout):
    with pytest.raises(SandboxException):
        sandbox.set_timeout(timeout)
    assert run(sandbox, "echo alive") == "alive"


def test_create_refuses_no_time(api):
    answer = api.post("/v2/sandboxes", json={"templateID": "base", "timeout": 0})
    assert answer.status_code == 400 and answer.json()["code"] == 400
