"""Hostile programs, each with the one right outcome: runs on a server beside it, as root of the host.

Server and environment are those of `sdk-python`: its conftest. `HOOD_DATA_DIR` names the server's data directory either
way, because the host's state is compared. One file an item of the list, its id in the name; how a trial goes is told in
`trial.py`. `HOOD_FULL=1` runs the long form of what is shortened.
"""

import functools
import importlib.util
import os
import subprocess
from pathlib import Path

import pytest
from e2b import Sandbox
from e2b_code_interpreter import Sandbox as Interpreter

from report import Report, destination
from trial import Laboratory, Trial, find_server

_path = Path(__file__).parent.parent / "sdk-python" / "conftest.py"
_spec = importlib.util.spec_from_file_location("sdk_conftest", _path)
_sdk = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_sdk)

pytest_configure, pytest_unconfigure = _sdk.pytest_configure, _sdk.pytest_unconfigure
api, data_url = _sdk.api, _sdk.data_url

#: Items that load the whole machine, or take it long to recover from: marked `slow`, all their cases.
HEAVY = ("a06", "a09", "a10", "a11", "a16", "c08", "c09", "e04", "e06", "e12", "f02", "l01")

LIFE = 300  # seconds a trial's sandbox lives if nobody ends it
_report = Report()


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name.removeprefix("test_").startswith(HEAVY):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=["user", "root"])
def who(request):
    """Every attack as the ordinary account and as root inside, who is one `sudo` away."""
    return request.param


@pytest.fixture(scope="session")
def laboratory():
    if os.geteuid() != 0:
        pytest.exit("the hostile suite compares the host's state: run it as root", 2)
    data_dir = os.environ["HOOD_DATA_DIR"]
    laboratory = Laboratory(data_dir, find_server(data_dir))
    yield laboratory
    laboratory.close()


@pytest.fixture
def trial(laboratory, request):
    """The three checks, around every test that makes a sandbox."""
    trial = request.node.trial = Trial(laboratory)
    yield trial
    trial.end()


@pytest.fixture
def create(trial):
    """Makes sandboxes of the template `base` with its default limits."""

    def make(**more):
        trial.made.append(Sandbox.create(**{"timeout": LIFE} | more))
        return trial.made[-1]

    return make


@pytest.fixture
def sandbox(create):
    return create()


@pytest.fixture(scope="session")
def template(laboratory):
    """Builds a template of `templates/` and hands back its name: `hood` carries only the recipes that everybody needs."""
    if "HOOD_BIN" not in os.environ:
        pytest.skip("HOOD_BIN names no program to build a template with")

    @functools.cache
    def build(name):
        recipe = Path(__file__).parent / "templates" / f"{name}.toml"
        data_dir = os.environ["HOOD_DATA_DIR"]
        subprocess.run([os.environ["HOOD_BIN"], "template", "build", recipe, "--data-dir", data_dir], check=True)
        laboratory.settle(name)
        return name

    return build


@pytest.fixture
def interpret(trial):
    """Makes sandboxes that run code."""

    def make(**more):
        trial.made.append(Interpreter.create(**{"timeout": LIFE} | more))
        return trial.made[-1]

    return make


@pytest.fixture
def interpreter(interpret):
    return interpret()


@pytest.fixture
def sized(trial, api):
    """Sandboxes of other sizes than the template's: only where the default would take minutes to fill."""

    def make(kind=Sandbox, **size):
        body = {"templateID": kind.default_template, "timeout": LIFE, "hood": size}
        answer = api.post("/v2/sandboxes", json=body)
        assert answer.status_code == 201, answer.text
        trial.made.append(kind.connect(answer.json()["sandboxID"], timeout=LIFE))
        return trial.made[-1]

    return make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    phase = yield
    phases = item.stash.setdefault(_PHASES, [])
    phases.append(phase)
    if phase.when == "teardown":
        _report.add(item, getattr(item, "trial", None), phases)
    return phase


def pytest_terminal_summary(terminalreporter):
    _report.show(terminalreporter)
    if _report.lines:
        destination().parent.mkdir(exist_ok=True)
        _report.write(destination())
        terminalreporter.write_line(f"written to {destination()}")


_PHASES = pytest.StashKey()
