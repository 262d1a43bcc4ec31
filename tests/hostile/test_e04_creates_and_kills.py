"""E4. Creations and kills at once: every call gets one clear answer, states agree, and nothing is left (the trial counts)."""

import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

MANY = 1000 if os.environ.get("HOOD_FULL") else 150  # the number takes minutes on two cores
BODY = {"templateID": "base", "timeout": 120}


@pytest.fixture
def plane():
    """The control plane, by many at once."""
    limits = httpx.Limits(max_connections=64)
    headers = {"X-API-Key": os.environ["E2B_API_KEY"]}
    with httpx.Client(base_url=os.environ["E2B_API_URL"], headers=headers, timeout=90, limits=limits) as client:
        yield client


def at_once(function, times, workers=32):
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda _: function(), range(times)))


def create(plane):
    answer = plane.post("/v2/sandboxes", json=BODY)
    return answer.status_code, answer.json().get("sandboxID")


def running(plane):
    found, token = set(), None
    while True:
        answer = plane.get("/v2/sandboxes", params={"limit": 100} | ({"nextToken": token} if token else {}))
        found |= {one["sandboxID"] for one in answer.json()}
        if not (token := answer.headers.get("x-next-token")):
            return found


@pytest.mark.slow
def test_many_creations_at_once(plane, trial):
    before = running(plane)
    made = at_once(lambda: create(plane), MANY)
    statuses = Counter(status for status, _ in made)
    ids = {one for status, one in made if status == 201}
    try:
        assert set(statuses) <= {201, 429, 507, 503}, statuses
        assert len(ids) == statuses[201] > 0
        assert running(plane) - before == ids
    finally:
        ended = Counter(
            at_once(lambda todo=iter(sorted(ids)): plane.delete(f"/sandboxes/{next(todo)}").status_code, len(ids), 8)
        )
    assert set(ended) <= {204}
    assert running(plane) == before
    trial.saw = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))


def test_a_kill_while_it_is_being_made(plane, trial):
    """The id is known when the call answers, or before, from the listing: whoever is quick kills what is not yet there."""
    stop, killed = threading.Event(), Counter()

    def kill_all_new(known):
        while not stop.is_set():
            for one in running(plane) - known:
                killed[plane.delete(f"/sandboxes/{one}").status_code] += 1

    before = running(plane)
    killer = threading.Thread(target=kill_all_new, args=(before,))
    killer.start()
    made = Counter(status for status, _ in at_once(lambda: create(plane), 60, 8))
    stop.set()
    killer.join()
    for one in running(plane) - before:
        plane.delete(f"/sandboxes/{one}")
    assert running(plane) == before
    assert set(killed) <= {204, 404}
    assert not {status for status in made if status >= 500 and status != 503} or made[500] == 0, made
    trial.saw = f"created {dict(made)}, killed {dict(killed)}"


def test_one_is_killed_by_many(plane, trial):
    _, one = create(plane)
    statuses = Counter(at_once(lambda: plane.delete(f"/sandboxes/{one}").status_code, 16, 16))
    assert statuses[204] >= 1 and set(statuses) <= {204, 404}
    assert plane.delete(f"/sandboxes/{one}").status_code == 404
    trial.saw = str(dict(statuses))


def test_a_kill_while_everything_is_used(trial, create_busy, plane):
    """Commands, cells, uploads and watches in flight: each of their calls ends with an error, none hangs."""
    sandbox, ended = create_busy
    assert plane.delete(f"/sandboxes/{sandbox.sandbox_id}").status_code == 204
    for thread in ended:
        thread.join(10)
    assert not [thread for thread in ended if thread.is_alive()]
    trial.saw = f"{len(ended)} calls in flight ended"


@pytest.fixture
def create_busy(interpret):
    sandbox = interpret()

    def swallow(call):
        try:
            call()
        except Exception:  # noqa: BLE001 - that it ends is what counts
            pass

    calls = [
        lambda: sandbox.commands.run("sleep 60", timeout=60),
        lambda: sandbox.commands.run("yes > /dev/null", timeout=60),
        lambda: sandbox.run_code("import time; time.sleep(60)", timeout=60),
        lambda: sandbox.run_code("while True: pass", language="bash", timeout=60),
        lambda: [sandbox.files.write("/tmp/x", bytes(10_000_000)) for _ in range(1000)],
        lambda: [sandbox.files.list("/") for _ in range(100_000)],
    ]
    threads = [threading.Thread(target=swallow, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    threads[0].join(1)
    return sandbox, threads
