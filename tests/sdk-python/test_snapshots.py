"""Snapshots, forks, pauses that keep only files, and going back: a sandbox's files at one moment, in other sandboxes."""

import concurrent.futures

import pytest
from e2b import Sandbox
from e2b.exceptions import InvalidArgumentException, NotFoundException, SandboxException, SandboxNotFoundException
from e2b_code_interpreter import Sandbox as Interpreter

from helpers import until

BOOT_ID = "/proc/sys/kernel/random/boot_id"


@pytest.fixture
def snapshot(sandbox):
    sandbox.files.write("/home/user/state.txt", "at the snapshot")
    made = sandbox.create_snapshot()
    yield made.snapshot_id
    Sandbox.delete_snapshot(made.snapshot_id)


def test_a_snapshot_survives_its_source(create):
    source = create()
    source.files.write("/home/user/kept.txt", "kept")
    source.commands.run("ln -s kept.txt link && mkfifo pipe && rm -rf /opt && echo root > /etc/motd", user="root")
    made = source.create_snapshot()
    source.kill()
    try:
        child = create(made.snapshot_id)
        assert child.commands.run("cat link; test -p pipe; test ! -e /opt; cat /etc/motd").stdout == "kept" + "root\n"
    finally:
        assert Sandbox.delete_snapshot(made.snapshot_id)
        assert not Sandbox.delete_snapshot(made.snapshot_id)
    # What was made from it keeps what it has.
    assert child.files.read("/home/user/kept.txt") == "kept"


def test_the_source_goes_on_meanwhile(sandbox):
    counting = sandbox.commands.run(
        "i=0; while :; do i=$((i+1)); echo $i > /tmp/count; sleep 0.01; done", background=True
    )
    assert until(lambda: sandbox.files.exists("/tmp/count"))
    made = sandbox.create_snapshot()
    first = int(sandbox.files.read("/tmp/count") or 0)
    assert until(lambda: int(sandbox.files.read("/tmp/count") or 0) > first)
    assert counting.pid in [process.pid for process in sandbox.commands.list()]
    Sandbox.delete_snapshot(made.snapshot_id)


def test_the_newest_of_a_name_has_it(sandbox, create):
    name = f"named-{sandbox.sandbox_id}"
    sandbox.files.write("/home/user/v", "1")
    first = sandbox.create_snapshot(name=name)
    assert first.names == [f"{name}:default"]
    tagged = sandbox.create_snapshot(name=f"{name}:other")
    sandbox.files.write("/home/user/v", "2")
    second = sandbox.create_snapshot(name=name.upper())
    try:
        assert create(name).files.read("/home/user/v") == "2"
        assert create(f"{name}:other").files.read("/home/user/v") == "1"
        listed = Sandbox.list_snapshots(name=name).next_items()
        assert {found.snapshot_id for found in listed} == {second.snapshot_id, tagged.snapshot_id}
        of_sandbox = Sandbox.list_snapshots(sandbox_id=sandbox.sandbox_id, limit=2)
        ids = [found.snapshot_id for found in of_sandbox.next_items()]
        assert of_sandbox.has_next
        ids += [found.snapshot_id for found in of_sandbox.next_items()]
        assert ids == [second.snapshot_id, tagged.snapshot_id, first.snapshot_id], "newest first"
        assert not of_sandbox.has_next
    finally:
        for made in (first, tagged, second):
            Sandbox.delete_snapshot(made.snapshot_id)


@pytest.mark.parametrize("name", ["a/b", "..", "a b", "x" * 200, "name:", "a\0b"])
def test_bad_names_are_refused(sandbox, api, name):
    answer = api.post(f"/sandboxes/{sandbox.sandbox_id}/snapshots", json={"name": name})
    assert answer.status_code == 400, answer.text
    assert Sandbox.list_snapshots(sandbox_id=sandbox.sandbox_id).next_items() == []


def test_a_template_s_name_is_taken(sandbox, api):
    answer = api.post(f"/sandboxes/{sandbox.sandbox_id}/snapshots", json={"name": "base"})
    assert answer.status_code == 409 and "name of a template" in answer.text
    assert api.delete("/templates/base").status_code == 501, "templates on disk are not the API's to delete"


def test_another_team_s_snapshot_is_none(snapshot, api):
    with pytest.raises(SandboxException):
        Sandbox.create("s" + "a" * 20)
    assert api.delete("/templates/nosuch").status_code == 404


