"""C8. Uploads that lie about their length, drip, break off, or meet one another on one path: no partial file, flat memory."""

import os
import threading
import time

import httpx
import pytest
from e2b import Sandbox

from programs import answers, shell, until
from wire import answer, connection, headers, upload_head

# The number is 10 GB: HOOD_FULL=1 sends it.
SENT = (10_000 if os.environ.get("HOOD_FULL") else 1_000) << 20
FLAT = 20 << 20



def left_over(sandbox):
    """What lies beside the file: a temporary one that was forgotten."""
    return shell(sandbox, "ls -A /tmp/up", "root").split()


def post(sandbox, path, content, who, timeout=120):
    return httpx.post(
        os.environ["E2B_SANDBOX_URL"] + "/files",
        params={"path": path, "username": who},
        headers=headers(sandbox) | {"Content-Type": "application/octet-stream"},
        content=content,
        timeout=timeout,
    )


@pytest.fixture
def roomy(trial):
    """A sandbox whose layer holds the large file; it has 5 GiB when nothing is said."""
    body = {"templateID": "base", "timeout": 600, "hood": {"diskMB": (SENT >> 20) + 512}}
    key = {"X-API-Key": os.environ["E2B_API_KEY"]}
    answer = httpx.post(os.environ["E2B_API_URL"] + "/v2/sandboxes", json=body, headers=key, timeout=60)
    assert answer.status_code == 201, answer.text
    trial.made.append(Sandbox.connect(answer.json()["sandboxID"], timeout=600))
    return trial.made[-1]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_large_one_leaves_memory_flat(roomy, trial, who):
    sandbox = roomy
    memory = trial.laboratory.premises.memory
    before, most, piece = memory()["server"], 0, bytes(1 << 20)

    def body():
        nonlocal most
        for n in range(SENT >> 20):
            most = max(most, memory()["server"]) if n % 16 == 0 else most
            yield piece

    assert post(sandbox, "/tmp/up/big", body(), who, timeout=500).status_code == 200
    assert int(shell(sandbox, "stat -c %s /tmp/up/big")) == SENT
    assert most - before < FLAT
    trial.saw = f"{SENT >> 20} MiB, the server grew by {(most - before) / (1 << 20):.1f} MiB"


def test_one_that_drips(sandbox, trial, who):
    """Twenty slow ones at once hold twenty connections, and nobody else up."""
    links = []
    for n in range(20):
        link = connection()
        link.sendall(upload_head(sandbox, f"/tmp/up/slow{n}", who, 1_000_000) + b"x")
        links.append(link)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        for link in links:
            link.sendall(b"x")
        began = time.monotonic()
        assert post(sandbox, "/tmp/up/quick", b"quick", who).status_code == 200
        assert time.monotonic() - began < 1
        time.sleep(0.2)
    for link in links:
        link.close()
    assert until(lambda: left_over(sandbox) == ["quick"], 5), left_over(sandbox)
    trial.saw = "others served meanwhile, no partial file"


def test_one_that_breaks_off(sandbox, trial, who):
    post(sandbox, "/tmp/up/file", b"before", who)
    for _ in range(10):
        with connection() as link:
            link.sendall(upload_head(sandbox, "/tmp/up/file", who, 10_000_000) + bytes(3_000_000))
    assert until(lambda: left_over(sandbox) == ["file"], 5), left_over(sandbox)
    assert shell(sandbox, "cat /tmp/up/file") == "before"
    trial.saw = "the old content stays whole"


def test_a_full_disk_leaves_the_old_content(sized, who):
    """The new content lies beside the old one until it is whole: what does not fit takes nothing away."""
    sandbox = sized(diskMB=64)
    shell(sandbox, "mkdir /tmp/up; printf before > /tmp/up/file; chmod 640 /tmp/up/file", who)
    # Compressible content would fit.
    assert post(sandbox, "/tmp/up/file", os.urandom(100 << 20), who).status_code == 507
    assert shell(sandbox, "cat /tmp/up/file; stat -c %a /tmp/up/file; ls -A /tmp/up", "root") == "before640\nfile\n"


@pytest.mark.parametrize("length", ["3", "99999999999999999999", "-1", "0x10", "5, 6", ""])
def test_a_wrong_length(sandbox, trial, who, length):
    """Shorter than what follows, longer than there is, no number: the rest must not be taken for the next request."""
    with connection(4) as link:
        link.sendall(upload_head(sandbox, "/tmp/up/wrong", who, length) + b"hello GET /health HTTP/1.1\r\n\r\n")
        status = answer(link)
    said = shell(sandbox, "cat /tmp/up/wrong 2>/dev/null", "root")
    if length == "3":
        assert (status, said) == (200, "hel")
    else:
        assert said == "" and status in (400, 413, None)
    assert answers(sandbox)
    trial.saw = f"{length!r}: {status}"


def test_many_to_one_path(sandbox, trial, who):
    """Whoever wins, it is one of them, whole."""
    contents = [bytes([65 + n]) * 3_000_000 for n in range(8)]
    statuses = []
    threads = [
        threading.Thread(target=lambda c=c: statuses.append(post(sandbox, "/tmp/up/one", c, who).status_code))
        for c in contents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 8
    assert sandbox.files.read("/tmp/up/one", format="bytes") in contents
    assert left_over(sandbox) == ["one"]
    trial.saw = "eight at once: one of them, whole"


def test_a_reader_never_sees_a_part(sandbox, trial, who):
    sizes = set()
    for n in range(20):
        thread = threading.Thread(target=post, args=(sandbox, "/tmp/up/one", bytes([65 + n]) * 5_000_000, who))
        thread.start()
        while thread.is_alive():
            sizes.add(shell(sandbox, "stat -c %s /tmp/up/one 2>/dev/null", "root").strip())
        thread.join()
    trial.saw = f"sizes seen: {sorted(sizes)[:5]}"
    assert sizes <= {"", "5000000"}
