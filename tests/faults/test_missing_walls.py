"""A host that lacks a wall: the server refuses to start and says why, unless it was told to do without, by name."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import httpx
import pytest

NOTHING = {"cgroups": 0, "processes": 0, "network namespaces": 0, "writable layers": 0, "loop devices": 0}
PATIENCE = 10

#: In a mount namespace of its own: no other process misses anything.
NO_LOOP_DEVICES = 'mount --bind /dev/null /dev/loop-control; exec "$@"'
NO_CGROUP2 = 'umount -l $(grep " cgroup2 " /proc/mounts | cut -d" " -f2); exec "$@"'


def command(place, hide, *more):
    serve = [place.program, "serve", "--data-dir", place.data_dir, "--listen", "127.0.0.1:0", *more]
    return ["unshare", "--mount", "sh", "-c", hide, "sh", *serve]


def refused(place, hide, *more):
    done = subprocess.run(command(place, hide, *more), capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "is ready" not in done.stdout
    return done.stderr


def test_without_a_disk_limit_it_does_not_start(places):
    place = places()
    said = refused(place, NO_LOOP_DEVICES)
    assert "the wall `disk` is missing" in said and "loop device" in said
    assert "`hood serve --without disk --data-dir " in said and "btrfs" in said
    place.host.settle(NOTHING, PATIENCE)


def test_it_starts_without_a_wall_that_is_named_and_says_so(places):
    place = places()
    with subprocess.Popen(
        command(place, NO_LOOP_DEVICES, "--without", "disk"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        url = next(line.split()[4].rstrip(";") for line in server.stdout if "is ready at" in line)
        try:
            key = (place.data_dir / "api-key").read_text().strip()
            with httpx.Client(base_url=url, headers={"X-API-Key": key}, timeout=30) as api:
                made = api.post("/v2/sandboxes", json={"templateID": "base", "timeout": 60}).json()["sandboxID"]
                walls = api.get(f"/sandboxes/{made}").json()["isolation"]["walls"]
            assert walls.pop("disk") == "missing"
            assert set(walls.values()) == {"full"}
        finally:
            server.terminate()
            _, log = server.communicate(timeout=30)
    assert server.returncode == 0
    assert "started without a wall" in log
    place.host.settle(NOTHING, PATIENCE)


def test_a_needed_wall_cannot_be_done_without(places):
    place = places()
    said = refused(place, NO_CGROUP2, "--without", "disk")
    assert "the wall `tree_kill` is missing" in said and "no sandbox is made without this wall" in said
    for wall in ("seccomp", "namespaces", "privilege"):
        done = subprocess.run(command(place, 'exec "$@"', "--without", wall), capture_output=True, text=True, timeout=30)
        assert done.returncode == 2 and f"no sandbox is made without `{wall}`" in done.stderr
    # Only a server without root may be told so.
    said = refused(place, 'exec "$@"', "--without", "memory")
    assert "no sandbox is made without `memory`, where the server is root" in said


def test_all_walls_stand_and_a_sandbox_says_so(place):
    sandbox = place.create()
    isolation = place.api.get(f"/sandboxes/{sandbox}").json()["isolation"]
    walls = isolation.pop("walls")
    assert isolation == {"driver": "native", "mode": "root", "network": "gate"}
    assert {"memory", "cpu", "pids", "disk", "seccomp", "namespaces", "tree_kill", "idmap"} == set(walls)
    assert set(walls.values()) == {"full"}
    show = [place.program, "sandbox", "show", sandbox, "--data-dir", place.data_dir, "--json"]
    shown = json.loads(subprocess.run(show, capture_output=True, check=True, env=clean()).stdout)
    assert shown["isolation"]["walls"] == walls and "envdAccessToken" not in shown


@pytest.fixture
def as_nobody(place):
    """Runs the program as an account without rights, from where that account may read it."""
    with tempfile.TemporaryDirectory() as where:
        Path(where).chmod(0o755)
        program = shutil.copy(place.program, where)
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", program]

        def run(*arguments):
            everything = [*nobody, *arguments, "--data-dir", f"{where}/none"]
            return subprocess.run(everything, capture_output=True, text=True, timeout=30, env=clean())

        yield run


def test_the_doctor_speaks_to_everybody(as_nobody):
    done = as_nobody("doctor", "--json")
    findings = {finding["wall"]: finding for finding in json.loads(done.stdout)}
    assert done.returncode == 1
    privilege, memory = findings["privilege"], findings["memory"]
    assert privilege["standing"] == "missing" and privilege["advice"]
    assert memory["modes"]["root"] == findings["seccomp"]["standing"] == "full"
    assert memory["standing"] == memory["modes"]["rootless"]


def clean():
    return {name: value for name, value in os.environ.items() if not name.startswith(("E2B_", "HOOD_"))}
