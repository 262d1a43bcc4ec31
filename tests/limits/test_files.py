"""The guest's ceilings on files and watches."""

import time

from helpers import run
from page import meets

INSIDE = "Inside a sandbox"
LIST, STAT = "filesystem.Filesystem/ListDir", "filesystem.Filesystem/Stat"
WATCH, EVENTS = "filesystem.Filesystem/CreateWatcher", "filesystem.Filesystem/GetWatcherEvents"


def python(sandbox, code, **more):
    sandbox.files.write("/tmp/make.py", code)
    return run(sandbox, "python3 /tmp/make.py", timeout=100, **more)


def multipart(parts, boundary="b"):
    """parts: (name, further headers, content)"""
    body = b""
    for name, headers, content in parts:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n{headers}\r\n'
        body += head.encode() + content + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    return {"content": body, "headers": {"Content-Type": f"multipart/form-data; boundary={boundary}"}}


def is_refused(answer, status=400):
    assert answer.status_code == status, answer.text
    return answer.json()["message"]


@meets(INSIDE, "MAX_UPLOADS")
def test_files_of_an_upload(limit, sandbox, calls):
    http = calls(sandbox)
    parts = [(f"/tmp/many/f{n}", "", b"x") for n in range(limit + 1)]
    assert str(limit) in is_refused(http.upload(None, **multipart(parts)))
    assert int(run(sandbox, "ls /tmp/many | wc -l")) == limit
    assert http.upload(None, **multipart(parts[:limit])).status_code == 200


@meets(INSIDE, "MAX_PART_HEAD")
def test_headers_of_a_part(limit, sandbox, calls):
    is_refused(calls(sandbox).upload(None, **multipart([("/tmp/f", f"X-Long: {'x' * limit}\r\n", b"x")])))


@meets(INSIDE, "MAX_BOUNDARY")
def test_boundary(limit, sandbox, calls):
    http = calls(sandbox)
    assert http.upload(None, **multipart([("/tmp/f", "", b"x")], "b" * limit)).status_code == 200
    is_refused(http.upload(None, **multipart([("/tmp/f", "", b"x")], "b" * (limit + 1))))


@meets(INSIDE, "MAX_METADATA_KEY")
def test_metadata_key(limit, sandbox, calls):
    http = calls(sandbox)

    def put(length):
        kind = {"Content-Type": "application/octet-stream"}
        return http.upload("/tmp/f", content=b"x", headers=kind | {"X-Metadata-" + "k" * length: "v"})

    assert put(limit).status_code == 200
    is_refused(put(limit + 1))


