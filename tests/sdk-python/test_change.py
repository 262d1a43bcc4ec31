"""Changing what a sandbox may use, and what listings show of it, while it lives."""

import pytest
from e2b import Sandbox, SandboxQuery

from helpers import fails

HOG = "python3 -c 'kept = bytearray({mib} << 20); print(len(kept) >> 20)'"


@pytest.fixture
def change(api):
    def patch(sandbox, **body):
        return api.patch(f"/sandboxes/{sandbox.sandbox_id}", json=body)

    return patch


def test_more_memory_is_there_at_once(sized, change):
    sandbox = sized(memoryMB=128)
    fails(sandbox, HOG.format(mib=300))
    answer = change(sandbox, hood={"memoryMB": 512})
    assert answer.status_code == 200 and answer.json()["memoryMB"] == 512, answer.text
    assert sandbox.commands.run(HOG.format(mib=300)).stdout == "300\n"
    assert change(sandbox, hood={"memoryMB": 128}).status_code == 200
    fails(sandbox, HOG.format(mib=300))


def test_memory_in_use_is_not_taken_away(sized, change):
    sandbox = sized(memoryMB=512)
    hog = sandbox.commands.run("exec python3 -c 'kept = bytearray(300 << 20); print(1, flush=True); input()'", background=True, stdin=True)
    for out, _, _ in hog:
        if out:
            break
    answer = change(sandbox, hood={"memoryMB": 200}, metadata={"a": "b"})
    assert answer.status_code == 409 and "uses" in answer.text and "end processes" in answer.text, answer.text
    info = Sandbox.get_info(sandbox.sandbox_id)
    assert info.memory_mb == 512 and "a" not in info.metadata, "all or nothing"
    assert sandbox.commands.run("kill -0 %d && echo lives" % hog.pid).stdout == "lives\n"
    assert sandbox.commands.run(HOG.format(mib=100)).stdout == "100\n", "the ceiling of before"


def test_an_out_of_memory_error_names_the_new_ceiling(interpret, change):
    sandbox = interpret()
    sandbox.run_code("1")
    assert change(sandbox, hood={"memoryMB": 256}).status_code == 200
    error = sandbox.run_code("kept = bytearray(600 << 20)").error
    assert error and "256 MiB" in f"{error.value} {error.traceback}", error


def test_processor_time(sized, change):
    sandbox = sized(cpus=1)
    spin = "python3 -c 'import time; a = time.process_time(), time.time()\nwhile time.time() < a[1] + 1: pass\nprint(time.process_time() - a[0])'"
    assert change(sandbox, hood={"cpus": 0.2}).status_code == 200
    assert float(sandbox.commands.run(spin).stdout) < 0.45
    assert change(sandbox, hood={"cpus": 1}).status_code == 200
    assert float(sandbox.commands.run(spin).stdout) > 0.45


def test_metadata_is_replaced_and_found_and_survives_a_pause(create, change):
    sandbox = create(metadata={"step": "1", "old": "x"})
    assert change(sandbox, metadata={"step": "2"}).status_code == 200
    sandbox.pause()
    assert Sandbox.get_info(sandbox.sandbox_id).metadata == {"step": "2"}
    assert change(sandbox, metadata={"step": "3"}).status_code == 200, "a paused one, too"
    found = Sandbox.list(query=SandboxQuery(metadata={"step": "3"})).next_items()
    assert [one.sandbox_id for one in found] == [sandbox.sandbox_id]
    Sandbox.connect(sandbox.sandbox_id)
    assert Sandbox.get_info(sandbox.sandbox_id).metadata == {"step": "3"}


def test_a_paused_one_goes_on_with_more(sized, change):
    sandbox = sized(memoryMB=128)
    sandbox.pause()
    assert change(sandbox, hood={"memoryMB": 512}).status_code == 200
    sandbox = Sandbox.connect(sandbox.sandbox_id)
    assert sandbox.commands.run(HOG.format(mib=300)).stdout == "300\n"


@pytest.mark.parametrize(
    "body",
    [
        {"hood": {"memoryMB": 0}},
        {"hood": {"memoryMB": 1 << 50}},
        {"hood": {"cpus": -1}},
        {"hood": {"cpus": 100000}},
        {"hood": {"diskMB": 100}},
        {"hood": {"pids": 100}},
        {"timeout": 5},
        {"metadata": {"a": 1}},
        {"metadata": {"a": "x" * 100_000}},
        [],
    ],
)
def test_bad_changes(sandbox, api, body):
    before = api.get(f"/sandboxes/{sandbox.sandbox_id}").json()
    answer = api.patch(f"/sandboxes/{sandbox.sandbox_id}", json=body)
    assert answer.status_code == 400 and answer.json()["message"], answer.text
    assert api.get(f"/sandboxes/{sandbox.sandbox_id}").json() == before


def test_nothing_to_change_and_nobody_to_change(sandbox, api, change):
    assert change(sandbox).status_code == 200
    assert api.patch("/sandboxes/inobody0000000000000x", json={}).status_code == 404
    sandbox.kill()
    assert change(sandbox, metadata={}).status_code == 404
