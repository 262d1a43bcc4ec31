"""The engine's ceilings and those of E2B's protocol: all are met by calls of the control plane."""

import time
from datetime import datetime

import pytest
from page import meets

SANDBOXES, PROTOCOL = "Sandboxes", "E2B's protocol"
NOBODY = "inobody0000000000000x"


@pytest.fixture
def ask(api):
    """Makes a sandbox, which ends with the test, and hands back the answer."""
    made = []

    def post(path="/v2/sandboxes", headers=None, **body):
        answer = api.post(path, json={"templateID": "base", "timeout": 30} | body, headers=headers)
        if answer.status_code == 201:
            made.append(answer.json()["sandboxID"])
        return answer

    yield post
    for one in made:
        api.delete(f"/sandboxes/{one}")


def is_refused(answer, status=400):
    assert answer.status_code == status, answer.text
    assert answer.json()["code"] == status and answer.json()["message"]


@meets(SANDBOXES, "MAX_TIMEOUT")
def test_max_timeout(limit, api, ask):
    is_refused(ask(timeout=limit + 1))
    made = ask(timeout=limit)
    assert made.status_code == 201
    is_refused(api.post(f"/sandboxes/{made.json()['sandboxID']}/timeout", json={"timeout": limit + 1}))


@meets(SANDBOXES, "MAX_MEMORY")
def test_max_memory(limit, ask):
    assert ask(hood={"memoryMB": limit >> 20}).status_code == 201
    is_refused(ask(hood={"memoryMB": (limit >> 20) + 1}))


@meets(SANDBOXES, "MIN_MEMORY")
def test_min_memory(limit, ask):
    assert ask(hood={"memoryMB": limit >> 20}).status_code == 201
    is_refused(ask(hood={"memoryMB": (limit >> 20) - 1}))


@meets(SANDBOXES, "MAX_CPU")
def test_max_cpu(limit, ask):
    assert ask(hood={"cpus": limit}).status_code == 201
    is_refused(ask(hood={"cpus": limit + 0.01}))


@meets(SANDBOXES, "MIN_CPU")
def test_min_cpu(limit, ask):
    is_refused(ask(hood={"cpus": limit / 2}))


@meets(SANDBOXES, "MAX_PIDS")
def test_max_pids(limit, ask):
    assert ask(hood={"pids": limit}).status_code == 201
    is_refused(ask(hood={"pids": limit + 1}))


@meets(SANDBOXES, "MIN_PIDS")
def test_min_pids(limit, ask):
    assert ask(hood={"pids": limit}).status_code == 201
    is_refused(ask(hood={"pids": limit - 1}))


@meets(SANDBOXES, "MAX_DISK")
def test_max_disk(limit, ask):
    assert ask(hood={"diskMB": limit >> 20}).status_code == 201
    is_refused(ask(hood={"diskMB": (limit >> 20) + 1}))


@meets(SANDBOXES, "MIN_DISK")
def test_min_disk(limit, ask):
    assert ask(hood={"diskMB": limit >> 20}).status_code == 201
    is_refused(ask(hood={"diskMB": (limit >> 20) - 1}))


@meets(SANDBOXES, "METADATA")
def test_metadata(limit, ask):
    assert ask(metadata={"k": "v" * (limit - 1)}).status_code == 201
    is_refused(ask(metadata={"k": "v" * limit}))


@meets(SANDBOXES, "ENVS")
def test_envs(limit, ask):
    # The template brings some of its own.
    values = {f"V{n}": "x" * 1000 for n in range(limit // 1010)}
    assert ask(envVars=dict(list(values.items())[:-10])).status_code == 201
    is_refused(ask(envVars=values | {f"W{n}": "x" * 1000 for n in range(10)}))


@meets(SANDBOXES, "NOTES")
def test_notes(limit, ask):
    allowed = [f"10.{n >> 8}.{n & 255}.0/24" for n in range(limit // 10)]
    is_refused(ask(network={"allowOut": allowed}))


@pytest.mark.slow
@meets(SANDBOXES, "SAMPLE_EVERY")
def test_samples_are_apart(limit, api, ask):
    made = ask(timeout=90).json()["sandboxID"]
    time.sleep(3.2 * limit)
    times = [moment(sample["timestamp"]) for sample in api.get(f"/sandboxes/{made}/metrics").json()]
    # The first comes with the creation, wherever between two rounds that is.
    assert len(times) >= 3
    assert all(b - a >= limit * 0.9 for a, b in zip(times[1:], times[2:], strict=False))


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


@meets(PROTOCOL, "JSON_BODY")
def test_json_body(limit, ask):
    is_refused(ask(metadata={"k": "v" * limit}), 413)


@meets(PROTOCOL, "PAGE")
def test_page(limit, api):
    assert api.get("/v2/sandboxes", params={"limit": limit}).status_code == 200
    is_refused(api.get("/v2/sandboxes", params={"limit": limit + 1}))


@meets(PROTOCOL, "LOG_LINES")
def test_log_lines(limit, api, ask):
    path = f"/v2/sandboxes/{ask().json()['sandboxID']}/logs"
    assert api.get(path, params={"limit": limit}).status_code == 200
    is_refused(api.get(path, params={"limit": limit + 1}))


@meets(PROTOCOL, "METRICS_IDS")
def test_metrics_ids(limit, api):
    ids = [f"i{n:020}" for n in range(limit + 1)]
    assert api.get("/sandboxes/metrics", params={"sandbox_ids": ",".join(ids[:limit])}).status_code == 200
    is_refused(api.get("/sandboxes/metrics", params={"sandbox_ids": ",".join(ids)}))


@meets(PROTOCOL, "REFRESH_SECS")
def test_refresh(limit, api, ask):
    path = f"/sandboxes/{ask().json()['sandboxID']}/refreshes"
    assert api.post(path, json={"duration": limit}).status_code == 204
    is_refused(api.post(path, json={"duration": limit + 1}))


@meets(PROTOCOL, "IDEMPOTENCY_KEY")
def test_idempotency_key(limit, ask):
    assert ask(headers={"Idempotency-Key": "k" * limit}).status_code == 201
    is_refused(ask(headers={"Idempotency-Key": "k" * (limit + 1)}))


def life(api, path):
    made = api.post(path, json={"templateID": "base"}).json()["sandboxID"]
    shown = api.get(f"/sandboxes/{made}").json()
    api.delete(f"/sandboxes/{made}")
    return moment(shown["endAt"]) - moment(shown["startedAt"])


@meets(PROTOCOL, "TIMEOUT_V2_SECS")
def test_default_life(limit, api):
    assert abs(life(api, "/v2/sandboxes") - limit) < 2


@meets(PROTOCOL, "TIMEOUT_V1_SECS")
def test_default_life_of_old_clients(limit, api):
    assert abs(life(api, "/sandboxes") - limit) < 2