@meets(INSIDE, "MAX_METADATA")
def test_metadata(limit, sandbox, calls):
    http = calls(sandbox)

    def put(size):
        kind = {"Content-Type": "application/octet-stream"}
        return http.upload("/tmp/f", content=b"x", headers=kind | {"X-Metadata-K": "v" * (size - 1)})

    assert put(limit // 2).status_code == 200
    assert str(limit) in is_refused(put(limit + 1))


@meets(INSIDE, "MAX_ENTRIES")
def test_entries_of_a_listing(limit, sandbox, calls):
    python(sandbox, f"import os\nos.mkdir('/tmp/l')\nfor n in range({limit + 1}): open(f'/tmp/l/{{n}}', 'w').close()")
    calls(sandbox).refused(LIST, {"path": "/tmp/l", "depth": 1}, "resource_exhausted")


@meets(INSIDE, "MAX_LISTING")
def test_bytes_of_a_listing(limit, sandbox, calls):
    code = f"""
import os
path = "/tmp/l"
for n in range(14):
    path += "/" + "d" * 250
os.makedirs(path)
os.chdir(path)
for n in range({limit} // 3600 + 2000):
    open("f" * 200 + str(n), "w").close()
print(path)
"""
    path = python(sandbox, code)
    calls(sandbox).refused(LIST, {"path": path, "depth": 1}, "resource_exhausted")


@meets(INSIDE, "MAX_OWNERS")
def test_owners_of_a_listing(limit, sandbox, calls):
    code = f"""
import os
os.mkdir("/tmp/o")
with open("/etc/passwd", "a") as accounts:
    for n in range({limit + 20}):
        accounts.write(f"owner{{n}}:x:{{5000 + n}}:5000::/:/bin/sh\\n")
        open(f"/tmp/o/{{n}}", "w").close()
        os.chown(f"/tmp/o/{{n}}", 5000 + n, 5000)
"""
    python(sandbox, code, user="root")
    entries = calls(sandbox).unary(LIST, {"path": "/tmp/o", "depth": 1}).json()["entries"]
    named = [entry["owner"] for entry in entries if entry["owner"].startswith("owner")]
    assert len(entries) == limit + 20 and limit - 20 <= len(named) <= limit
    assert all(entry["owner"].isdigit() for entry in entries if entry["owner"] not in named)


@meets(INSIDE, "MAX_OPEN_DIRECTORIES")
def test_a_deep_tree_is_removed(limit, sandbox):
    depth = 10 * limit
    code = f"import os\nos.mkdir('/tmp/deep'); os.chdir('/tmp/deep')\nfor n in range({depth}): os.mkdir('d'); os.chdir('d')"
    python(sandbox, code)
    sandbox.files.remove("/tmp/deep")
    assert not sandbox.files.exists("/tmp/deep")


@meets(INSIDE, "MAX_WATCHERS")
def test_watches(limit, sandbox, calls):
    http = calls(sandbox)
    for _ in range(limit):
        assert http.unary(WATCH, {"path": "/tmp"}).status_code == 200
    http.refused(WATCH, {"path": "/tmp"}, "resource_exhausted")


@meets(INSIDE, "MAX_WATCHED")
def test_directories_of_a_watch(limit, sandbox, calls):
    python(sandbox, f"import os\nfor n in range({limit + 1}): os.makedirs(f'/tmp/w/{{n}}')")
    calls(sandbox).refused(WATCH, {"path": "/tmp/w", "recursive": True}, "resource_exhausted")


def changes(sandbox, http, code):
    """What a watcher of /tmp/w hears of a program."""
    run(sandbox, "mkdir /tmp/w")
    watcher = http.unary(WATCH, {"path": "/tmp/w"}).json()["watcherId"]
    python(sandbox, code)
    time.sleep(1)
    return http.unary(EVENTS, {"watcherId": watcher}).json()["events"]


@meets(INSIDE, "MAX_CHANGES")
def test_changes(limit, sandbox, calls):
    code = f"import os\nfor n in range({limit + 500}): os.mkdir(f'/tmp/w/{{n}}')"
    heard = changes(sandbox, calls(sandbox), code)
    assert len(heard) == limit + 1
    assert (heard[-1].get("name", ""), heard[-1].get("type")) == ("", "EVENT_TYPE_UNSPECIFIED")


@meets(INSIDE, "MAX_CHANGED_NAMES")
def test_names_of_changes(limit, sandbox, calls):
    code = f"import os\nfor n in range({limit // 240 + 200}): os.mkdir(f'/tmp/w/{{n:0250}}')"
    heard = changes(sandbox, calls(sandbox), code)
    assert limit * 0.9 <= sum(len(change.get("name", "")) for change in heard) <= limit
    assert (heard[-1].get("name", ""), heard[-1].get("type")) == ("", "EVENT_TYPE_UNSPECIFIED")


@meets(INSIDE, "HOLD")
def test_a_file_that_stays_open(limit, sandbox, calls):
    http = calls(sandbox)
    run(sandbox, "mkdir /tmp/w")
    code = "import time\nf = open('/tmp/w/f', 'w')\nfor n in range(60): f.write('x'); f.flush(); time.sleep(0.05)"
    sandbox.files.write("/tmp/hold.py", code)
    heard = {}
    with http.stream("filesystem.Filesystem/WatchDir", {"path": "/tmp/w"}) as stream:
        assert "start" in next(stream)
        sandbox.commands.run("python3 /tmp/hold.py", background=True)
        for message in stream:
            heard.setdefault(message["filesystem"]["type"], time.monotonic())
            if "EVENT_TYPE_WRITE" in heard:
                break
    assert limit * 0.8 < heard["EVENT_TYPE_WRITE"] - heard["EVENT_TYPE_CREATE"] < limit + 1
