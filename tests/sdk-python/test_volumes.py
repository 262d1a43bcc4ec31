"""Volumes: files that sandboxes share and that outlive them, through the official package and by mounts."""

import concurrent.futures
import uuid

import httpx
import pytest
from e2b import Sandbox, Volume
from e2b.exceptions import NotFoundException, SandboxException
from e2b.volume.types import VolumeFileType

from helpers import fails


@pytest.fixture
def volumes(api):
    """Makes volumes, of a size where one is given, and removes them after the sandboxes of the test."""
    made = []

    def make(size_mb=None):
        name = f"t-{uuid.uuid4().hex[:12]}"
        body = {"name": name} | ({"hood": {"sizeMB": size_mb}} if size_mb else {})
        answer = api.post("/volumes", json=body)
        assert answer.status_code == 201, answer.text
        made.append(Volume.connect(answer.json()["volumeID"]))
        return made[-1]

    yield make
    for volume in made:
        answer = api.delete(f"/volumes/{volume.volume_id}")
        assert answer.status_code in (204, 404), answer.text


@pytest.fixture
def volume(volumes):
    return volumes()


@pytest.fixture
def mounted(volume, create):
    return create(volume_mounts={"/data": volume})


def test_a_volume_is_made_found_and_removed():
    name = f"t-{uuid.uuid4().hex[:12]}"
    volume = Volume.create(name)
    assert volume.name == name and volume.token
    assert [found.name for found in Volume.list() if found.volume_id == volume.volume_id] == [name]
    assert Volume.get_info(volume.volume_id).name == name
    assert Volume.destroy(volume.volume_id)
    assert not Volume.destroy(volume.volume_id)
    with pytest.raises(NotFoundException):
        Volume.get_info(volume.volume_id)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "x" * 200, "a\0"])
def test_bad_names(api, name):
    assert api.post("/volumes", json={"name": name}).status_code == 400


def test_a_name_is_had_once(volume, api):
    assert api.post("/volumes", json={"name": volume.name}).status_code == 409


def test_files_by_path(volume):
    entry = volume.make_dir("/a/b", force=True, mode=0o750)
    assert (entry.type, entry.mode & 0o7777, entry.path) == (VolumeFileType.DIRECTORY, 0o750, "/a/b")
    entry = volume.write_file("/a/b/hello.txt", "hello", uid=1000, gid=1000, mode=0o640)
    assert (entry.size, entry.uid, entry.gid, entry.mode & 0o7777) == (5, 1000, 1000, 0o640)
    assert volume.read_file("/a/b/hello.txt") == "hello"
    with pytest.raises(Exception, match="there already"):
        volume.write_file("/a/b/hello.txt", "again", force=False)
    volume.write_file("/a/b/hello.txt", "again", force=True)
    assert volume.read_file("/a/b/hello.txt") == "again"
    assert [found.path for found in volume.list("/a")] == ["/a/b"]
    assert [found.path for found in volume.list("/", depth=3)] == ["/a", "/a/b", "/a/b/hello.txt"]
    assert volume.update_metadata("/a/b/hello.txt", mode=0o600).mode & 0o7777 == 0o600
    assert volume.exists("/a/b/hello.txt")
    volume.remove("/a")
    assert not volume.exists("/a")
    for missing in (lambda: volume.read_file("/none"), lambda: volume.list("/none"), lambda: volume.remove("/none")):
        with pytest.raises(NotFoundException):
            missing()


def test_sandboxes_share_it(volume, create):
    one = create(volume_mounts={"/data": volume})
    two = create(volume_mounts={"/mnt/deep/place": volume.name})
    one.commands.run("echo from one > /data/file")
    assert two.commands.run("cat /mnt/deep/place/file").stdout == "from one\n"
    two.commands.run("echo from root > /mnt/deep/place/root", user="root")
    assert one.commands.run("cat /data/root; stat -c '%U %G' /data/file /data/root").stdout == "from root\nuser user\nroot root\n"
    assert volume.read_file("/file") == "from one\n"
    volume.write_file("/from-api", "api")
    assert one.commands.run("cat /data/from-api && echo more >> /data/from-api").stdout == "api"
    one.kill()
    two.kill()
    assert volume.read_file("/from-api") == "apimore\n", "it outlives them"


def test_what_a_sandbox_shows_of_it(mounted, volume, api):
    shown = api.get(f"/sandboxes/{mounted.sandbox_id}").json()
    assert shown["volumeMounts"] == [{"name": volume.name, "path": "/data"}]


