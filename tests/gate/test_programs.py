"""Ordinary programs notice nothing, under an open policy and under one that names their hosts."""

import pytest

NAMED = {
    "allow_out": ["example.com", "index.example.org", "registry.example.org", "git.example.org"],
    "deny_out": ["0.0.0.0/0"],
}


@pytest.fixture(params=["open", "named"])
def sandbox(create, request):
    return create(network={} if request.param == "open" else NAMED)


def test_curl(sandbox, fetched):
    for url in ["http://example.com/", "https://example.com/", "https://example.com:8443/"]:
        assert '"method": "GET"' in fetched(sandbox, url)
    assert len(fetched(sandbox, "https://example.com/bytes?n=3000000")) == 3_000_000


def test_python(sandbox, inside):
    program = r"""
import json, socket, ssl, urllib.request
urls = ["http://example.com/", "https://example.com/"]
said = [json.load(urllib.request.urlopen(url, timeout=8))["method"] for url in urls]
with socket.create_connection(("example.com", 443), 8) as plain:
    with ssl.create_default_context().wrap_socket(plain, server_hostname="example.com") as tls:
        tls.sendall(b"GET / HTTP/1.0\r\nHost: example.com\r\n\r\n")
        said.append(tls.recv(15).decode())
print(json.dumps(said))
"""
    assert inside(sandbox, program) == ["GET", "GET", "HTTP/1.1 200 OK"]


def test_pip(sandbox):
    command = "python3 -m venv --without-pip /tmp/v && python3 -m pip --python /tmp/v/bin/python install -q --index-url https://index.example.org/simple demo-gate && /tmp/v/bin/python -c 'import importlib.metadata as m; print(m.version(\"demo-gate\"))'"
    assert sandbox.commands.run(command, timeout=60).stdout.strip() == "1.0"


def test_npm(sandbox):
    command = "mkdir -p /tmp/n && cd /tmp/n && npm --registry https://registry.example.org/ --no-audit --no-fund --no-update-notifier install demo-gate >/dev/null && node -p 'require(\"demo-gate/package.json\").version'"
    assert sandbox.commands.run(command, timeout=60).stdout.strip() == "1.0.0"


def test_git(sandbox):
    command = "git clone -q https://git.example.org/repo.git /tmp/r && cat /tmp/r/README"
    assert sandbox.commands.run(command, timeout=60).stdout == "from the fake internet\n"


def test_servers_that_speak_first(create, inside):
    """Under an open policy nobody waits for a name."""
    program = r"""
import json, socket, time
said = []
for port in (22, 25):
    began = time.monotonic()
    with socket.create_connection(("93.184.216.34", port), 8) as s:
        said.append(s.recv(100).decode().strip())
    assert time.monotonic() - began < 1
with socket.create_connection(("93.184.216.34", 5432), 8) as s:
    s.sendall(b"\0\0\0\x08\x04\xd2\x16\x2f")  # PostgreSQL's request for TLS; the server here says it back
    said.append(s.recv(100).hex())
print(json.dumps(said))
"""
    assert inside(create(), program) == ["SSH-2.0-fake", "220 fake", "0000000804d2162f"]


def test_half_closed_connections_carry_on(create, inside):
    program = r"""
import json, socket
s = socket.create_connection(("93.184.216.34", 7), 8)
s.sendall(b"x" * 100_000)
s.shutdown(socket.SHUT_WR)
heard = 0
while more := s.recv(65536): heard += len(more)
print(json.dumps(heard))
"""
    assert inside(create(), program) == 100_000