def test_forks_are_apart(sandbox, api):
    """hostile.md E6 and part 3, row 50."""
    sandbox.files.write("/home/user/state.txt", "before")
    context = Interpreter.connect(sandbox.sandbox_id)
    forks = Interpreter.fork(sandbox.sandbox_id, count=8, timeout=60)
    assert len(forks) == 8 and all(isinstance(fork, Interpreter) for fork in forks), forks
    script = "cat /etc/machine-id /proc/sys/kernel/random/boot_id; head -c 16 /dev/urandom | md5sum; hostname; cat /etc/hostname"
    try:
        seen = [[] for _ in range(5)]
        for box in [context, *forks]:
            for column, line in zip(seen, box.commands.run(script).stdout.splitlines(), strict=True):
                column.append(line)
        assert [len(set(column)) for column in seen] == [9] * 5, seen
        tokens = {api.get(f"/sandboxes/{box.sandbox_id}").json()["envdAccessToken"] for box in [context, *forks]}
        assert len(tokens) == 9
        fork = forks[0]
        fork.files.write("/home/user/state.txt", "after")
        assert sandbox.files.read("/home/user/state.txt") == "before"
        assert forks[1].files.read("/home/user/state.txt") == "before"
    finally:
        for fork in forks:
            fork.kill()
    assert sandbox.is_running()


def test_random_numbers_differ_between_forks(interpreter):
    """hostile.md E6."""
    code = "import random, uuid, numpy; print(random.random(), uuid.uuid4(), numpy.random.rand())"
    interpreter.run_code(code)
    forks = Interpreter.fork(interpreter.sandbox_id, count=4, timeout=60)
    try:
        said = [fork.run_code(code).logs.stdout[0].split() for fork in [interpreter, *forks]]
        for column in zip(*said, strict=True):
            assert len(set(column)) == 5, said
    finally:
        for fork in forks:
            fork.kill()


def test_a_fork_says_that_memory_is_not_carried(sandbox, api):
    answer = api.post(f"/sandboxes/{sandbox.sandbox_id}/fork", json={"timeout": 30})
    assert answer.status_code == 201
    [child] = answer.json()
    assert child["memory"] is False and "error" not in child
    assert api.delete(f"/sandboxes/{child['sandbox']['sandboxID']}").status_code == 204


def test_children_have_their_parent_s_labels_and_environment(create):
    parent = create(metadata={"run": "7"}, envs={"COLOUR": "red"})
    [child] = parent.fork(timeout=30)
    try:
        assert child.get_info().metadata == {"run": "7"}
        assert child.commands.run("echo $COLOUR").stdout == "red\n"
    finally:
        child.kill()


@pytest.mark.parametrize("count", [0, -1, 101])
def test_too_many_or_too_few_children(sandbox, api, count):
    answer = api.post(f"/sandboxes/{sandbox.sandbox_id}/fork", json={"count": count})
    assert answer.status_code == 400 and "count" in answer.text, answer.text


def test_a_fork_of_what_has_ended_is_not_found(create):
    sandbox = create()
    sandbox.kill()
    with pytest.raises(SandboxNotFoundException):
        sandbox.fork()
    with pytest.raises((SandboxNotFoundException, NotFoundException)):
        sandbox.create_snapshot()


@pytest.mark.parametrize("keep_memory", [True, False])
def test_paused_ones_are_captured_and_forked(sandbox, keep_memory):
    sandbox.files.write("/home/user/state.txt", "asleep")
    sandbox.pause(keep_memory=keep_memory)
    made = sandbox.create_snapshot()
    [child] = sandbox.fork(timeout=30)
    try:
        assert child.files.read("/home/user/state.txt") == "asleep"
        assert not sandbox.is_running()
        sandbox.connect()
        assert sandbox.files.read("/home/user/state.txt") == "asleep"
    finally:
        child.kill()
        Sandbox.delete_snapshot(made.snapshot_id)


def test_a_pause_may_keep_only_files(sandbox, api):
    sandbox.files.write("/home/user/kept.txt", "kept")
    sandbox.commands.run("echo installed > /usr/local/kept; sleep 600 & sleep 600 &", user="root")
    boot = sandbox.files.read(BOOT_ID)
    assert sandbox.pause(keep_memory=False)
    shown = api.get(f"/sandboxes/{sandbox.sandbox_id}").json()
    assert (shown["state"], shown["pauseMode"]) == ("paused", "filesystem")
    assert not sandbox.pause(), "paused already"
    assert not sandbox.is_running()
    sandbox.connect()
    assert sandbox.files.read("/home/user/kept.txt") == "kept"
    assert sandbox.commands.run("cat /usr/local/kept; pgrep -c sleep || true").stdout == "installed\n0\n"
    assert sandbox.files.read(BOOT_ID) != boot
    # And again, with what was written since.
    sandbox.files.write("/home/user/more.txt", "more")
    assert sandbox.pause(keep_memory=False)
    sandbox.connect()
    assert sandbox.files.read("/home/user/more.txt") == "more"
    assert sandbox.kill()


