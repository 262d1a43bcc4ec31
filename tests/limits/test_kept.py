"""Ceilings of what outlives a sandbox: snapshots and volumes."""

import uuid

import httpx
import pytest
from page import meets

SANDBOXES, PROTOCOL = "Sandboxes", "E2B's protocol"


def is_refused(answer, status=400):
    assert answer.status_code == status, answer.text
    assert answer.json()["message"]


@pytest.fixture
def volume(api):
    """A volume of the default size, as the API shows it."""
    made = api.post("/volumes", json={"name": f"t-{uuid.uuid4().hex[:12]}"}).json()
    yield made
    assert api.delete(f"/volumes/{made['volumeID']}").status_code == 204


@pytest.fixture
def content(volume, api):
    """Calls to its files: content("GET", "dir", path="/")."""
    base = f"{str(api.base_url).rstrip('/')}/volumecontent/{volume['volumeID']}"
    with httpx.Client(headers={"Authorization": f"Bearer {volume['token']}"}, timeout=60) as client:
        yield lambda method, what, body=None, **query: client.request(method, f"{base}/{what}", params=query, content=body)


@meets(SANDBOXES, "SNAPSHOT_NAME")
def test_snapshot_name(limit, sandbox, api):
    url = f"/sandboxes/{sandbox.sandbox_id}/snapshots"
    is_refused(api.post(url, json={"name": "x" * (limit + 1)}))
    made = api.post(url, json={"name": uuid.uuid4().hex.ljust(limit, "x")})
    assert made.status_code == 201, made.text
    assert api.delete(f"/templates/{made.json()['snapshotID']}").status_code == 204


@meets(SANDBOXES, "FORKS")
def test_forks(limit, sandbox, api):
    is_refused(api.post(f"/sandboxes/{sandbox.sandbox_id}/fork", json={"count": limit + 1}))
    made = api.post(f"/sandboxes/{sandbox.sandbox_id}/fork", json={"count": limit, "timeout": 60})
    assert made.status_code == 201, made.text
    children = [child["sandbox"]["sandboxID"] for child in made.json()]
    assert len(set(children)) == limit
    for child in children:
        assert api.delete(f"/sandboxes/{child}").status_code == 204


@meets(SANDBOXES, "VOLUME")
def test_a_volume_that_asks_for_no_size(limit, volume, api):
    # `df` inside shows the pool that all share; that a size holds is shown with a small one, in tests/sdk-python.
    assert volume["sizeMB"] << 20 == limit
    assert api.get(f"/volumes/{volume['volumeID']}").json()["sizeMB"] << 20 == limit


@meets(SANDBOXES, "VOLUME_NAME")
def test_volume_name(limit, api):
    is_refused(api.post("/volumes", json={"name": "x" * (limit + 1)}))
    made = api.post("/volumes", json={"name": uuid.uuid4().hex.ljust(limit, "x")})
    assert made.status_code == 201, made.text
    assert api.delete(f"/volumes/{made.json()['volumeID']}").status_code == 204


@meets(SANDBOXES, "VOLUMES_EACH")
def test_volumes_of_one_sandbox(limit, volume, api):
    def mounted(count):
        places = [{"name": volume["name"], "path": f"/data{n}"} for n in range(count)]
        return api.post("/v2/sandboxes", json={"templateID": "base", "timeout": 30, "volumeMounts": places})

    is_refused(mounted(limit + 1))
    made = mounted(limit)
    assert made.status_code == 201, made.text
    assert api.delete(f"/sandboxes/{made.json()['sandboxID']}").status_code == 204


@meets(SANDBOXES, "MOUNT_PATH")
def test_mount_path(limit, volume, api):
    def mounted(length):
        path = ("/" + "x" * 99) * 20
        place = [{"name": volume["name"], "path": path[: length - 1] + "x"}]
        return api.post("/v2/sandboxes", json={"templateID": "base", "timeout": 30, "volumeMounts": place})

    is_refused(mounted(limit + 1))
    made = mounted(limit)
    assert made.status_code == 201, made.text
    assert api.delete(f"/sandboxes/{made.json()['sandboxID']}").status_code == 204


@meets(PROTOCOL, "VOLUME_PATH")
def test_volume_path(limit, content):
    is_refused(content("GET", "path", path="/" + "x" * limit))
    # As long as it may be, and of names that no file system has: looked for, and not there.
    assert content("GET", "path", path=("/" + "x" * 99) * (limit // 100)).status_code == 404


@meets(PROTOCOL, "VOLUME_DEPTH")
def test_volume_depth(limit, content):
    assert content("POST", "dir", path="/d" * (limit + 1), force="true").status_code == 201
    is_refused(content("GET", "dir", path="/", depth=limit + 1))
    found = content("GET", "dir", path="/", depth=limit)
    assert found.status_code == 200 and len(found.json()) == limit


@meets(PROTOCOL, "VOLUME_ENTRIES")
def test_volume_entries(limit, volume, content, create):
    sandbox = create(volume_mounts={"/data": volume["name"]})
    sandbox.commands.run(f"cd /data && seq {limit} | xargs touch")
    found = content("GET", "dir", path="/")
    assert found.status_code == 200 and len(found.json()) == limit
    sandbox.commands.run("touch /data/more")
    is_refused(content("GET", "dir", path="/"))


@meets(PROTOCOL, "VOLUME_IDS")
def test_volume_ids(limit, content):
    is_refused(content("PUT", "file", b"x", path="/f", uid=limit))
    is_refused(content("PUT", "file", b"x", path="/f", gid=limit))
    made = content("PUT", "file", b"x", path="/f", uid=limit - 1, gid=limit - 1)
    assert made.status_code == 201 and made.json()["uid"] == limit - 1
