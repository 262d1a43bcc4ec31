"""What the gate records, and what is made of it."""

import json

from conftest import hood
from world import wait_until


def test_decisions_and_ends_are_recorded(create, fetched, refused, audit):
    sandbox = create(network={"allow_out": ["example.com"], "deny_out": ["0.0.0.0/0"]})
    fetched(sandbox, "https://example.com/bytes?n=10000", "-o", "/dev/null")
    refused(sandbox, "http://45.33.32.156/secret?token=1")

    def ended():
        return [e for e in audit.of(sandbox) if e["kind"] == "ended" and e["protocol"] == "tls"]

    assert wait_until(lambda: bool(ended()), 3)
    [end] = ended()
    assert end["name"] == "example.com" and end["bytes_in"] > 10_000 and end["bytes_out"] > 100 and end["duration"] >= 0
    allowed = [e for e in audit.of(sandbox) if e["connection"] == end["connection"] and e["kind"] == "allowed"]
    assert allowed[0]["rule"] == {"allowed": "example.com"} and allowed[0]["to"] == "93.184.216.34:443"
    assert audit.denied(sandbox, lambda entry: entry["to"] == "45.33.32.156:80")
    assert "token=1" not in str(audit.of(sandbox)), "queries are not recorded"


def test_the_command_shows_them(create, refused, data_dir, audit):
    sandbox = create(network={"deny_out": ["0.0.0.0/0"]})
    refused(sandbox, "http://45.33.32.156/")
    assert audit.denied(sandbox, lambda entry: entry["to"] == "45.33.32.156:80")
    shown = hood("audit", "--sandbox", sandbox.sandbox_id, "--denied", data_dir=data_dir)
    assert shown.returncode == 0 and "denied" in shown.stdout and "45.33.32.156:80" in shown.stdout, shown
    lines = hood("audit", "--sandbox", sandbox.sandbox_id, "--json", data_dir=data_dir).stdout
    assert "45.33.32.156:80" in lines


def test_a_policy_is_suggested_that_lets_through_what_was(create, fetched, data_dir, audit):
    sandbox = create()
    fetched(sandbox, "https://example.com/")
    fetched(sandbox, "https://api.example.net/")
    assert wait_until(lambda: sum(e["kind"] == "ended" for e in audit.of(sandbox)) >= 2, 3)
    said = hood("audit", "--sandbox", sandbox.sandbox_id, "--suggest", data_dir=data_dir)
    policy = json.loads(said.stdout)
    assert policy["base"] == "closed", policy
    assert "93.184.216.34" in str(policy["allow"]) or "example.com" in str(policy["allow"]), policy


def test_a_team_s_audit_needs_its_key(api):
    assert api.get("/audit", headers={"X-API-Key": "e2b_" + "0" * 40}).status_code == 401
    answer = api.get("/audit", params={"nonsense": "1"})
    assert answer.status_code == 400


def test_connections_that_the_sandbox_s_end_cuts_are_recorded(create, api, audit):
    sandbox = create()
    sandbox.commands.run("curl -s -m 60 http://93.184.216.34/stream >/dev/null", background=True)
    assert wait_until(lambda: any(e["kind"] == "allowed" for e in audit.of(sandbox)), 5)
    sandbox.kill()

    def ended():
        return [e for e in audit.of(sandbox) if e["kind"] == "ended" and e["to"] == "93.184.216.34:80"]

    assert wait_until(lambda: bool(ended()), 3)
    assert ended()[0]["bytes_in"] > 0
