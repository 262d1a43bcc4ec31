"""Directories: listed, made, moved, removed."""

import pytest
from e2b import (
    FileNotFoundException,
    FileType,
    InvalidArgumentException,
    NotFoundException,
)
from helpers import run


def names(entries):
    return [entry.name for entry in entries]


def test_make_list_remove(sandbox):
    assert sandbox.files.make_dir("d") is True
    assert sandbox.files.make_dir("d") is False
    assert sandbox.files.make_dir("d/e/f") is True
    sandbox.files.write("d/a.txt", "a")
    entries = sandbox.files.list("d")
    assert [(e.name, e.type, e.path) for e in entries] == [
        ("a.txt", FileType.FILE, "/home/user/d/a.txt"),
        ("e", FileType.DIR, "/home/user/d/e"),
    ]
    sandbox.files.remove("d")
    assert not sandbox.files.exists("d")


def test_depth(sandbox):
    for path in ["t/1/2/3/leaf", "t/top"]:
        sandbox.files.write(path, "")
    assert sorted(names(sandbox.files.list("t"))) == ["1", "top"]
    assert sorted(names(sandbox.files.list("t", depth=2))) == ["1", "2", "top"]
    assert sorted(names(sandbox.files.list("t", depth=9))) == ["1", "2", "3", "leaf", "top"]
    with pytest.raises(InvalidArgumentException):
        sandbox.files.list("t", depth=0)


def test_info(sandbox):
    sandbox.files.write("f.txt", "12345")
    info = sandbox.files.get_info("f.txt")
    assert (info.name, info.path, info.type, info.size) == ("f.txt", "/home/user/f.txt", FileType.FILE, 5)
    assert (info.mode, info.permissions, info.owner, info.group) == (0o644, "-rw-r--r--", "user", "user")
    assert info.modified_time is not None
    sandbox.files.make_dir("d")
    info = sandbox.files.get_info("d")
    assert (info.type, info.mode, info.permissions, info.owner) == (FileType.DIR, 0o755, "drwxr-xr-x", "user")


def test_links(sandbox):
    sandbox.files.write("real", "content")
    run(sandbox, "ln -s real link; ln -s /no/where broken; ln -s loop loop")
    info = sandbox.files.get_info("link")
    assert (info.type, info.symlink_target) == (FileType.FILE, "/home/user/real")
    assert sandbox.files.read("link") == "content"
    # The package leaves out what has no type, as a broken link.
    assert {"link", "real"} <= set(names(sandbox.files.list("."))) and not sandbox.files.exists("missing")
    with pytest.raises(Exception):
        sandbox.files.read("loop")
    sandbox.files.remove("link")
    assert sandbox.files.read("real") == "content"


def test_removing_a_link_to_a_directory_spares_it(sandbox):
    run(sandbox, "mkdir kept && touch kept/file && ln -s kept way && mkdir gone && ln -s ../kept gone/way")
    sandbox.files.remove("way")
    sandbox.files.remove("gone")
    assert names(sandbox.files.list("kept")) == ["file"]


def test_rename(sandbox):
    sandbox.files.write("old", "x")
    info = sandbox.files.rename("old", "new/place/name")
    assert (info.path, info.name) == ("/home/user/new/place/name", "name")
    assert not sandbox.files.exists("old") and sandbox.files.read("new/place/name") == "x"
    sandbox.files.rename("new", "moved")
    assert sandbox.files.exists("moved/place/name")


def test_rename_overwrites_a_file(sandbox):
    sandbox.files.write("a", "a")
    sandbox.files.write("b", "b")
    sandbox.files.rename("a", "b")
    assert sandbox.files.read("b") == "a"


def test_exists(sandbox):
    assert sandbox.files.exists("/etc/hostname") and sandbox.files.exists("/etc")
    assert not sandbox.files.exists("/no/such/thing")


@pytest.mark.parametrize(
    "call",
    [
        lambda files: files.list("missing"),
        lambda files: files.get_info("missing"),
        lambda files: files.rename("missing", "other"),
        lambda files: files.watch_dir("missing"),
    ],
    ids=["list", "info", "rename", "watch"],
)
def test_missing_ones_are_named(sandbox, call):
    with pytest.raises((FileNotFoundException, NotFoundException)) as caught:
        call(sandbox.files)
    assert "missing" in str(caught.value)


def test_removing_what_is_not_there_is_fine(sandbox):
    sandbox.files.remove("missing")


def test_a_file_is_no_directory(sandbox):
    sandbox.files.write("file", "x")
    with pytest.raises(InvalidArgumentException):
        sandbox.files.list("file")
    with pytest.raises(InvalidArgumentException):
        sandbox.files.make_dir("file")
    with pytest.raises(Exception):
        sandbox.files.write("file/below", "x")
    assert sandbox.files.read("file") == "x"


def test_removing_a_deep_tree(sandbox):
    run(sandbox, "python3 -c \"import os\nfor _ in range(1500):\n    os.mkdir('d'); os.chdir('d')\"")
    sandbox.files.remove("d")
    assert not sandbox.files.exists("d")


def test_ten_thousand_entries(sandbox):
    run(sandbox, "mkdir many && cd many && seq 10000 | xargs touch")
    assert len(sandbox.files.list("many")) == 10_000
