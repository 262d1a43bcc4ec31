"""E1. Whatever a caller puts into a command's environment or arguments acts inside, and never in a program of the host."""

import pytest
from e2b import SandboxException

from programs import answers, shell


def test_variables_that_load_code_act_inside_only(sandbox, trial, who):
    """`LD_PRELOAD` and `BASH_ENV` are how a helper of the host, started with them, would run the sandbox's code."""
    shell(sandbox, "echo 'id -u > /tmp/ran; cat /proc/self/mountinfo > /tmp/where' > /tmp/rc; chmod 644 /tmp/rc", who)
    envs = {"BASH_ENV": "/tmp/rc", "LD_PRELOAD": "/tmp/none.so", "LD_AUDIT": "/tmp/none.so", "PYTHONSTARTUP": "/tmp/rc",
            "PATH": "/tmp:/usr/bin:/bin", "IFS": "/", "ENV": "/tmp/rc", "PS4": "$(id)", "GLIBC_TUNABLES": "glibc.malloc.check=3"}  # fmt: skip
    for name, value in envs.items():
        sandbox.commands.run("bash -c 'true'; true", envs={name: value}, user=who)
    assert shell(sandbox, "cat /tmp/ran", "root").strip() == ("0" if who == "root" else "1000")
    trial.saw = "run as the account itself, inside"


@pytest.mark.parametrize("envs", [{"a=b": "c"}, {"": "x"}, {"A\nB": "c"}, {"A\0B": "c"}, {"A": "b\0c"}], ids=repr)
def test_names_that_are_none_are_refused_or_kept_whole(sandbox, trial, who, envs):
    try:
        said = sandbox.commands.run("env -0 | tr '\\0\\n' '\\n_'", envs=envs, user=who).stdout
        assert "A=c" not in said.split("\n")
        trial.saw = "kept whole"
    except SandboxException as refused:
        trial.saw = str(refused)[:80]
    assert answers(sandbox)


@pytest.mark.parametrize("size", [200_000, 2_000_000, 20_000_000])
def test_an_environment_that_is_too_large_is_an_error(sandbox, trial, who, size):
    with pytest.raises(SandboxException) as refused:
        sandbox.commands.run("true", envs={"A": "x" * size}, user=who)
    assert answers(sandbox)
    trial.saw = str(refused.value)[:90]


def test_arguments_that_are_too_long_are_an_error(sandbox, trial, who):
    with pytest.raises(SandboxException) as refused:
        sandbox.commands.run("echo " + "x" * 10_000_000, user=who, timeout=20)
    assert answers(sandbox)
    trial.saw = str(refused.value)[:90]


def test_creating_with_them(api, sandbox, trial):
    """The create call's environment reaches the guest by the host: lengths and names are bounded there."""
    for envs in ({"A": "x" * 2_000_000}, {f"N{n}": "x" * 100 for n in range(5000)}, {"a=b": "c"}, {"A": "b\0c"}):
        answer = api.post("/v2/sandboxes", json={"templateID": "base", "timeout": 30, "envVars": envs})
        assert answer.status_code in (400, 413), (answer.status_code, answer.text)
    trial.saw = "400 or 413"
