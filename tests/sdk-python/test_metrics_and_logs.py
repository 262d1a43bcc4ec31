"""What a sandbox uses and what happened in it can be looked up."""

import json
from datetime import datetime, timedelta, timezone

import pytest
from helpers import run, until


@pytest.mark.slow
def test_metrics_come_within_thirty_seconds(sandbox):
    metrics = until(sandbox.get_metrics, 30, pause=0.5)
    assert metrics, "no point within 30 s"
    point = metrics[-1]
    assert point.cpu_count >= 1 and point.cpu_used_pct >= 0
    assert 0 < point.mem_used <= point.mem_total
    assert 0 <= point.disk_used <= point.disk_total and point.disk_total > 0
    assert abs(point.timestamp - datetime.now(timezone.utc)) < timedelta(seconds=40)


@pytest.mark.slow
def test_metrics_show_the_work(sandbox):
    sandbox.commands.run("python3 -c \"x = b'x' * (300 << 20); exec('while True: pass')\"", background=True, timeout=0)
    busy = lambda: [m for m in sandbox.get_metrics() if m.mem_used > 300 << 20 and m.cpu_used_pct > 3]  # noqa: E731
    assert until(busy, 30, pause=1)


def test_metrics_of_another_time_are_empty(sandbox):
    long_ago = datetime.now(timezone.utc) - timedelta(days=7)
    assert sandbox.get_metrics(start=long_ago, end=long_ago + timedelta(hours=1)) == []


def test_metrics_of_several(api, create):
    boxes = [create(), create()]
    ids = ",".join(box.sandbox_id for box in boxes)
    answer = api.get("/sandboxes/metrics", params={"sandbox_ids": ids + ",inobody0000000000000"})
    assert answer.status_code == 200 and set(answer.json()["sandboxes"]) <= {box.sandbox_id for box in boxes}


def test_logs_are_structured(api, sandbox):
    run(sandbox, "echo something")
    for version in ("", "/v2"):
        answer = api.get(f"{version}/sandboxes/{sandbox.sandbox_id}/logs")
        assert answer.status_code == 200
    logs = api.get(f"/sandboxes/{sandbox.sandbox_id}/logs").json()
    assert set(logs) >= {"logs", "logEntries"}
    for line in logs["logs"]:
        assert {"level", "logger", "message"} <= set(json.loads(line["line"]))


def test_logs_tell_what_happened(api, sandbox):
    run(sandbox, "true")
    logs = until(lambda: api.get(f"/v2/sandboxes/{sandbox.sandbox_id}/logs").json()["logs"], 5)
    assert logs and all({"timestamp", "level", "message"} <= set(entry) for entry in logs)


@pytest.mark.parametrize("path", ["metrics", "logs"])
def test_of_nobody(api, path):
    answer = api.get(f"/sandboxes/inobody0000000000000/{path}")
    assert answer.status_code == 404 and answer.json()["code"] == 404
