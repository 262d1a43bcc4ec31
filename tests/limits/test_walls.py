"""The native driver's ceilings: met by programs inside, at the kernel."""

import json
import subprocess

from helpers import fails, run
from page import meets

WALLS, SERVER = "Walls", "The server and the command line"

#: Counts how often something works, and with which error it stops. `errno.errorcode` names it.
COUNT = """
import ctypes, errno, os, resource, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
def until_refused(attempt, most):
    for n in range(most):
        try:
            if attempt(n) == -1:
                return print(n, errno.errorcode[ctypes.get_errno()])
        except OSError as error:
            return print(n, errno.errorcode[error.errno])
    print(most, None)
"""


def count(sandbox, code, **more):
    sandbox.files.write("/tmp/count.py", COUNT + code)
    n, error = run(sandbox, "python3 /tmp/count.py", timeout=100, **more).split()
    return int(n), error


@meets(WALLS, "MAX_FILES")
def test_files(limit, sandbox):
    code = f"""
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
until_refused(lambda n: os.open("/dev/null", os.O_RDONLY), {limit + 10})
"""
    # The server has the hard limit of whoever started it; that is not ours where the environment names one.
    limit = min(limit, int(run(sandbox, "ulimit -Hn")))
    n, error = count(sandbox, code)
    assert limit - 16 <= n <= limit and error == "EMFILE"


@meets(WALLS, "PENDING_SIGNALS")
def test_pending_signals(limit, sandbox):
    code = f"""
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
until_refused(lambda n: libc.sigqueue(os.getpid(), signal.SIGRTMIN, None), {limit + 10})
"""
    n, error = count(sandbox, code)
    assert n <= limit and error == "EAGAIN"


@meets(WALLS, "QUEUE")
def test_message_queues(limit, sandbox):
    size = limit // 8
    code = f"""
class Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("flags", "maxmsg", "msgsize", "curmsgs")] + [("rest", ctypes.c_long * 4)]
ask = Attributes(0, 10, 8192, 0)
until_refused(lambda n: libc.mq_open(b"/q%d" % n, os.O_CREAT | os.O_RDWR, 0o600, ctypes.byref(ask)), {size})
"""
    n, error = count(sandbox, code)
    assert 0 < n * 10 * 8192 <= limit and error == "EMFILE"


@meets(WALLS, "LOCKED")
def test_locked_memory(limit, sandbox):
    code = f"""
import mmap
def lock(n):
    area = mmap.mmap(-1, 1 << 20)
    keep.append(area)
    return libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(area))), ctypes.c_size_t(1 << 20))
keep = []
until_refused(lock, {(limit >> 20) + 10})
"""
    n, error = count(sandbox, code)
    assert n <= limit >> 20 and error == "ENOMEM"


@meets(WALLS, "CORE")
def test_core_dumps(limit, sandbox):
    assert limit == 1
    run(sandbox, "mkdir c && cd c && (ulimit -c unlimited; python3 -c 'import os; os.abort()'; true)")
    assert run(sandbox, "ls c") == ""


@meets(WALLS, "INOTIFY_INSTANCES")
def test_inotify_instances(limit, sandbox):
    n, error = count(sandbox, f"until_refused(lambda n: libc.inotify_init(), {limit + 10})")
    assert limit - 8 <= n <= limit and error == "EMFILE"


@meets(WALLS, "INOTIFY_WATCHES")
def test_inotify_watches(limit, sandbox):
    code = f"""
one = libc.inotify_init()
os.mkdir("/tmp/watched")
def watch(n):
    path = b"/tmp/watched/%d" % n
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    return libc.inotify_add_watch(one, path, 2)
until_refused(watch, {limit + 10})
"""
    n, error = count(sandbox, code)
    assert limit - 64 <= n <= limit and error == "ENOSPC"


@meets(WALLS, "NAMESPACES")
def test_namespaces(limit, sandbox):
    assert limit == 0
    for flag in ("-U", "-m", "-p", "-n", "-i", "-u", "-C", "-T"):
        for user in ("user", "root"):
            said = fails(sandbox, f"unshare {flag} true", user=user)
            assert said.exit_code != 0


@meets(WALLS, "FANOTIFY")
def test_fanotify(limit, sandbox):
    n, error = count(sandbox, f"until_refused(lambda n: libc.fanotify_init(0, 0), {limit + 1})", user="root")
    assert n == limit and error in ("EPERM", "EMFILE")


