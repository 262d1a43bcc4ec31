"""Files in and out: text, bytes, streams, large and compressed."""

import hashlib
import io
import os

import pytest
from e2b import FileNotFoundException, FileType, InvalidArgumentException
from helpers import run


def test_text(sandbox):
    info = sandbox.files.write("note.txt", "héllo\n漢字 😀\r\n")
    assert (info.path, info.name, info.type) == ("/home/user/note.txt", "note.txt", FileType.FILE)
    assert sandbox.files.read("note.txt") == "héllo\n漢字 😀\r\n"
    assert sandbox.files.read("~/note.txt") == sandbox.files.read("/home/user/note.txt")


def test_bytes_and_file_objects(sandbox):
    data = bytes(range(256)) * 100
    sandbox.files.write("a.bin", data)
    sandbox.files.write("b.bin", io.BytesIO(data))
    assert bytes(sandbox.files.read("a.bin", format="bytes")) == data
    assert bytes(sandbox.files.read("b.bin", format="bytes")) == data


def test_empty_file(sandbox):
    sandbox.files.write("empty", "")
    assert sandbox.files.read("empty") == "" and sandbox.files.get_info("empty").size == 0


def test_overwriting_is_complete(sandbox):
    sandbox.files.write("f", "long content")
    sandbox.files.write("f", "short")
    assert sandbox.files.read("f") == "short"


def test_stream_out(sandbox):
    sandbox.files.write("f", "x" * 3_000_000)
    with sandbox.files.read("f", format="stream") as stream:
        sizes = [len(chunk) for chunk in stream]
    assert sum(sizes) == 3_000_000 and len(sizes) > 1


def test_fifty_megabytes_are_the_same(sandbox):
    data = os.urandom(50 << 20)
    digest = hashlib.sha256(data).hexdigest()
    sandbox.files.write("big.bin", data)
    assert run(sandbox, "sha256sum big.bin").split()[0] == digest
    hashed = hashlib.sha256()
    with sandbox.files.read("big.bin", format="stream") as stream:
        for chunk in stream:
            hashed.update(chunk)
    assert hashed.hexdigest() == digest


def test_upload_in_pieces(sandbox):
    pieces = [os.urandom(1 << 20) for _ in range(8)]
    sandbox.files.write("pieces.bin", iter(pieces), use_octet_stream=True)
    assert run(sandbox, "sha256sum pieces.bin").split()[0] == hashlib.sha256(b"".join(pieces)).hexdigest()


def test_several_files_in_one_call(sandbox):
    infos = sandbox.files.write_files(
        [
            {"path": "one.txt", "data": "1"},
            {"path": "deep/er/two.bin", "data": b"\x00\x02"},
            {"path": "/tmp/три.txt", "data": io.BytesIO("3".encode())},
        ]
    )
    assert [info.path for info in infos] == ["/home/user/one.txt", "/home/user/deep/er/two.bin", "/tmp/три.txt"]
    assert sandbox.files.read("deep/er/two.bin", format="bytes") == b"\x00\x02"
    assert sandbox.files.read("/tmp/три.txt") == "3"


@pytest.mark.parametrize("octet", [False, True])
def test_gzip_both_ways(sandbox, octet):
    text = "compress me " * 50_000
    sandbox.files.write("z.txt", text, gzip=True, use_octet_stream=octet or None)
    assert run(sandbox, "wc -c < z.txt") == str(len(text))
    assert sandbox.files.read("z.txt", gzip=True) == text


def test_reading_what_is_not_there(sandbox):
    with pytest.raises(FileNotFoundException) as caught:
        sandbox.files.read("missing.txt")
    assert "missing.txt" in str(caught.value)


def test_reading_a_directory(sandbox):
    with pytest.raises(InvalidArgumentException):
        sandbox.files.read("/tmp")
    with pytest.raises(InvalidArgumentException):
        sandbox.files.write("/tmp", "x")


def test_pseudo_files_are_read_to_their_end(sandbox):
    assert "model name" in sandbox.files.read("/proc/cpuinfo")
    assert sandbox.files.read("/proc/self/comm").strip()


@pytest.mark.parametrize("path", ["/dev/zero", "/tmp/pipe", "/dev/tty"])
def test_what_is_no_file_does_not_hang(sandbox, path):
    run(sandbox, "mkfifo /tmp/pipe")
    with pytest.raises(Exception) as caught:
        sandbox.files.read(path, request_timeout=10)
    assert "timed out" not in str(caught.value).lower()
    assert run(sandbox, "echo fine") == "fine"


def test_as_another_user(sandbox):
    sandbox.files.write("/root/secret", "root's", user="root")
    assert sandbox.files.read("/root/secret", user="root") == "root's"
    assert run(sandbox, "stat -c %U /root/secret", user="root") == "root"


def test_half_an_upload_does_not_hang_the_next(sandbox):
    def broken():
        yield b"x" * 1000
        raise RuntimeError("the user's generator fails")

    with pytest.raises(Exception):
        sandbox.files.write("half", broken(), use_octet_stream=True)
    sandbox.files.write("half", "whole")
    assert sandbox.files.read("half") == "whole"


def test_parallel_writes(sandbox):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: sandbox.files.write(f"p/{i}.txt", str(i)), range(40)))
    assert len(sandbox.files.list("p")) == 40
