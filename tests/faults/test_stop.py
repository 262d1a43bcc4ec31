"""SIGTERM: sandboxes end in order, are recorded, and leave nothing."""

import threading
import time

PATIENCE = 10
NOTHING = {"cgroups": 0, "processes": 0, "network namespaces": 0, "writable layers": 0, "loop devices": 0}


def test_sandboxes_are_ended_and_recorded(place):
    mounts = place.host.mounts()
    sandboxes = [place.create() for _ in range(5)] + [place.create("code-interpreter-v1")]
    code, took = place.stop()
    assert code == 0
    assert took < 15, f"it took {took:.1f} s"
    place.host.settle(NOTHING | {"mounts": mounts}, PATIENCE)
    place.start()
    assert place.running() == set()
    for sandbox in sandboxes:
        assert "the server was stopped" in place.said_of(sandbox)


def test_a_request_that_streams_is_cut(place, sdk):
    sandbox = sdk(place).create()
    ended = []

    def listen():
        try:
            sandbox.commands.run("sleep 4242", timeout=0)
        except Exception as error:  # whatever the package makes of it
            ended.append(error)

    listener = threading.Thread(target=listen)
    listener.start()
    end = time.monotonic() + PATIENCE
    while not any(process.cmd for process in sandbox.commands.list()):
        assert time.monotonic() < end
    code, took = place.stop()
    listener.join(PATIENCE)
    assert code == 0 and len(ended) == 1, ended
    assert took < 15, f"it took {took:.1f} s"


def test_an_idle_server_stops_at_once(place):
    code, took = place.stop()
    assert code == 0
    assert took < 5, f"it took {took:.1f} s"
    place.host.settle(NOTHING, PATIENCE)
