"""A server without root, as an account made for this: sandboxes work, say which walls stand, and leave nothing.

Needs `newuidmap` (Debian's package is `uidmap`). The account's templates are the built ones, copied with the owners
shifted to its sub-ids as a build of its own would leave them.
"""

import json
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from e2b import CommandExitException, Sandbox
from e2b_code_interpreter import Sandbox as Interpreter
from host import pids, read, stat_of, until

NAME = "hood-test-rootless"
WITHOUT = "memory,cpu,disk,idmap"
SHIFT = 2  # root inside is the second of the sub-ids: the first is the root of the template's namespace
SHARED, NOBODY = 64000, 65534
PATIENCE = 30
LAST_WORDS = 30

pytestmark = pytest.mark.skipif(
    not shutil.which("newuidmap"), reason="newuidmap is not installed (Debian's package is uidmap)"
)


class Account:
    """An unprivileged user with sub-ids and a home of its own."""

    def __init__(self, where):
        self.home = Path(tempfile.mkdtemp(prefix="rootless-", dir=where))
        subprocess.run(["useradd", "--home-dir", self.home, "--no-create-home", "--shell", "/bin/sh", NAME], check=True)
        self.entry = pwd.getpwnam(NAME)
        self.sub_ids = range_of(self.entry, "/etc/subuid", "--add-subuids")
        assert range_of(self.entry, "/etc/subgid", "--add-subgids") == self.sub_ids
        os.chown(self.home, self.entry.pw_uid, self.entry.pw_gid)
        self.home.chmod(0o711)  # another account is to start the program in it

    def remove(self):
        subprocess.run(["userdel", NAME], check=True)
        subprocess.run(["rm", "-rf", "--", self.home], check=True)

    def command(self, *words):
        """As this account, with nothing of the tests' own environment but the path."""
        me = ["setpriv", "--pdeathsig", "TERM", "--reuid", NAME, "--regid", NAME, "--init-groups", "--"]
        variables = [f"HOME={self.home}", f"PATH={os.environ['PATH']}"]
        return [*me, "env", "-i", *variables, *map(str, words)]

    def owns(self, uid):
        return uid == self.entry.pw_uid or uid in self.sub_ids

    def processes(self):
        """(pid, name) of everything that runs with an id of this account."""
        found = []
        for pid in pids():
            status = read(f"/proc/{pid}/status")
            uid = re.search(r"^Uid:\s+(\d+)", status, re.M)
            if uid and self.owns(int(uid[1])) and stat_of(pid):
                found.append((pid, status.split("\n", 1)[0]))
        return found


