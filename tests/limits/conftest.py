"""Trials of the ceilings in `LIMITS.md`, with the fixtures of `tests/sdk-python`.

Run it as those: against the server of the environment, or with `HOOD_BIN` and `HOOD_DATA_DIR` against one of its own.
"""

import importlib.util
import os
from pathlib import Path

import pytest
from calls import Calls

_path = Path(__file__).parents[1] / "sdk-python/conftest.py"
_spec = importlib.util.spec_from_file_location("sdk_conftest", _path)
_sdk = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_sdk)

pytest_configure, pytest_unconfigure = _sdk.pytest_configure, _sdk.pytest_unconfigure
api, create, interpret, interpreter = _sdk.api, _sdk.create, _sdk.interpret, _sdk.interpreter
sandbox, sized = _sdk.sandbox, _sdk.sized


@pytest.fixture
def calls(api):
    """Opens the plain HTTP side of a sandbox: calls(sandbox, user="root")."""
    opened = []

    def open_one(sandbox, user="user"):
        token = api.get(f"/sandboxes/{sandbox.sandbox_id}").json()["envdAccessToken"]
        opened.append(Calls(os.environ["E2B_SANDBOX_URL"], sandbox.sandbox_id, token, user))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def hood():
    """The program, where the tests know it."""
    if "HOOD_BIN" not in os.environ:
        pytest.skip("HOOD_BIN does not name the program")
    return os.environ["HOOD_BIN"]