def test_it_is_not_removed_while_it_is_mounted(mounted, volume, api):
    answer = api.delete(f"/volumes/{volume.volume_id}")
    assert answer.status_code == 409 and mounted.sandbox_id in answer.text
    mounted.commands.run("echo still > /data/there")
    mounted.pause()
    assert api.delete(f"/volumes/{volume.volume_id}").status_code == 409
    mounted.kill()
    assert api.delete(f"/volumes/{volume.volume_id}").status_code == 204
    assert api.delete(f"/volumes/{volume.volume_id}").status_code == 404


def test_it_stays_mounted_over_pauses_forks_and_rollbacks(mounted, volume, api):
    snapshot = mounted.create_snapshot().snapshot_id
    mounted.commands.run("echo one > /data/file")
    mounted.pause(keep_memory=False)
    mounted.connect()
    assert mounted.commands.run("cat /data/file").stdout == "one\n"
    [child] = mounted.fork(timeout=60)
    try:
        child.commands.run("echo two > /data/file")
        assert mounted.commands.run("cat /data/file").stdout == "two\n"
    finally:
        child.kill()
    assert api.post(f"/sandboxes/{mounted.sandbox_id}/rollback", json={"snapshotID": snapshot}).status_code == 200
    assert mounted.commands.run("cat /data/file").stdout == "two\n", "a volume is not part of a snapshot"
    bare = Sandbox.create(snapshot, timeout=60)
    assert bare.commands.run("ls -A /data | wc -l").stdout == "0\n"
    bare.kill()
    assert Sandbox.delete_snapshot(snapshot)


def test_it_has_a_size(volumes, create):
    volume = volumes(size_mb=64)
    sandbox = create(volume_mounts={"/data": volume})
    for who in ("user", "root"):
        said = fails(sandbox, "head -c 200M /dev/urandom > /data/big && sync /data/big", user=who)
        assert "No space" in said.stderr or "quota" in said.stderr, said.stderr
    with pytest.raises(Exception, match="full"):
        volume.write_file("/bigger", b"\1" * (100 << 20))
    assert [found.path for found in volume.list("/")] == ["/big"], "what did not fit leaves nothing"
    sandbox.commands.run("rm /data/big && echo fits > /data/small")
    assert sandbox.commands.run("echo free > /tmp/x && cat /data/small").stdout == "fits\n"


@pytest.mark.parametrize(
    "path",
    ["/", "data", "/proc", "/proc/self", "/sys/fs", "/dev/shm", "/run", "/tmp", "/a/../b", "/a//b", "/data/", "/a\0b", "", "/x" * 600],
)
def test_bad_places(volume, api, path):
    body = {"templateID": "base", "volumeMounts": [{"name": volume.name, "path": path}]}
    answer = api.post("/v2/sandboxes", json=body)
    assert answer.status_code == 400, answer.text


def test_places_on_files_and_links_are_refused(volume, api):
    for path in ("/etc/passwd", "/etc/passwd/x", "/bin/x", "/etc/localtime/x"):
        body = {"templateID": "base", "volumeMounts": [{"name": volume.name, "path": path}]}
        answer = api.post("/v2/sandboxes", json=body)
        assert answer.status_code == 400 and "cannot be mounted" in answer.text or "could not be built" in answer.text, answer.text
        assert answer.status_code != 500


def test_places_within_each_other_and_unknown_volumes(volume, api):
    within = [{"name": volume.name, "path": "/data"}, {"name": volume.name, "path": "/data/sub"}]
    assert api.post("/v2/sandboxes", json={"templateID": "base", "volumeMounts": within}).status_code == 400
    unknown = [{"name": "nosuch", "path": "/data"}]
    answer = api.post("/v2/sandboxes", json={"templateID": "base", "volumeMounts": unknown})
    assert answer.status_code == 400 and "nosuch" in answer.text


def test_its_token_opens_it_and_no_other(volume, volumes, api):
    other = volumes()
    url = f"{str(api.base_url).rstrip('/')}/volumecontent/{volume.volume_id}/dir"
    for headers in ({}, {"Authorization": f"Bearer {other.token}"}, {"X-API-Key": api.headers["X-API-Key"]}, {"Authorization": "Bearer x"}):
        answer = httpx.get(url, params={"path": "/"}, headers=headers)
        assert answer.status_code == 401, answer.text
        assert isinstance(answer.json()["code"], str)
    unknown = f"{str(api.base_url).rstrip('/')}/volumecontent/v{'a' * 20}/dir"
    answer = httpx.get(unknown, params={"path": "/"}, headers={"Authorization": f"Bearer {volume.token}"})
    assert answer.status_code == 401