class Rootless:
    """A server of the account's."""

    def __init__(self, account, program, data_dir):
        self.account, self.program, self.data_dir = account, program, data_dir
        self.process, self.log = None, []

    def start(self, *more, wrapped=()):
        words = [self.program, "serve", "--listen", "127.0.0.1:0", "--without", WITHOUT, *more]
        command = [*wrapped, *self.account.command(*words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, **pipes)
        threading.Thread(target=self._listen, args=[self.process.stderr], daemon=True).start()
        ready = next((line for line in self.process.stdout if "is ready at" in line), None)
        assert ready, "\n".join(self.log[-LAST_WORDS:])
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        url = ready.split("ready at ")[1].split(";")[0]
        key = (self.data_dir / "api-key").read_text().strip()
        self.api = httpx.Client(base_url=url, headers={"X-API-Key": key}, timeout=60)
        self.env = {"E2B_API_URL": url, "E2B_SANDBOX_URL": url, "E2B_API_KEY": key}
        return self

    def _listen(self, pipe):
        self.log.extend(line.rstrip() for line in pipe)

    def isolation(self, sandbox):
        return self.api.get(f"/sandboxes/{sandbox}").json()["isolation"]

    def end(self, how):
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        self.api.close()
        self.process = None
        return code


def range_of(entry, file, option):
    """Its range in one of the two files; given now, where `useradd` has not."""
    for _ in range(2):
        for line in Path(file).read_text().splitlines():
            name, first, count = line.split(":")
            if name == entry.pw_name and int(count) >= 65536:
                return range(int(first), int(first) + 65536)
        taken = [line.split(":") for line in Path(file).read_text().splitlines()]
        first = max([100000, *(int(first) + int(count) for _, first, count in taken)])
        subprocess.run(["usermod", option, f"{first}-{first + 65535}", entry.pw_name], check=True)
    raise AssertionError(f"no range in {file}")


def copy_templates(source, target, account):
    """What a build of the account's own would have left: owners are sub-ids, the overlay's marks are `user.*`."""
    for name in ["layers", "templates"]:
        subprocess.run(["cp", "-a", "--reflink=auto", source / name, target / name], check=True)
        os.chown(target / name, account.entry.pw_uid, account.entry.pw_gid)
    root = account.sub_ids[SHIFT - 1]

    def shifted(number):
        return root + SHARED if number == NOBODY else root + number

    for layer in [*(target / "layers").iterdir(), *(target / "templates").iterdir()]:
        if not layer.is_dir():
            os.chown(layer, account.entry.pw_uid, account.entry.pw_gid)
            continue
        for folder, folders, files in os.walk(layer):
            for path in [folder, *(os.path.join(folder, name) for name in folders + files)]:
                found = os.lstat(path)
                if found.st_uid >= root:
                    continue  # a second name of a file, or a folder seen from above
                marks = [x for x in os.listxattr(path, follow_symlinks=False) if x.startswith("trusted.overlay.")]
                for mark in marks:
                    value = os.getxattr(path, mark, follow_symlinks=False)
                    os.removexattr(path, mark, follow_symlinks=False)
                    os.setxattr(path, mark.replace("trusted.", "user.", 1), value, follow_symlinks=False)
                os.chown(path, shifted(found.st_uid), shifted(found.st_gid), follow_symlinks=False)
                if stat.S_ISREG(found.st_mode) and found.st_mode & 0o6000:
                    os.chmod(path, stat.S_IMODE(found.st_mode))  # the change of owner has taken the bits away


@pytest.fixture(scope="module")
def account():
    made = Account("/var/tmp")
    yield made
    assert made.processes() == []
    made.remove()


@pytest.fixture(scope="module")
def program(account):
    """Where the account may read it."""
    where = account.home / "hood"
    shutil.copy(os.environ["HOOD_BIN"], where)
    where.chmod(0o755)
    return where


@pytest.fixture(scope="module")
def data_dir(account):
    """The account's own default, with templates."""
    where = account.home / ".local/share/fumehood"
    where.mkdir(parents=True, mode=0o700)
    for folder in [where, *list(where.parents)[:2]]:
        os.chown(folder, account.entry.pw_uid, account.entry.pw_gid)
    copy_templates(Path(os.environ["HOOD_TEMPLATES"]), where, account)
    return where


@pytest.fixture
def rootless(account, program, data_dir):
    server = Rootless(account, program, data_dir)
    yield server
    if server.process is not None:
        server.end(signal.SIGTERM)
    until(lambda: account.processes() == [], PATIENCE, f"nothing is left: {account.processes()}")


@pytest.fixture
def sdk(monkeypatch):
    def point(server):
        for name, value in server.env.items():
            monkeypatch.setenv(name, value)

    return point


def test_it_does_not_start_without_being_told_and_says_how_it_would(account, program, data_dir):
    serve = account.command(program, "serve", "--listen", "127.0.0.1:0")
    done = subprocess.run(serve, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert "4 walls are missing: `memory` (" in done.stderr
    way = re.search(r"`(hood serve --without \S+ --listen 127.0.0.1:0)`", done.stderr)
    assert way and f"--without {WITHOUT} " in way[1], done.stderr
    needed = subprocess.run([*serve, "--without", "seccomp"], capture_output=True, text=True, timeout=PATIENCE)
    assert needed.returncode == 2 and "no sandbox is made without `seccomp`" in needed.stderr


def test_the_doctor_shows_both_modes(account, program, data_dir):
    done = subprocess.run(account.command(program, "doctor", "--json"), capture_output=True, text=True, timeout=PATIENCE)
    found = {finding["wall"]: finding for finding in json.loads(done.stdout)}
    assert found["memory"]["modes"] == {"root": "full", "rootless": "missing"}
    assert found["memory"]["standing"] == "missing" and found["privilege"]["standing"] == "full"
    assert found["template base"]["standing"] == "full"
    shown = subprocess.run(account.command(program, "doctor"), capture_output=True, text=True, timeout=PATIENCE).stdout
    assert "This account serves without root" in shown and f"hood serve --without {WITHOUT}" in shown


def test_what_a_user_does(rootless, sdk, account):
    sdk(rootless.start())
    with Sandbox.create(timeout=300) as sandbox:
        assert sandbox.commands.run("id -un").stdout == "user\n"
        assert sandbox.commands.run("sudo id -u").stdout == "0\n"
        sandbox.files.write("/home/user/a/b.txt", "written")
        assert sandbox.commands.run("cat a/b.txt; stat -c %U a/b.txt").stdout == "writtenuser\n"
        assert sandbox.files.read("/etc/hostname").strip() == sandbox.sandbox_id
        # Programs that rename folders of the template cope with two disks, and so must they here.
        assert sandbox.commands.run("sudo mv /usr/local/lib/node_modules /opt/moved && ls /opt/moved").stdout == "npm\n"
        assert sandbox.commands.run("sudo touch /root/x && sudo rm -r /usr/share/zoneinfo && ls /usr/share/zoneinfo | wc -l; true")
        background = sandbox.commands.run("sleep 4242 & setsid sleep 4243 & wait", background=True)
        until(lambda: "4243" in sandbox.commands.run("ps ax").stdout, PATIENCE, "it runs")
        assert background.kill()
        until(lambda: "sleep 424" not in sandbox.commands.run("ps ax").stdout, PATIENCE, "the tree is dead")
        isolation = rootless.isolation(sandbox.sandbox_id)
        assert isolation["mode"] == "rootless"
        missing = {wall for wall, standing in isolation["walls"].items() if standing == "missing"}
        partial = {wall for wall, standing in isolation["walls"].items() if standing == "partial"}
        assert missing == set(WITHOUT.split(",")) and partial == {"pids", "tree_kill"}
        root = account.sub_ids[SHIFT - 1]
        maps = sandbox.commands.run("cat /proc/self/uid_map").stdout.split()
        assert maps[0] == "0" and "65534" in maps
        seen = {int(read(f"/proc/{pid}/status").split("Uid:\t")[1].split()[0]) for pid in in_sandboxes(account)}
        assert seen and account.entry.pw_uid not in seen and root in seen, (seen, root)
        metrics = rootless.api.get(f"/sandboxes/{sandbox.sandbox_id}/metrics")
        assert metrics.status_code == 200, metrics.text


def in_sandboxes(account):
    """Pids of processes three user namespaces deep: their maps have `nobody` in a line of its own."""
    return [pid for pid, _ in account.processes() if re.search(r"^\s*65534 ", read(f"/proc/{pid}/uid_map"), re.M)]


def test_a_python_cell(rootless, sdk):
    sdk(rootless.start())
    with Interpreter.create(timeout=300) as sandbox:
        execution = sandbox.run_code("import pandas\nprint(pandas.Series([1, 2]).sum())\n6 * 7")
        assert execution.error is None, execution.error
        assert execution.logs.stdout == ["3\n"] and execution.text == "42"
    assert any("there is no nursery" in line for line in rootless.log)


def test_nothing_is_left_after_sigterm(rootless, sdk, account, data_dir):
    mounts = len(Path("/proc/self/mountinfo").read_text().splitlines())
    sdk(rootless.start())
    for _ in range(3):
        Sandbox.create(timeout=300)
    assert len(list((data_dir / "writable").iterdir())) == 3
    assert rootless.end(signal.SIGTERM) == 0
    assert account.processes() == []
    assert list((data_dir / "writable").iterdir()) == []
    assert len(Path("/proc/self/mountinfo").read_text().splitlines()) == mounts


def test_nothing_is_left_after_a_crash_and_a_restart(rootless, sdk, account, data_dir):
    mounts = len(Path("/proc/self/mountinfo").read_text().splitlines())
    sdk(rootless.start())
    sandbox = Sandbox.create(timeout=300)
    sandbox.commands.run("sleep 4242", background=True)
    sandbox.commands.run("python3 - <<'X'\nimport os\nfor n in range(1500):\n  os.mkdir('d'); os.chdir('d')\nX")
    sandbox.commands.run("cd /tmp && touch \"$(printf 'no\\377text')\" && mkdir closed && chmod 0 closed")
    rootless.end(signal.SIGKILL)
    rootless.start()
    until(lambda: in_sandboxes(account) == [], PATIENCE, "its processes are gone")
    assert list((data_dir / "writable").iterdir()) == []
    assert rootless.api.get("/v2/sandboxes").json() == []
    sdk(rootless)
    with Sandbox.create(timeout=300) as again:
        assert again.commands.run("echo alive").stdout == "alive\n"
    assert rootless.end(signal.SIGTERM) == 0
    assert len(Path("/proc/self/mountinfo").read_text().splitlines()) == mounts


def refused(sandbox, command, user="root"):
    try:
        done = sandbox.commands.run(command, user=user)
    except CommandExitException as error:
        return error.stderr + error.stdout
    raise AssertionError(f"`{command}` worked: {done.stdout}")


def test_hostile_basics_hold(rootless, sdk, account, data_dir):
    sdk(rootless.start())
    with Sandbox.create(timeout=300) as sandbox, Sandbox.create(timeout=300) as other:
        other.commands.run("sleep 31415", background=True)
        for user in ["user", "root"]:
            for attempt in [
                "mount -t tmpfs none /mnt",
                "mount --bind /etc /mnt",
                "umount /proc/sys",
                "mount -o remount,rw /sys",
                "unshare --user --map-root-user true",
                "cat /proc/1/mem",
                "ls /proc/1/fd",
                "cat /proc/1/environ",
                "mknod /tmp/device b 8 0",
                "ip link set lo down || false",
                "echo 1 > /proc/sys/kernel/panic",
                "chmod 600 /dev/null",
                "rm -f /dev/zero && ! test -e /dev/zero",
            ]:
                refused(sandbox, attempt, user)
        ptrace = "import ctypes; l = ctypes.CDLL(None, use_errno=True); raise SystemExit(l.ptrace(16, 1, 0, 0) == 0)"
        assert sandbox.commands.run(f'python3 -c "{ptrace}"', user="root").exit_code == 0
        # Neither the other's processes nor its files, though both have the same ids.
        assert "31415" not in sandbox.commands.run("ps axww", user="root").stdout
        mounts = sandbox.commands.run("cat /proc/self/mountinfo; true").stdout
        assert str(account.home) not in mounts and f"uid={account.entry.pw_uid}," not in mounts
        # What looks like the overlay's own mark is kept under another name.
        mark = "import os; os.setxattr('/home/user', 'user.overlay.opaque', b'y')"
        sandbox.commands.run(f'python3 -c "{mark}"', user="root")
        upper = data_dir / "writable" / sandbox.sandbox_id / "upper"
        assert "user.overlay.opaque" not in os.listxattr(upper / "home/user")
        bomb = ":(){ :|:& };:"
        refused(sandbox, f"ulimit -u; timeout 5 bash -c '{bomb} ; sleep 4; exit 1'", "user")
        assert other.commands.run("echo unharmed").stdout == "unharmed\n"
    assert os.stat("/dev/null").st_mode & 0o777 == 0o666


def test_many_at_once(rootless, sdk, account):
    sdk(rootless.start())
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda _: Sandbox.create(timeout=300), range(12)))
        assert {s.commands.run("echo $HOSTNAME; hostname").stdout.split()[-1] for s in made} == {
            s.sandbox_id for s in made
        }
        list(pool.map(lambda s: s.kill(), made))
    until(lambda: in_sandboxes(account) == [], PATIENCE, "all are gone")


