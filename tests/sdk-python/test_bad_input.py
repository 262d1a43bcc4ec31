"""Wrong requests over plain HTTP: each has its status, its body, and changes nothing."""

import os

import httpx
import pytest
from helpers import run

NOBODY = "inobody0000000000000"


def is_error(answer, status):
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body["code"] == status and body["message"]
    return body["message"]


@pytest.fixture
def route(sandbox):
    def headers(port=49983, sandbox_id=sandbox.sandbox_id):
        return {"E2b-Sandbox-Id": sandbox_id, "E2b-Sandbox-Port": str(port)}

    return headers


@pytest.mark.parametrize(
    "headers",
    [{}, {"X-API-Key": ""}, {"X-API-Key": "e2b_" + "0" * 40}, {"X-API-Key": "nonsense"}],
    ids=["none", "empty", "wrong", "garbled"],
)
@pytest.mark.parametrize(
    "call", [("GET", "/v2/sandboxes"), ("POST", "/v2/sandboxes"), ("DELETE", f"/sandboxes/{NOBODY}")]
)
def test_key(headers, call):
    method, path = call
    answer = httpx.request(method, os.environ["E2B_API_URL"] + path, headers=headers)
    is_error(answer, 401)


@pytest.mark.parametrize("version", ["", "/v2"])
def test_unknown_template(api, version):
    answer = api.post(f"{version}/sandboxes", json={"templateID": "no-such-template", "timeout": 10})
    assert "no-such-template" in is_error(answer, 404)


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "",
        "[]",
        "null",
        '{"templateID": 5}',
        '{"timeout": 5}',
        '{"templateID": "base", "timeout": "soon"}',
        '{"templateID": "base", "timeout": -1}',
        "\xff\xfe",
    ],
)
def test_malformed_body(api, body):
    answer = api.post("/v2/sandboxes", content=body.encode("latin-1"), headers={"Content-Type": "application/json"})
    is_error(answer, 400)


def test_unknown_fields_are_ignored(api):
    answer = api.post("/v2/sandboxes", json={"templateID": "base", "timeout": 20, "somethingNew": {"a": 1}})
    assert answer.status_code == 201
    assert api.delete(f"/sandboxes/{answer.json()['sandboxID']}").status_code == 204


def test_our_extension_is_checked(api):
    for ours in ({"diskMb": 64}, {"memoryMB": 0}, {"cpus": -1}, {"pids": "many"}, 7):
        is_error(api.post("/v2/sandboxes", json={"templateID": "base", "timeout": 20, "hood": ours}), 400)


def test_a_huge_body(api):
    answer = api.post("/v2/sandboxes", json={"templateID": "base", "metadata": {"k": "v" * 5_000_000}})
    assert answer.status_code in (400, 413) and answer.json()["code"] == answer.status_code


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("DELETE", "", None),
        ("POST", "/timeout", {"timeout": 10}),
        ("POST", "/refreshes", {"duration": 10}),
        ("POST", "/connect", {"timeout": 10}),
    ],
)
def test_unknown_sandbox(api, method, path, body):
    assert NOBODY in is_error(api.request(method, f"/sandboxes/{NOBODY}{path}", json=body), 404)


@pytest.mark.parametrize("name", ["UPPER", "a%2fb", "..%2f..", "x" * 300, "%00", "%F0%9F%98%80"])
def test_garbled_ids(api, name):
    answer = api.get(f"/sandboxes/{name}")
    assert answer.status_code in (400, 404) and answer.json()["code"] == answer.status_code


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=101", "limit=x", "state=flying", "order=sideways", "nextToken=%%%", "startedAfter=yesterday"],
)
def test_garbled_listing(api, query):
    is_error(api.get(f"/v2/sandboxes?{query}"), 400)


def test_unknown_path_and_method(api):
    assert api.get("/no/such/path").status_code == 404
    assert api.request("PATCH", "/v2/sandboxes").status_code == 405


def test_dead_sandbox_on_the_data_path(data_url, create, route):
    dead = create()
    dead.kill()
    for sandbox_id in (dead.sandbox_id, NOBODY):
        answer = httpx.get(f"{data_url}/health", headers=route(sandbox_id=sandbox_id))
        assert answer.status_code == 502
        body = answer.json()
        assert body.pop("reason", None) is None or sandbox_id == dead.sandbox_id
        assert body == {"sandboxId": sandbox_id, "message": "The sandbox was not found", "code": 502}


def test_closed_port(data_url, sandbox, route):
    answer = httpx.get(f"{data_url}/", headers=route(port=7777))
    assert answer.status_code == 502
    assert answer.json() == {
        "sandboxId": sandbox.sandbox_id,
        "message": "The sandbox is running but port is not open",
        "port": 7777,
        "code": 502,
    }


@pytest.mark.parametrize("port", ["", "x", "0", "-1", "65536", "80 81", "+80"])
def test_garbled_port(data_url, route, port):
    is_error(httpx.get(f"{data_url}/health", headers=route(port=port)), 400)


@pytest.mark.parametrize("sandbox_id", ["", "UPPER", "with-dash", "../..", "x" * 100])
def test_garbled_sandbox_id(data_url, route, sandbox_id):
    is_error(httpx.get(f"{data_url}/health", headers=route(sandbox_id=sandbox_id)), 400)


def test_half_a_route(data_url, sandbox):
    is_error(httpx.get(f"{data_url}/health", headers={"E2b-Sandbox-Id": sandbox.sandbox_id}), 400)
    is_error(httpx.get(f"{data_url}/health", headers={"E2b-Sandbox-Port": "49983"}), 400)


def test_without_the_sandbox_token(data_url, sandbox, route):
    is_error(httpx.post(f"{data_url}/filesystem.Filesystem/Stat", headers=route(), json={"path": "/"}), 401)
    assert httpx.get(f"{data_url}/health", headers=route()).status_code == 204
    execute = httpx.post(f"{data_url}/execute", headers=route(port=49999), json={"code": "1"})
    assert execute.status_code >= 400
    assert run(sandbox, "echo fine") == "fine"


def test_one_sandbox_token_does_not_open_another(data_url, create, route):
    other = create()
    token = {"X-Access-Token": other._envd_access_token}
    is_error(httpx.post(f"{data_url}/filesystem.Filesystem/Stat", headers=route() | token, json={"path": "/"}), 401)


def test_health_and_metrics_of_the_server(api):
    assert api.get("/health").status_code in (200, 204)
    text = api.get("/metrics").text
    assert "# TYPE" in text and "hood_" in text
