"""Programs that take all they can get: the sandbox bears it, the server and its neighbours do not notice."""

import pytest
from e2b import CommandExitException, NotEnoughSpaceException, SandboxException
from e2b_code_interpreter import Sandbox as Interpreter
from helpers import Stopwatch, fails, run, survivors, until, value


@pytest.fixture
def neighbour(create):
    """A sandbox that must not notice anything."""
    box = create()
    yield box
    with Stopwatch() as took:
        assert run(box, "echo undisturbed") == "undisturbed"
    assert took.seconds < 2


def run_wild(sandbox, command):
    """Starts what may never end."""
    return sandbox.commands.run(command, background=True, timeout=0)


def test_fork_bomb(create, neighbour):
    sandbox = create()
    run_wild(sandbox, "bomb() { bomb | bomb & }; bomb; sleep 60")
    until(lambda: False, 2)
    with Stopwatch() as took:
        assert sandbox.get_info().state.value == "running"
        assert run(neighbour, "echo fine") == "fine"
        assert sandbox.is_running()
    assert took.seconds < 2
    with Stopwatch() as took:
        assert sandbox.kill()
    assert took.seconds < 5
    assert not sandbox.is_running()


@pytest.mark.slow
def test_fork_bomb_in_a_cell(interpret, neighbour):
    interpreter = interpret()
    interpreter.run_code(
        "import os, time\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(300)\nexcept OSError as error:\n    print(error.errno)",
        timeout=100,
    )
    assert run(neighbour, "echo fine") == "fine"
    assert interpreter.kill()


def test_too_many_processes_is_an_error_inside(sized):
    sandbox = sized(pids=50)
    code = "import os, time\ntry:\n    for n in range(1000):\n        if os.fork() == 0: time.sleep(3); os._exit(0)\nexcept OSError as e:\n    print(e.errno, n < 50)"
    sandbox.files.write("fork.py", code)
    assert run(sandbox, "python3 fork.py") == "11 True"
    # Full to the last process, it still answers, and says why it cannot start another one.
    assert sandbox.files.read("fork.py") == code
    assert until(lambda: attempt(sandbox, "echo usable") == "usable", 10)


def attempt(sandbox, command):
    try:
        return run(sandbox, command)
    except SandboxException:
        return None


def test_memory_hog(sized, neighbour):
    sandbox = sized(memoryMB=256)
    hog = 'python3 -c "x = []\nwhile True: x.append(bytearray(32 << 20))"'
    exit = fails(sandbox, hog, timeout=60)
    assert exit.exit_code in (137, -1, 9)
    assert run(sandbox, "echo usable") == "usable"
    sandbox.files.write("after", "x")


def test_memory_hog_with_many_processes(sized, neighbour):
    sandbox = sized(memoryMB=256)
    run_wild(sandbox, 'for i in 1 2 3 4; do python3 -c "x = []\nwhile True: x.append(bytearray(8 << 20))" & done; wait')
    until(lambda: False, 3)
    assert until(lambda: attempt(sandbox, "echo usable") == "usable", 15)


def test_shared_memory_counts(sized):
    sandbox = sized(memoryMB=256)
    with pytest.raises(CommandExitException):
        sandbox.commands.run("head -c 1000000000 /dev/zero > /dev/shm/x", timeout=60)
    run(sandbox, "rm -f /dev/shm/x")
    assert run(sandbox, "echo usable") == "usable"


def test_upload_larger_than_the_disk(sized, neighbour):
    sandbox = sized(diskMB=64)
    with pytest.raises(NotEnoughSpaceException):
        sandbox.files.write("big", b"x" * (100 << 20))
    sandbox.files.remove("big")
    sandbox.files.write("small", "fits")
    assert sandbox.files.read("small") == "fits"
    assert run(sandbox, "echo usable > file && cat file") == "usable"


@pytest.mark.slow
def test_three_gigabytes_into_one(sized, neighbour):
    sandbox = sized(diskMB=1024)
    piece = bytes(1 << 20)
    with pytest.raises(NotEnoughSpaceException):
        sandbox.files.write("big", (piece for _ in range(3 << 10)), use_octet_stream=True)
    sandbox.files.remove("big")
    sandbox.files.write("small", "fits")
    assert run(sandbox, "cat small") == "fits"


@pytest.mark.parametrize("where", ["/home/user", "/tmp", "/var/tmp", "/usr/local", "/code"])
def test_every_writable_place_is_limited(sized, where):
    sandbox = sized(diskMB=64, memoryMB=256)
    exit = fails(sandbox, f"mkdir -p {where} && cd {where} && head -c 600000000 /dev/zero > x", user="root", timeout=60)
    assert exit.exit_code != 0
    run(sandbox, f"rm -f {where}/x", user="root")
    assert run(sandbox, "echo usable") == "usable"


def test_many_small_files(sized):
    sandbox = sized(diskMB=64)
    code = (
        "import os\nos.mkdir('many'); os.chdir('many')\nfor i in range(10**6):\n    open(str(i), 'w').write('x' * 4096)"
    )
    assert "OSError" in fails(sandbox, f'python3 -c "{code}"', timeout=100).stderr
    run(sandbox, "rm -rf many")
    sandbox.files.write("after", "x")


def test_sparse_file(sized):
    sandbox = sized(diskMB=64)
    run(sandbox, "truncate -s 1T sparse && stat -c %s sparse")
    assert fails(sandbox, "fallocate -l 10G solid").exit_code != 0
    run(sandbox, "rm sparse; echo x > y")


def test_all_processors(create, neighbour):
    sandbox = create()
    run_wild(sandbox, "for i in $(seq 64); do while :; do :; done & done; wait")
    until(lambda: False, 1)
    with Stopwatch() as took:
        sandbox.get_info()
        assert run(neighbour, "echo fine") == "fine"
    assert took.seconds < 3
    assert sandbox.kill()


def test_too_many_open_files(sandbox):
    code = "import os\nf = []\ntry:\n    while True: f.append(os.open('/dev/null', 0))\nexcept OSError as e: print(e.errno, len(f))"
    errno, count = run(sandbox, f'python3 -c "{code}"').split()
    assert errno == "24" and int(count) < 2_000_000
    assert run(sandbox, "echo fine") == "fine"


def test_a_daemon_storm_ends_with_the_sandbox(create):
    sandbox = create()
    run_wild(sandbox, "for i in $(seq 100); do setsid sh -c 'setsid sleep 4248 &' & done; wait")
    assert until(lambda: len(survivors(sandbox, "sleep 424[8]")) >= 50, 5)
    with Stopwatch() as took:
        assert sandbox.kill()
    assert took.seconds < 5


def test_code_that_eats_everything_then_works(sized):
    interpreter = sized(Interpreter, memoryMB=512)
    assert interpreter.run_code("x = [bytearray(64 << 20) for _ in range(1000)]", timeout=60).error.name in (
        "KernelOutOfMemory",
        "MemoryError",
    )
    assert value(interpreter, "6 * 7") == "42"