@meets(WALLS, "RANGE")
def test_range_of_ids(limit, sandbox):
    run(sandbox, f"touch f && chown {limit - 1} f", user="root")
    assert "Invalid argument" in fails(sandbox, f"chown {limit} f", user="root").stderr


def fill(sandbox, path, size):
    """How many bytes went in before the write failed for want of room."""
    said = fails(sandbox, f"head -c {size} /dev/zero > {path}", user="root")
    assert "No space left" in said.stderr, said.stderr
    size = int(run(sandbox, f"stat -c %s {path}", user="root"))
    run(sandbox, f"rm {path}", user="root")
    return size


@meets(WALLS, "SHM_SHARE")
def test_shared_memory(limit, sized):
    room = (256 << 20) // limit
    assert room * 0.9 <= fill(sized(memoryMB=256), "/dev/shm/full", 2 * room) <= room


@meets(WALLS, "RUN")
def test_run(limit, sandbox):
    assert limit * 0.9 <= fill(sandbox, "/run/full", 2 * limit) <= limit


@meets(WALLS, "TMP_OF_READ_ONLY_ROOT")
def test_tmp_of_a_read_only_root(limit, sized):
    assert limit * 0.9 <= fill(sized(readOnlyRoot=True), "/tmp/full", 2 * limit) <= limit


@meets(SERVER, "PIDS")
def test_processes(limit, sandbox):
    code = f"""
def fork(n):
    pid = os.fork()
    if pid == 0:
        signal.pause()
    children.append(pid)
    return 0
children = []
until_refused(fork, {limit + 10})
for pid in children:
    os.kill(pid, signal.SIGKILL)
"""
    n, error = count(sandbox, code)
    assert limit - 64 <= n < limit and error == "EAGAIN"


@meets(SERVER, "DISK")
def test_disk(limit, sandbox):
    run(sandbox, f"fallocate -l {limit // 2} half")
    said = fails(sandbox, f"fallocate -l {limit} more")
    assert "Disk quota exceeded" in said.stderr


def hood_run(hood, tmp_path, program, *more, name="p.py"):
    (tmp_path / name).write_text(program)
    command = [hood, "run", name, "--out", "out", "--timeout", "60s", *more]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=100)


@meets(SERVER, "RUN_PROGRAM")
def test_program_of_hood_run(limit, hood, tmp_path):
    command = [hood, "run", "-", "--language", "python", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, input=b"#" * (limit + 1), capture_output=True, timeout=60)
    assert done.returncode == 1 and b"longer than" in done.stderr


@meets(SERVER, "RUN_FILES")
def test_files_of_hood_run(limit, hood, tmp_path):
    done = hood_run(hood, tmp_path, f"for n in range({limit + 5}): open(f'f{{n}}', 'w').write('x')")
    assert done.returncode == 0 and f"{limit} are the limit".encode() in done.stderr
    assert len(list((tmp_path / "out").iterdir())) == limit


@meets(SERVER, "RUN_LEVELS")
def test_levels_of_hood_run(limit, hood, tmp_path):
    program = f"""
import os
for depth in ({limit - 1}, {limit + 1}):
    path = "/".join(f"d{{depth}}" for _ in range(depth))
    os.makedirs(path)
    open(path + "/f", "w").write("x")
"""
    done = hood_run(hood, tmp_path, program)
    assert done.returncode == 0, done.stderr
    assert {p.relative_to(tmp_path / "out").parts[0] for p in (tmp_path / "out").rglob("f")} == {f"d{limit - 1}"}


@meets(SERVER, "RUN_NAME")
def test_names_of_hood_run(limit, hood, tmp_path):
    done = hood_run(hood, tmp_path, f"open('n' * {limit + 100}, 'w').write('x')")
    assert done.returncode == 0, done.stderr
    assert [len(p.name) for p in (tmp_path / "out").iterdir()] == [limit]


@meets(SERVER, "RUN_OUTPUT")
def test_output_of_hood_run(limit, hood, tmp_path):
    done = hood_run(hood, tmp_path, f"print('x' * {limit + 1000})", "--json")
    said = json.loads(done.stdout)
    assert len(said["stdout"]) <= limit and any(said[name] is True for name in said if "trunc" in name.lower()), list(said)
