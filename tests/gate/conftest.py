"""What leaves a sandbox, tried against an internet that is served in network namespaces of the test's own.

`HOOD_BIN` names the program, `HOOD_TEMPLATES` a directory with built templates; the official SDK is pointed at the server
by `hood env`, as in the other suites. The tests' own process lives in the host's namespace of that small world, and the
server beside it.
"""

import json
import os
import subprocess
import tempfile

import httpx
import pytest
from e2b import Sandbox
from hood_server import HoodServer

from names import OURS
from world import DataDir, World, wait_until

CONFIGURATION = """
[gate]
dns_servers = ["{resolver}"]
extra_ca = "{ca}"
package_hosts = ["index.example.org", "registry.example.org"]

[gate.profiles.narrow]
policy = {{ allow = [{{ to = {{ name = "example.com" }}, ports = [443] }}] }}

[gate.profiles.inside]
open = ["10.0.0.5"]
policy = {{ base = "open" }}
"""

LIFE = 120  # seconds a test's sandbox lives if nobody ends it

_world = _server = _data = None


def pytest_configure(config):
    global _world, _server, _data
    if config.option.collectonly:
        return
    program, templates = os.environ.get("HOOD_BIN"), os.environ.get("HOOD_TEMPLATES")
    if not program or not templates:
        raise pytest.UsageError("set HOOD_BIN to the program and HOOD_TEMPLATES to a directory with built templates")
    scratch = tempfile.mkdtemp(prefix="hood-gate-")
    _data = DataDir(templates, CONFIGURATION.format(resolver=OURS, ca=f"{scratch}/ca.crt"))
    # The first start makes the authority that sandboxes believe; the world's certificates are signed by it.
    (_data.path / "hood.toml").rename(_data.path / "later")
    HoodServer(program, str(_data.path)).stop()
    (_data.path / "later").rename(_data.path / "hood.toml")
    _world = World(scratch, _data.path / "gate-ca.pem")
    _server = HoodServer(program, str(_data.path))
    os.environ.update(_server.env())


def pytest_unconfigure(config):
    if _server is not None:
        _server.stop()
        _world.close()
        _data.remove()


@pytest.fixture(scope="session")
def world():
    return _world


@pytest.fixture(scope="session")
def server():
    return _server


@pytest.fixture(scope="session")
def data_dir():
    return _data.path


@pytest.fixture
def api():
    headers = {"X-API-Key": os.environ["E2B_API_KEY"]}
    with httpx.Client(base_url=os.environ["E2B_API_URL"], headers=headers, timeout=30) as client:
        yield client


@pytest.fixture
def create():
    """Makes sandboxes that end with the test: create(network={...}, allow_internet_access=...)."""
    made = []

    def make(**options):
        made.append(Sandbox.create("base", timeout=LIFE, **options))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.kill()


@pytest.fixture
def create_raw(api):
    """The same over plain HTTP, for what the SDK has no words for: create_raw(network)."""
    made = []

    def make(network, **more):
        body = {"templateID": "base", "timeout": LIFE, "network": network, **more}
        answer = api.post("/v2/sandboxes", json=body)
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["sandboxID"])
        return Sandbox.connect(made[-1])

    yield make
    for sandbox in made:
        api.delete(f"/sandboxes/{sandbox}")


class Audit:
    """What the gate recorded of a sandbox."""

    def __init__(self, api):
        self.api = api

    def of(self, sandbox, **more):
        answer = self.api.get("/audit", params={"sandbox": sandbox.sandbox_id, **more})
        assert answer.status_code == 200, answer.text
        return answer.json()["entries"]

    def denied(self, sandbox, fits, within=3.0):
        """Whether a refusal that fits is recorded; entries are written a moment after the act."""
        return wait_until(lambda: any(fits(entry) for entry in self.of(sandbox, denied="true")), within)


@pytest.fixture
def audit(api):
    return Audit(api)


def outcome(sandbox, command, timeout=20):
    """Exit code, output and seconds of a command."""
    timed = f"s=$(date +%s.%N); ( {command} ); c=$?; e=$(date +%s.%N); echo; echo \"$c $(echo \"$e - $s\" | bc 2>/dev/null || python3 -c \"print($e - $s)\")\""
    said = sandbox.commands.run(timed, timeout=timeout).stdout
    body, _, last = said.rstrip("\n").rpartition("\n")
    code, seconds = last.split()
    return int(code), body.rstrip("\n"), float(seconds)


@pytest.fixture
def refused():
    """Asserts that a URL is refused at once, not timed out."""

    def check(sandbox, url, *options):
        code, said, seconds = outcome(sandbox, " ".join(["curl", "-sS", "-m", "8", "-o", "/dev/null", *options, f"'{url}'", "2>&1"]))
        assert code not in (0, 28), f"{url}: exit {code}: {said}"
        assert seconds < 1.5, f"{url} took {seconds:.2f} s: {said}"

    return check


@pytest.fixture
def fetched():
    """What a URL answers."""

    def get(sandbox, url, *options):
        code, said, _ = outcome(sandbox, " ".join(["curl", "-sS", "-m", "18", *options, f"'{url}'", "2>&1"]))
        assert code == 0, f"{url}: exit {code}: {said}"
        return said

    return get


@pytest.fixture
def inside():
    """Runs a Python program inside and hands back what it prints as JSON."""

    def run(sandbox, program, timeout=30):
        sandbox.files.write("/tmp/program.py", program)
        said = sandbox.commands.run("python3 /tmp/program.py", timeout=timeout).stdout
        return json.loads(said)

    return run


@pytest.fixture(autouse=True)
def nothing_forbidden_was_reached(world):
    """Around every test: no packet to an address that none may reach, and no call to a service of the host."""
    from names import FORBIDDEN, HOST, HOST6

    heard, calls = world.mark(), len(world.services.calls)
    yield
    bad = [hit for hit in heard("packet") if hit["to"] in FORBIDDEN]
    if world.allowed_for_a_moment:
        bad = [hit for hit in bad if hit["to"] not in world.allowed_for_a_moment]
    assert bad == []
    assert world.services.calls[calls:] == [], (HOST, HOST6)
    world.allowed_for_a_moment = []


def hood(*arguments, data_dir):
    program = os.environ["HOOD_BIN"]
    command = [program, *arguments, "--data-dir", str(data_dir)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)
