"""Hostile programs, each with the one right outcome. Server and fixtures are those of `sdk-python`: its conftest."""

import importlib.util
from pathlib import Path

import pytest

_path = Path(__file__).parent.parent / "sdk-python" / "conftest.py"
_spec = importlib.util.spec_from_file_location("sdk_conftest", _path)
_sdk = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_sdk)

pytest_configure, pytest_unconfigure = _sdk.pytest_configure, _sdk.pytest_unconfigure
api, create, sandbox, sized = _sdk.api, _sdk.create, _sdk.sandbox, _sdk.sized
interpret, interpreter = _sdk.interpret, _sdk.interpreter


@pytest.fixture(params=["user", "root"])
def who(request):
    """Every attack as the ordinary account and as root inside, who is one `sudo` away."""
    return request.param