def test_groups_that_were_handed_to_the_user_are_used(rootless, sdk, account):
    """cgroup2 without controllers still kills trees at once."""
    mount = next(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines() if " - cgroup2 " in line)
    group = Path(mount) / "hood-test-rootless"
    group.mkdir()
    try:
        for path in [group, group / "cgroup.procs", group / "cgroup.threads", group / "cgroup.subtree_control"]:
            os.chown(path, account.entry.pw_uid, account.entry.pw_gid)
        enter = ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
        sdk(rootless.start(wrapped=enter))
        with Sandbox.create(timeout=300) as sandbox:
            assert rootless.isolation(sandbox.sandbox_id)["walls"]["tree_kill"] == "full"
            daemon = sandbox.commands.run("(setsid sh -c 'sleep 4244 & sleep 4245' &) ; sleep 4246", background=True)
            until(lambda: "4244" in sandbox.commands.run("ps ax").stdout, PATIENCE, "it runs")
            daemon.kill()
            until(lambda: "sleep 424" not in sandbox.commands.run("ps ax").stdout, PATIENCE, "the tree is dead")
        assert rootless.end(signal.SIGTERM) == 0
        until(lambda: [path for path in group.iterdir() if path.is_dir()] == [], PATIENCE, "no group is left")
    finally:
        if rootless.process is not None:
            rootless.end(signal.SIGTERM)
        until(lambda: (group / "cgroup.procs").read_text() == "", PATIENCE, "nobody is in it")
        group.rmdir()