def test_the_deadline_may_keep_only_files(create, api):
    lifecycle = {"on_timeout": {"action": "pause", "keep_memory": False}}
    sandbox = create(timeout=2, lifecycle=lifecycle)
    sandbox.files.write("/home/user/last.txt", "written just before")
    boot = sandbox.files.read(BOOT_ID)
    assert until(lambda: api.get(f"/sandboxes/{sandbox.sandbox_id}").json()["state"] == "paused", seconds=6)
    sandbox.connect(timeout=60)
    assert sandbox.files.read("/home/user/last.txt") == "written just before"
    assert sandbox.files.read(BOOT_ID) != boot


def test_what_rests_can_be_killed(create):
    """hostile.md part 3, row 38."""
    sandbox = create()
    sandbox.pause(keep_memory=False)
    assert sandbox.kill()
    assert not sandbox.kill()
    with pytest.raises(SandboxNotFoundException):
        sandbox.connect()


@pytest.mark.parametrize("paused", [None, False])
def test_back_to_a_snapshot(sandbox, snapshot, api, paused):
    sandbox.files.write("/home/user/state.txt", "spoiled")
    sandbox.commands.run("rm -rf /usr/share/doc", user="root")
    if paused is not None:
        sandbox.pause(keep_memory=paused)
    answer = api.post(f"/sandboxes/{sandbox.sandbox_id}/rollback", json={"snapshotID": snapshot})
    assert answer.status_code == 200, answer.text
    sandbox.connect()
    assert sandbox.files.read("/home/user/state.txt") == "at the snapshot"
    assert sandbox.files.exists("/usr/share/doc")


def test_back_to_what_is_not_there_changes_nothing(sandbox, api):
    sandbox.files.write("/home/user/state.txt", "mine")
    for snapshot, status in (("nosuch", 404), ("s" + "a" * 20, 404), ("", 404)):
        answer = api.post(f"/sandboxes/{sandbox.sandbox_id}/rollback", json={"snapshotID": snapshot})
        assert answer.status_code == status, answer.text
    assert api.post(f"/sandboxes/{sandbox.sandbox_id}/rollback", json={}).status_code == 400
    assert sandbox.files.read("/home/user/state.txt") == "mine"


def test_hostile_names_in_etc_do_not_mislead_the_server(create, api):
    """The files that name a machine are written by the server into a copy of what a sandbox made of `/etc`."""
    for spoil in (
        "rm -rf /etc/hostname /etc/machine-id /etc/hosts; ln -s /etc/shadow /etc/hostname; mkdir /etc/machine-id; mkfifo /etc/hosts",
        "mv /etc /etc.old; ln -s /root /etc",
        "mv /etc /etc.old; echo file > /etc",
    ):
        sandbox = create()
        # One command: without /etc the next cannot name its account.
        sandbox.commands.run(spoil, user="root")
        answer = api.post(f"/sandboxes/{sandbox.sandbox_id}/fork", json={"count": 1, "timeout": 30})
        assert answer.status_code == 201
        [child] = answer.json()
        if "sandbox" in child:
            assert api.delete(f"/sandboxes/{child['sandbox']['sandboxID']}").status_code == 204
        else:
            assert child["error"]["code"] == 500, child
        sandbox.kill()


def test_everything_at_once(sandbox):
    """hostile.md E4: snapshots, forks, pauses and resumes of one sandbox from many sides."""

    def some(n):
        try:
            if n % 4 == 0:
                return sandbox.create_snapshot().snapshot_id
            if n % 4 == 1:
                for fork in sandbox.fork(timeout=30):
                    if isinstance(fork, Sandbox):
                        fork.kill()
            if n % 4 == 2:
                sandbox.pause(keep_memory=n % 8 == 2)
            if n % 4 == 3:
                Sandbox.connect(sandbox.sandbox_id)
        except SandboxException as refused:
            assert "internal" not in str(refused), refused
        return None

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        made = list(pool.map(some, range(64)))
    sandbox.connect()
    assert sandbox.commands.run("echo alive").stdout == "alive\n"
    for snapshot in filter(None, made):
        assert Sandbox.delete_snapshot(snapshot)


def test_bad_counts_do_not_reach_the_server():
    with pytest.raises(InvalidArgumentException):
        Sandbox.fork("nosuch", count=0)
