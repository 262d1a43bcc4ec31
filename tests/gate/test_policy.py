"""Policies as callers write them, and what they do to live connections."""

import os
import signal
import time

import pytest
from hood_server import HoodServer
from world import DataDir, wait_until

STREAM = r"""
import socket, sys, time
s = socket.create_connection((sys.argv[1], 80), 8)
s.sendall(b"GET /stream HTTP/1.1\r\nHost: example.com\r\n\r\n")
last = 0
try:
    while True:
        data = s.recv(4096)
        if not data: break
        last = time.time()
        open("/tmp/last", "w").write(str(last))
except OSError:
    pass
open("/tmp/over", "w").write(str(time.time()))
"""


def test_internet_access_off_and_on(create, refused, fetched):
    for url in ["https://example.com/", "http://93.184.216.34/"]:
        refused(create(allow_internet_access=False), url)
        fetched(create(allow_internet_access=True), url)
        fetched(create(), url)


def test_a_new_policy_cuts_what_it_forbids_and_leaves_the_rest(create):
    sandbox = create()
    sandbox.files.write("/tmp/stream.py", STREAM)
    sandbox.commands.run("cd /tmp; python3 stream.py 93.184.216.34", background=True)
    assert wait_until(lambda: sandbox.files.exists("/tmp/last"), 5)
    sandbox.update_network({"deny_out": ["45.33.32.156"]})
    time.sleep(0.3)
    assert not sandbox.files.exists("/tmp/over"), "it is still allowed"
    took = []
    began = time.time()
    sandbox.update_network({"deny_out": ["93.184.216.34"]})
    assert wait_until(lambda: sandbox.files.exists("/tmp/over"), 2)
    took.append(float(sandbox.files.read("/tmp/over")) - began)
    print(f"cut {took[0] * 1000:.0f} ms after the call began")
    assert took[0] < 0.1 + 0.1, "the call's own time included"


def test_a_new_policy_counts_for_new_connections_at_once(create, refused, fetched):
    sandbox = create(network={"deny_out": ["0.0.0.0/0"]})
    refused(sandbox, "https://example.com/")
    sandbox.update_network({"allow_out": ["example.com"], "deny_out": ["0.0.0.0/0"]})
    fetched(sandbox, "https://example.com/")
    sandbox.update_network({})
    fetched(sandbox, "https://api.example.net/")


def test_a_paused_sandbox_wakes_under_its_policy(create, refused, fetched):
    sandbox = create(network={"allow_out": ["example.com"], "deny_out": ["0.0.0.0/0"]})
    sandbox.pause()
    sandbox.connect()
    fetched(sandbox, "https://example.com/")
    refused(sandbox, "https://api.example.net/")


def test_a_socks_proxy_carries_everything(create, fetched, world):
    proxy = {"address": "proxy.example.org:1080", "username": "u", "password": "secret-of-the-proxy"}
    sandbox, heard = create(network={"egress_proxy": proxy}), world.mark()
    assert '"method": "GET"' in fetched(sandbox, "https://example.com/")
    [hit] = heard("socks")
    assert (hit["who"], hit["host"], hit["port"]) == ("u:secret-of-the-proxy", "93.184.216.34", 443)


@pytest.mark.parametrize("address", ["127.0.0.1:22", "10.0.0.5:1080", "169.254.169.254:80", "[::1]:80", "host.example.com:2375"])
def test_a_proxy_is_no_way_to_private_addresses(create_raw, refused, address):
    refused(create_raw({"egressProxy": {"address": address}}), "https://example.com/")


def test_headers_are_set_and_secrets_stay_outside(create, fetched, api, audit, server, data_dir):
    value = "sekret-5f1d9c"
    assert api.post("/secrets", json={"name": "token", "value": value}).status_code == 201
    rules = {"httpbin.example.org": [{"transform": {"headers": {"Authorization": "Bearer ${e2b.secrets.token}"}}}]}
    sandbox = create(network={"rules": rules})
    said = fetched(sandbox, "https://httpbin.example.org/headers")
    assert "Authorization" in said and value not in said, "the echo is cut out"
    everywhere = sandbox.commands.run("env; sudo cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; true").stdout
    assert value not in everywhere
    assert value not in str(audit.of(sandbox)) and value not in server.tail(1_000_000)
    assert value.encode() not in (data_dir / "hood.sqlite").read_bytes()


def test_the_secret_really_arrives(create, fetched, api, world):
    api.post("/secrets", json={"name": "arrives", "value": "arrives-77"})
    rules = {"httpbin.example.org": [{"transform": {"headers": {"X-Key": "${e2b.secrets.arrives}"}}}]}
    sandbox, heard = create(network={"rules": rules}), world.mark()
    fetched(sandbox, "https://httpbin.example.org/get")
    [hit] = heard("http")
    assert hit["headers"]["X-Key"] == "arrives-77"


