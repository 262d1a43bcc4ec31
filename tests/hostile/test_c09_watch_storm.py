"""C9. A directory that changes a million times a second: the watcher must be told that it missed something, not flooded."""

import base64
import os
import time

import httpx
from e2b import SandboxException

from programs import answers, built, shell
from wire import headers


def pending(sandbox, watcher, who):
    """All that a watcher has to say."""
    answer = httpx.post(
        os.environ["E2B_SANDBOX_URL"] + "/filesystem.Filesystem/GetWatcherEvents",
        json={"watcherId": watcher._watcher_id},
        headers=headers(sandbox) | {"Authorization": "Basic " + base64.b64encode(f"{who}:".encode()).decode()},
        timeout=20,
    )
    assert answer.status_code == 200, answer.text
    return answer.json()["events"]


def test_a_storm_is_bounded_and_said(sandbox, trial, who):
    program = built(sandbox, "c09_storm")
    shell(sandbox, "mkdir -p /tmp/storm", who)
    watcher = sandbox.files.watch_dir("/tmp/storm", user=who)
    changes = int(shell(sandbox, f"{program} /tmp/storm 3 4", who, timeout=60))
    time.sleep(0.5)
    resident = trial.laboratory.premises.memory()["server"]
    # By hand: the SDK passes over events of a type that it does not know, and so over the mark of a loss.
    events = pending(sandbox, watcher, who)
    assert changes > 20_000
    assert 0 < len(events) < changes
    lost = [event for event in events if not event.get("name")]
    assert lost, "events were dropped, and nothing says so"
    assert trial.laboratory.premises.memory()["server"] - resident < 32 << 20
    assert answers(sandbox)
    trial.saw = f"{changes} changes, {len(events)} events, {len(lost)} marks of loss"
    # Afterwards it goes on watching.
    shell(sandbox, "touch /tmp/storm/after", who)
    time.sleep(0.5)
    assert "after" in [event.name for event in watcher.get_new_events()]
    watcher.stop()


def test_a_watch_that_nobody_reads_holds_a_bounded_number(sandbox, trial, who):
    program = built(sandbox, "c09_storm")
    shell(sandbox, "mkdir -p /tmp/storm", who)
    watchers = [sandbox.files.watch_dir("/tmp/storm", user=who) for _ in range(8)]
    shell(sandbox, f"{program} /tmp/storm 3 2", who, timeout=60)
    assert answers(sandbox)
    counts = [len(watcher.get_new_events()) for watcher in watchers]
    assert max(counts) <= 100_000
    trial.saw = f"at most {max(counts)} events kept"


def test_watching_the_root(sandbox, trial, who):
    """Everything at once: one directory, or a tree with a ceiling; never a guest that is busy for ever."""
    for recursive in (False, True):
        began = time.monotonic()
        try:
            watcher = sandbox.files.watch_dir("/", user=who, recursive=recursive, request_timeout=20)
            shell(sandbox, "touch /tmp/seen", who)
            watcher.get_new_events()
            watcher.stop()
            said = "watched"
        except SandboxException as error:
            said = str(error)[:60]
        assert time.monotonic() - began < 20
        assert answers(sandbox)
        trial.saw += f"recursive={recursive}: {said}; "


def test_proc_and_what_is_no_directory(sandbox, trial, who):
    for path in ("/proc", "/proc/1", "/dev/null", "/etc/passwd", "/nowhere", "/sys/fs/cgroup"):
        try:
            sandbox.files.watch_dir(path, user=who, request_timeout=10).stop()
        except SandboxException:
            continue
    assert answers(sandbox)
    trial.saw = "answered"
