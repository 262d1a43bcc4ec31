"""Snapshots outlive their sandboxes and the server, however it ends; what nobody was told of goes."""

import json
import os
import subprocess

import pytest


def snapshots(place):
    """As the disk has them, in the server's own mount namespace."""
    root = f"/proc/{place.host.server}/root{place.data_dir}/writable"
    return {name.removeprefix("snapshot-") for name in os.listdir(root) if name.startswith("snapshot-")}


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_snapshot_outlives_the_server(place, sdk, end):
    source = sdk(place).create()
    source.files.write("/home/user/kept.txt", "kept")
    made = source.create_snapshot(name="work:v1")
    getattr(place, end)()
    place.start()
    child = sdk(place).create("work:v1")
    assert child.files.read("/home/user/kept.txt") == "kept"
    assert snapshots(place) == {made.snapshot_id}
    assert sdk(place).delete_snapshot(made.snapshot_id)
    assert snapshots(place) == set()
    assert child.files.read("/home/user/kept.txt") == "kept"


def test_what_a_dead_server_had_not_written_down_goes(place, sdk):
    source = sdk(place).create()
    made = source.create_snapshot()
    # As if the server had died between the capture and the record, and in the middle of a copy.
    inside = ["nsenter", "--mount", f"--target={place.host.server}"]
    at = f"{place.data_dir}/writable"
    for name in ("snapshot-s" + "a" * 20, source.sandbox_id + ".unfinished"):
        subprocess.run([*inside, "btrfs", "-q", "subvolume", "snapshot", f"{at}/snapshot-{made.snapshot_id}", f"{at}/{name}"], check=True)
    place.kill()
    place.start()
    assert snapshots(place) == {made.snapshot_id}
    assert set(os.listdir(f"/proc/{place.host.server}/root{at}")) == {f"snapshot-{made.snapshot_id}"}


def test_garbage_collection_keeps_what_snapshots_stand_on(place, sdk):
    source = sdk(place).create()
    source.create_snapshot(name="kept")
    place.stop()
    layers = place.data_dir / "layers"
    # Layers of its own, of a template that nobody names any more.
    for name in ("layers", "templates"):
        link = place.data_dir / name
        target = link.resolve()
        link.unlink()
        subprocess.run(["cp", "--archive", "--link", str(target), str(link)], check=True)
    base = set(json.loads((place.data_dir / "templates" / "base.json").read_text())["layers"])
    for manifest in (place.data_dir / "templates").glob("*.json"):
        manifest.unlink()
    environment = {**os.environ, "HOOD_DATA_DIR": str(place.data_dir)}
    subprocess.run([place.program, "template", "gc"], check=True, env=environment, capture_output=True)
    assert {path.name for path in layers.iterdir() if path.is_dir()} == base
    place.start()
    child = sdk(place).create("kept")
    assert child.commands.run("echo alive").stdout == "alive\n"
    assert sdk(place).delete_snapshot("kept")