def test_run_serves_itself(account, program, data_dir):
    code = account.home / "code.py"
    code.write_text("import os\nopen('made.txt', 'w').write('made')\nprint('ran as', os.getuid())\n")
    out = account.home / "out"
    words = account.command(program, "run", code, "--out", out)
    told = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert told.returncode == 1 and "hood run --without memory,cpu,disk,idmap" in told.stderr, told.stderr
    done = subprocess.run([*words, "--without", WITHOUT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "ran as 1000\n", done.stderr
    assert (out / "made.txt").read_text() == "made" and (out / "made.txt").stat().st_uid == account.entry.pw_uid
    until(lambda: account.processes() == [], PATIENCE, "nothing is left")
    assert list((data_dir / "commands").iterdir()) == []


def test_templates_of_root_are_refused(account, program):
    """Owners on disk would be wrong: a sandbox is not made of them."""
    place = account.home / "mixed"
    place.mkdir()
    for name in ["layers", "templates"]:
        shutil.copytree(
            Path(os.environ["HOOD_TEMPLATES"]) / name, place / name, symlinks=True, ignore=shutil.ignore_patterns("usr", "var", "home")
        )
    subprocess.run(["chmod", "-R", "a+rX", place], check=True)
    for path in [place, place / "layers", place / "templates"]:
        os.chown(path, account.entry.pw_uid, account.entry.pw_gid)
    server = Rootless(account, program, place).start("--data-dir", place)
    try:
        answer = server.api.post("/v2/sandboxes", json={"templateID": "base", "timeout": 60})
        assert answer.status_code >= 400, answer.text
        told = "build the template with the account that serves it"
        until(lambda: any(told in line for line in server.log), PATIENCE, "the log says why")
    finally:
        server.end(signal.SIGTERM)
        shutil.rmtree(place)


def test_a_user_without_sub_ids_is_told_which_line_to_add(program, account):
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env", "-i", f"HOME={account.home}"]
    done = subprocess.run([*nobody, program, "serve"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert "user `nobody` has no range of 65536 ids in /etc/subuid" in done.stderr
    line = re.search(r"add the line `nobody:(\d+):65536`", done.stderr)
    assert line and int(line[1]) >= account.sub_ids[-1]
    assert "usermod --add-subuids" in done.stderr