def test_links_in_it_lead_nowhere_else(mounted, volume):
    mounted.commands.run(
        "cd /data && ln -s /etc/passwd abs && ln -s ../../../../etc/shadow up && ln -s / root && ln -s /proc/1/root magic"
        " && mkfifo pipe && ln -s loop loop"
    )
    for path in ("/abs", "/up", "/root/etc/passwd", "/magic/etc/passwd", "/../../etc/passwd", "/pipe", "/loop", "/loop/x"):
        with pytest.raises(Exception) as refused:
            volume.read_file(path)
        assert "internal" not in str(refused.value), path
    volume.write_file("/abs", "mine", force=True)
    assert mounted.commands.run("cat /data/abs; head -c 4 /etc/passwd").stdout == "mineroot"
    types = {found.path: found.type for found in volume.list("/")}
    assert types["/up"] == VolumeFileType.SYMLINK and types["/pipe"] == VolumeFileType.UNKNOWN


def test_nothing_in_it_raises_anybody_s_rights(mounted, volume):
    mounted.commands.run("cp /usr/bin/id /data/id && chmod u+s /data/id", user="root")
    assert mounted.commands.run("/data/id -u").stdout == "1000\n"
    assert "nosuid" in mounted.commands.run("grep ' /data ' /proc/mounts").stdout
    fails(mounted, "mknod /data/null c 1 3", user="root")
    fails(mounted, "mount -o remount,suid,dev /data", user="root")
    fails(mounted, "umount /data", user="root")
    with pytest.raises(Exception, match="set-user-id"):
        volume.update_metadata("/id", mode=0o4755)
    for ids in ({"uid": 70000}, {"gid": 70000}):
        with pytest.raises(Exception, match="below"):
            volume.write_file("/foreign", "x", **ids)


def test_many_writers(volume, create):
    boxes = [create(volume_mounts={"/data": volume}) for _ in range(3)]

    def write(n):
        if n % 2:
            boxes[n % 3].commands.run(f"for i in $(seq 20); do echo line >> /data/log; done; echo {n} > /data/f{n}")
        else:
            volume.write_file(f"/f{n}", f"{n}\n")
            volume.write_file("/contended", f"{n}" * 1000, force=True)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(24)))
    assert boxes[0].commands.run("wc -l < /data/log").stdout == f"{12 * 20}\n"
    for n in range(24):
        assert volume.read_file(f"/f{n}") == f"{n}\n"
    whole = volume.read_file("/contended")
    assert len(set(whole[i : i + len(whole) // 1000] for i in range(0, len(whole), len(whole) // 1000))) == 1, "never half of one"


def test_a_tree_of_any_depth_is_removed(mounted, volume):
    mounted.commands.run(
        "python3 -c \"import os\nos.chdir('/data')\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\nopen('f','w')\""
    )
    volume.remove("/d")
    assert volume.list("/") == []


def test_large_files_stream(volume):
    size = 64 << 20
    volume.write_file("/large", b"x" * size)
    assert sum(len(piece) for piece in volume.read_file("/large", format="stream")) == size


def test_bad_questions(volume, api):
    headers = {"Authorization": f"Bearer {volume.token}"}
    base = f"{str(api.base_url).rstrip('/')}/volumecontent/{volume.volume_id}"
    for method, rest, params in (
        ("GET", "path", {}),
        ("GET", "dir", {"path": "/", "depth": "x"}),
        ("GET", "dir", {"path": "/", "depth": "1000"}),
        ("PUT", "file", {"path": "/f", "uid": "-1"}),
        ("PUT", "file", {"path": "/f", "force": "maybe"}),
        ("PUT", "file", {"path": "/f\0"}),
        ("POST", "dir", {"path": "/" + "x" * 300}),
        ("DELETE", "path", {"path": "/"}),
        ("PUT", "file", {"path": "/"}),
    ):
        answer = httpx.request(method, f"{base}/{rest}", params=params, headers=headers)
        assert answer.status_code in (400, 409), (method, rest, params, answer.text)
    assert volume.list("/") == []
