"""kill -9 of the server: nothing outlives it, and the next start knows what happened."""

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import httpx
from host import until

GONE = 5  # seconds until every process of a dead server's sandboxes is gone
PATIENCE = 30


def test_processes_end_with_the_server(place, sdk):
    package = sdk(place)
    sandboxes = [package.create() for _ in range(3)]
    for sandbox in sandboxes:
        sandbox.commands.run("setsid sh -c 'trap \"\" TERM HUP; sleep 4242' >/dev/null 2>&1 & true")
        sandbox.commands.run("sleep 4242", background=True)
    assert len(place.host.processes()) > 3 * len(sandboxes)
    place.kill()
    until(lambda: not place.host.processes(), GONE, "processes of the dead server's sandboxes are gone")
    place.start()
    assert place.running() == set()
    for sandbox in sandboxes:
        assert "the server was stopped" in place.said_of(sandbox.sandbox_id)
    answer = place.reach(sandboxes[0].sandbox_id)
    assert answer.status_code == 502 and "the server was stopped" in answer.json()["reason"]


def test_creates_in_flight(place):
    cold = place.host.counts()
    place.end(place.create())

    def attempt(_):
        try:
            return place.create()
        except httpx.TransportError:
            return None

    with ThreadPoolExecutor(20) as pool:
        attempts = [pool.submit(attempt, n) for n in range(20)]
        wait(attempts, PATIENCE, FIRST_COMPLETED)
        place.server.kill_hard()
        answered = [one.result() for one in attempts]
    assert None in answered, "all were answered before the server died; nothing was in flight"
    place._ended()
    place.start()
    assert place.running() == set()
    place.host.settle(cold, PATIENCE)
    place.end(place.create())


def test_five_crashes_in_a_row(place):
    cold = place.host.counts()
    for _ in range(5):
        place.create()
        place.kill()
        place.start()
    place.host.settle(cold, PATIENCE)
    assert place.running() == set()