def test_request_rules(create_raw, fetched):
    requests = {"example.com": [{"methods": ["GET"], "path": "/public"}]}
    sandbox = create_raw({"allowOut": ["example.com"], "denyOut": ["0.0.0.0/0"], "hood": {"requests": requests}})
    code = ["-o", "/dev/null", "-w", "'%{http_code}'"]
    assert fetched(sandbox, "https://example.com/public/a", *code) == "200"
    for url, more in [
        ("https://example.com/private", []),
        ("https://example.com/public/../private", ["--path-as-is"]),
        ("https://example.com/public%2f..%2fprivate", []),
        ("https://example.com/public/a", ["-X", "POST"]),
        ("https://example.com/public/a", ["-H", "'X-HTTP-Method-Override: DELETE'"]),
    ]:
        said = fetched(sandbox, url, *more, *code)
        assert said != "200" or "Override" in str(more), (url, more, said)


def test_profiles_bound_what_a_create_call_may(create_raw, refused, fetched, api):
    narrow = create_raw({"hood": {"profile": "narrow"}})
    fetched(narrow, "https://example.com/")
    refused(narrow, "http://example.com/")
    refused(narrow, "https://api.example.net/")
    packages = create_raw({"hood": {"profile": "packages"}})
    fetched(packages, "https://index.example.org/simple/")
    refused(packages, "https://example.com/")
    answer = api.post("/v2/sandboxes", json={"templateID": "base", "network": {"hood": {"profile": "none"}}})
    assert answer.status_code == 400 and "narrow" in answer.json()["message"], answer.text


def test_log_only_lets_through_and_says_so(create_raw, fetched, audit, refused):
    sandbox = create_raw({"denyOut": ["0.0.0.0/0"], "hood": {"logOnly": True}})
    fetched(sandbox, "http://93.184.216.34/")
    assert audit.denied(sandbox, lambda entry: entry["kind"] == "would_deny" and entry["to"] == "93.184.216.34:80")
    refused(sandbox, "http://169.254.169.254/")


def test_budgets(create_raw, fetched, refused, inside):
    sandbox = create_raw({"hood": {"bytesIn": 1_000_000}})
    fetched(sandbox, "http://93.184.216.34/")
    refused(sandbox, "http://93.184.216.34/bytes?n=5000000")
    refused(sandbox, "http://93.184.216.34/")
    sandbox = create_raw({"hood": {"connectionSeconds": 1}})
    began = time.monotonic()
    sandbox.commands.run("curl -s -m 8 http://93.184.216.34/stream >/dev/null; true")
    assert 0.8 < time.monotonic() - began < 3
    sandbox = create_raw({"hood": {"bytesPerSecond": 500_000}})
    began = time.monotonic()
    fetched(sandbox, "http://93.184.216.34/bytes?n=1500000", "-o", "/dev/null")
    assert time.monotonic() - began > 1.5


def test_bad_policies_name_what_is_wrong(api):
    for network, part in [
        ({"denyOut": ["example.com"]}, "denyOut"),
        ({"allowOut": ["example.com"]}, "0.0.0.0/0"),
        ({"dnsServers": ["x"]}, "dnsServers"),
        ({"rules": {"*": [{}]}}, "rules"),
        ({"rules": {"example.com": [{"transform": {"headers": {"bad name": "x"}}}]}}, "header"),
        ({"rules": {"example.com": [{"transform": {"headers": {"x": "a\r\nb"}}}]}}, "x"),
        ({"egressProxy": {"address": "no-port"}}, "proxy"),
        ({"hood": {"bytesout": 1}}, "bytesout"),
    ]:
        answer = api.post("/v2/sandboxes", json={"templateID": "base", "network": network})
        assert answer.status_code == 400 and part in answer.json()["message"], (network, answer.text)


def test_without_its_server_a_sandbox_has_no_network(data_dir, world):
    """It fails closed: the processes end with the server, and their sockets with them."""
    other = DataDir(os.environ["HOOD_TEMPLATES"], (data_dir / "hood.toml").read_text())
    server = HoodServer(os.environ["HOOD_BIN"], str(other.path))
    try:
        from e2b import Sandbox

        env = server.env()
        sandbox = Sandbox.create("base", api_key=env["E2B_API_KEY"], api_url=env["E2B_API_URL"], sandbox_url=env["E2B_SANDBOX_URL"])
        sandbox.commands.run("while :; do curl -s -m 1 http://93.184.216.34/alive >/dev/null; sleep 0.05; done", background=True)
        time.sleep(0.5)
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        # Its processes end with the server's helpers; what is left of them would go on asking.
        last = world.mark()
        time.sleep(1)
        heard = world.mark()
        time.sleep(1)
        assert not any(hit.get("path") == "/alive" for hit in heard("http")), last("http")
    finally:
        if server.process.poll() is None:
            server.stop()
        other.remove()
