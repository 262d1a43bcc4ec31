"""End-to-end tests with E2B's official Python packages, unmodified, as a user would write the code.

They talk to the server that the environment names (`eval "$(hood env)"`). Without one, and with `HOOD_BIN` (the
program) and `HOOD_DATA_DIR` (with built templates), they start a server of their own on a free port and take the
environment exactly from `hood env`. `pytest -n 2` runs them in parallel against that one server. Every test makes its
own sandboxes, and the fixtures end them. What the SDK has no words for goes through plain HTTP (`api`, `sized`).
"""

import os

import httpx
import pytest
from e2b import AsyncSandbox, Sandbox
from e2b_code_interpreter import AsyncSandbox as AsyncInterpreter
from e2b_code_interpreter import Sandbox as Interpreter
from hood_server import HoodServer

LIFE = 180  # seconds a test's sandbox lives if nobody ends it

_server = None


def pytest_configure(config):
    """Before any worker starts: workers inherit the environment."""
    global _server
    if hasattr(config, "workerinput") or "E2B_API_URL" in os.environ or config.option.collectonly:
        return
    program, data_dir = os.environ.get("HOOD_BIN"), os.environ.get("HOOD_DATA_DIR")
    if not program or not data_dir:
        raise pytest.UsageError('run `eval "$(hood env)"` first, or set HOOD_BIN and HOOD_DATA_DIR')
    _server = HoodServer(program, data_dir)
    os.environ.update(_server.env())


def pytest_unconfigure(config):
    global _server
    if _server is not None:
        server, _server = _server, None
        server.stop()


@pytest.fixture
def api():
    """The control plane over plain HTTP, with the key."""
    headers = {"X-API-Key": os.environ["E2B_API_KEY"]}
    with httpx.Client(base_url=os.environ["E2B_API_URL"], headers=headers, timeout=30) as client:
        yield client


@pytest.fixture
def data_url():
    """Where sandboxes are reached; the headers of `route` say which."""
    return os.environ["E2B_SANDBOX_URL"]


@pytest.fixture
def create():
    """Makes sandboxes of the template `base` that end with the test."""
    made = []

    def make(*arguments, **more):
        made.append(Sandbox.create(*arguments, **{"timeout": LIFE} | more))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.kill()


@pytest.fixture
def sandbox(create):
    """A sandbox of the template `base`."""
    return create()


@pytest.fixture
def interpret():
    """Makes sandboxes that run code, and that end with the test."""
    made = []

    def make(**more):
        made.append(Interpreter.create(**{"timeout": LIFE} | more))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.kill()


@pytest.fixture
def interpreter(interpret):
    """A sandbox that runs code."""
    return interpret()


@pytest.fixture
def sized(api):
    """Makes sandboxes of other sizes than the template's, by our extension of the create call: sized(diskMB=64)."""
    made = []

    def make(kind=Sandbox, **size):
        body = {"templateID": kind.default_template, "timeout": LIFE, "hood": size}
        answer = api.post("/v2/sandboxes", json=body)
        assert answer.status_code == 201, answer.text
        made.append(kind.connect(answer.json()["sandboxID"], timeout=LIFE))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.kill()


@pytest.fixture
async def async_sandbox():
    """As `sandbox`, for the asynchronous package."""
    sandbox = await AsyncSandbox.create(timeout=LIFE)
    yield sandbox
    await sandbox.kill()


@pytest.fixture
async def async_interpreter():
    """As `interpreter`, for the asynchronous package."""
    sandbox = await AsyncInterpreter.create(timeout=LIFE)
    yield sandbox
    await sandbox.kill()
