"""Changes of a directory are told."""

import time

import pytest
from e2b import (
    FileNotFoundException,
    InvalidArgumentException,
    NotFoundException,
    SandboxException,
)
from e2b import FilesystemEventType as Kind
from helpers import run, until


class Watch:
    """Collects what a watcher says."""

    def __init__(self, handle):
        self.handle, self.events = handle, []

    def collect(self, enough=1):
        def more():
            self.events += self.handle.get_new_events()
            return len(self.events) >= enough

        until(more, 3)
        time.sleep(0.2)  # and whatever comes too much
        self.events += self.handle.get_new_events()
        said, self.events = [(e.name, e.type) for e in self.events], []
        return said


@pytest.fixture
def watch(sandbox):
    sandbox.files.make_dir("w")

    def start(**more):
        return Watch(sandbox.files.watch_dir("w", **more))

    return start


def test_one_write_is_three_events(sandbox, watch):
    watched = watch()
    sandbox.files.write("w/new.txt", "content")
    assert watched.collect(3) == [("new.txt", Kind.CREATE), ("new.txt", Kind.CHMOD), ("new.txt", Kind.WRITE)]


def test_every_kind_of_change(sandbox, watch):
    sandbox.files.write("w/old", "x")
    watched = watch()
    run(sandbox, "echo more >> w/old")
    assert ("old", Kind.WRITE) in watched.collect()
    run(sandbox, "chmod 600 w/old")
    assert ("old", Kind.CHMOD) in watched.collect()
    sandbox.files.rename("w/old", "w/renamed")
    said = watched.collect(2)
    assert ("old", Kind.RENAME) in said and ("renamed", Kind.CREATE) in said
    sandbox.files.remove("w/renamed")
    assert ("renamed", Kind.REMOVE) in watched.collect()


def test_below_only_when_asked(sandbox, watch):
    sandbox.files.make_dir("w/sub")
    flat, deep = watch(), watch(recursive=True)
    sandbox.files.write("w/sub/leaf.txt", "x")
    assert ("sub/leaf.txt", Kind.WRITE) in deep.collect(3)
    assert flat.collect() == [] or all("leaf" not in name for name, _ in flat.collect())


def test_directories_made_later_are_watched(sandbox, watch):
    watched = watch(recursive=True)
    run(sandbox, "mkdir -p w/a/b/c && echo x > w/a/b/c/leaf && sleep 0.3 && echo y > w/a/b/later")
    said = watched.collect(6)
    assert {("a", Kind.CREATE), ("a/b/c/leaf", Kind.CREATE), ("a/b/later", Kind.CREATE)} <= set(said)


def test_odd_names(sandbox, watch):
    watched = watch()
    sandbox.files.write("w/línea\nдва 😀", "x")
    assert ("línea\nдва 😀", Kind.CREATE) in watched.collect(3)


def test_with_entries(sandbox, watch):
    watched = watch(include_entry=True)
    sandbox.files.write("w/f", "12345")
    until(lambda: watched.events.extend(watched.handle.get_new_events()) or len(watched.events) >= 3, 3)
    [written] = [e for e in watched.events if e.type == Kind.WRITE]
    assert written.entry.size == 5 and written.entry.path == "/home/user/w/f"


def test_events_are_told_once(sandbox, watch):
    watched = watch()
    sandbox.files.write("w/f", "x")
    assert watched.collect(3)
    assert watched.handle.get_new_events() == []


def test_stop(sandbox, watch):
    watched = watch()
    watched.handle.stop()
    with pytest.raises(SandboxException):
        watched.handle.get_new_events()


def test_the_directory_goes_away(sandbox, watch):
    watched = watch()
    sandbox.files.remove("w")
    watched.collect()
    assert run(sandbox, "echo fine") == "fine"


def test_what_cannot_be_watched(sandbox):
    with pytest.raises((FileNotFoundException, NotFoundException)):
        sandbox.files.watch_dir("missing")
    sandbox.files.write("file", "x")
    with pytest.raises(InvalidArgumentException):
        sandbox.files.watch_dir("file")


def test_a_flood_is_survived(sandbox, watch):
    watched = watch(recursive=True)
    run(
        sandbox,
        "cd w && for d in $(seq 20); do mkdir $d; done; seq 20000 | awk '{print ($1 % 20 + 1) \"/\" $1}' | xargs touch",
    )
    assert len(watched.collect(1000)) > 1000
    sandbox.files.write("w/after", "x")
    assert run(sandbox, "echo fine") == "fine"
