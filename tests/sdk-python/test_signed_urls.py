"""Addresses that anybody may fetch, with curl or a browser, for as long as they are valid."""

import time
from urllib.parse import urlencode

import httpx
import pytest
from helpers import run


def test_download(sandbox):
    sandbox.files.write("report.txt", "content")
    answer = httpx.get(sandbox.download_url("report.txt"))
    assert (answer.status_code, answer.text) == (200, "content")
    assert answer.headers["content-type"].startswith("text/plain")


def test_upload(sandbox):
    answer = httpx.post(sandbox.upload_url("in.txt"), files={"file": ("any.txt", b"uploaded")})
    assert answer.status_code == 200 and answer.json()[0]["path"] == "/home/user/in.txt"
    assert sandbox.files.read("in.txt") == "uploaded"
    assert run(sandbox, "stat -c %U in.txt") == "user"


def test_each_url_finds_its_own_sandbox(create):
    boxes = [create() for _ in range(3)]
    for i, box in enumerate(boxes):
        box.files.write("same.txt", f"of {i}")
    assert [httpx.get(box.download_url("same.txt")).text for box in boxes] == ["of 0", "of 1", "of 2"]


def test_as_another_user(sandbox):
    sandbox.files.write("/root/r.txt", "root's", user="root")
    assert httpx.get(sandbox.download_url("/root/r.txt", user="root")).text == "root's"
    sandbox.files.write("r.txt", "user's")
    assert httpx.get(sandbox.download_url("~/r.txt", user="root")).text == "root's"
    assert httpx.get(sandbox.download_url("~/r.txt", user="user")).text == "user's"


@pytest.mark.parametrize("name", ["with space.txt", "дата 😀.csv", "a+b&c=d.txt"])
def test_odd_names(sandbox, name):
    httpx.post(sandbox.upload_url(name), files={"file": ("x", b"odd")}).raise_for_status()
    assert httpx.get(sandbox.download_url(name)).text == "odd"


def test_expired(sandbox):
    sandbox.files.write("f", "x")
    url = sandbox.download_url("f", use_signature_expiration=1)
    valid = sandbox.download_url("f", use_signature_expiration=60)
    time.sleep(2.1)
    answer = httpx.get(url)
    assert answer.status_code == 401
    assert answer.text.strip() == '{"code":401,"message":"signature is already expired"}'
    assert httpx.get(valid).text == "x"
    late = sandbox.upload_url("g", use_signature_expiration=-10)
    assert httpx.post(late, files={"file": ("x", b"x")}).status_code == 401
    assert not sandbox.files.exists("g")


def test_forged(sandbox):
    sandbox.files.write("mine", "x")
    sandbox.files.write("other", "y")
    url = httpx.URL(sandbox.download_url("mine"))
    for changed in ({"path": "other"}, {"username": "root"}, {"signature": "v1_" + "A" * 43}, {"signature": ""}):
        answer = httpx.get(url.copy_merge_params(changed))
        assert answer.status_code in (400, 401), (changed, answer.text)
        assert answer.json()["code"] == answer.status_code
    answer = httpx.post(url, files={"file": ("x", b"x")})
    assert answer.status_code == 401 and sandbox.files.read("mine") == "x"


def test_an_expiry_cannot_be_added(sandbox):
    sandbox.files.write("f", "x")
    url = httpx.URL(sandbox.download_url("f", use_signature_expiration=-5))
    later = url.copy_merge_params({"signature_expiration": str(int(time.time()) + 100)})
    assert httpx.get(later).status_code == 401


def test_of_a_dead_sandbox(create):
    sandbox = create()
    sandbox.files.write("f", "x")
    url = sandbox.download_url("f")
    sandbox.kill()
    assert httpx.get(url).status_code in (401, 502)


def test_missing_file(sandbox):
    answer = httpx.get(sandbox.download_url("missing"))
    assert answer.status_code == 404 and "missing" in answer.json()["message"]


def test_part_of_a_file(sandbox):
    sandbox.files.write("digits", "0123456789")
    answer = httpx.get(sandbox.download_url("digits"), headers={"Range": "bytes=2-5"})
    assert (answer.status_code, answer.text) == (206, "2345")
    assert answer.headers["content-range"] == "bytes 2-5/10"


def test_compressed(sandbox):
    sandbox.files.write("z.txt", "again " * 10_000)
    answer = httpx.get(sandbox.download_url("z.txt"), headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip" and answer.text == "again " * 10_000
    plain = httpx.get(sandbox.download_url("z.txt"), headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers and len(plain.content) == 60_000


def test_the_token_opens_files_too(sandbox, data_url):
    sandbox.files.write("f", "x")
    route = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": "49983"}
    url = f"{data_url}/files?{urlencode({'path': 'f'})}"
    assert httpx.get(url, headers=route).status_code == 401
    assert httpx.get(url, headers=route | {"X-Access-Token": "wrong"}).status_code == 401
