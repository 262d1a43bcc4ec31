"""D9: the hosts of sandboxes can be reached from inside, as from anywhere, and through them nothing else of the server.

The gate carries such a connection to the server's own listener, which is where the API is as well. What a program writes
into a later request on it, or into TLS, must not get there.
"""

import json
import os

import httpx
import pytest
from e2b import Sandbox
from hood_server import HoodServer

from world import DataDir

DOMAIN = "boxes.example"

#: Sends requests one after the other over one connection, and prints all that comes back.
TALK = """
import json, socket, ssl, sys
name, requests, sealed = json.loads(sys.argv[1])
stream = socket.create_connection((name, 443 if sealed else 80), 10)
if sealed:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    stream = context.wrap_socket(stream, server_hostname=name)
stream.settimeout(0.7)
for request in requests:
    try:
        stream.sendall(request.encode())
        while True:
            data = stream.recv(65536)
            if not data:
                break
            sys.stdout.write(data.decode(errors="replace"))
    except OSError as error:
        print(f"[{type(error).__name__}]")
"""


@pytest.fixture(scope="module")
def served():
    """A server with a domain and TLS, beside the one of the other tests."""
    data = DataDir(os.environ["HOOD_TEMPLATES"], "")
    server = HoodServer(os.environ["HOOD_BIN"], str(data.path), ["--domain", DOMAIN, "--tls"])
    try:
        yield server
    finally:
        server.stop()
        data.remove()


@pytest.fixture
def sandboxes(served, monkeypatch):
    for name, value in served.env().items():
        monkeypatch.setenv(name, value)
    made = []

    def make():
        made.append(Sandbox.create("base", timeout=120))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.kill()


def get(path, host, key=None):
    more = f"X-API-Key: {key}\r\n" if key else ""
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"


@pytest.mark.parametrize("sealed", [False, True], ids=["http", "https"])
def test_nothing_but_hosts_of_sandboxes(sandboxes, sealed):
    one, other = sandboxes(), sandboxes()
    other.files.write("/home/user/index.html", "a neighbour's public page")
    other.commands.run("exec python3 -m http.server 8000 --protocol HTTP/1.1", background=True)
    other.commands.run("until curl -so /dev/null localhost:8000; do sleep 0.1; done", timeout=20)
    host, key = f"8000-{other.sandbox_id}.{DOMAIN}", os.environ["E2B_API_KEY"]
    one.files.write("/tmp/talk.py", TALK)
    api = os.environ["E2B_API_URL"].split("//")[1]
    assert httpx.get(os.environ["E2B_API_URL"] + "/metrics").status_code == 200, "from outside it is there"

    def talk(*requests, to=host):
        arguments = json.dumps([to, requests, sealed])
        return one.commands.run(f"python3 /tmp/talk.py '{arguments}' 2>&1 || true", timeout=30).stdout

    assert "a neighbour's public page" in talk(get("/", host))
    for foreign in (api, "localhost", DOMAIN, "x"):
        for path in ("/metrics", "/v2/sandboxes"):
            said = talk(get("/", host), get(path, foreign, key))
            assert "a neighbour's public page" in said, said
            assert "hood_sandboxes" not in said and "sandboxID" not in said and "templateID" not in said, said
    # A name that no sandbox has is looked up and carried as well.
    nobody = f"8000-inobody0000000000000x.{DOMAIN}"
    said = talk(get("/metrics", nobody), get("/metrics", api, key), to=nobody)
    assert "hood_sandboxes" not in said, said
