"""What people use today, each measured from the call that starts it to the first output that its user sees.

Each rival is `with rival() as once:`, where `once()` does it one time, cleans up, and returns seconds. What cannot be
had on this host says why (`Absent`) and is left out of the table by name.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HELLO = ["/bin/echo", "hello"]
IMPORTS = "import pandas\nimport matplotlib.pyplot\n"
FRAME = "frame = pandas.DataFrame({'name': list('xyz') * 40, 'value': range(120)})\nframe.groupby('name').describe()"


class Absent(Exception):
    """This host has it not."""


def _first_line(arguments):
    began = time.perf_counter()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        line = process.stdout.readline()
        took = time.perf_counter() - began
        process.stdout.read()
        errors = process.stderr.read().decode(errors="replace")
    if line.strip() not in (b"hello", b"2"):
        raise RuntimeError(f"{arguments[0]} said {line!r}; {errors[-400:]}")
    return took


def _program(name):
    path = shutil.which(name)
    if path is None:
        raise Absent(f"no `{name}`")
    return path


@contextlib.contextmanager
def subprocess_alone():
    """No walls at all: the floor under everything."""
    yield lambda: _first_line(HELLO)


@contextlib.contextmanager
def bubblewrap():
    """All namespaces and a read-only view of the host: no state, no API, no limits."""
    walls = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    command = [_program("bwrap"), *walls, "--tmpfs", "/tmp", *HELLO]
    yield lambda: _first_line(command)


@contextlib.contextmanager
def runsc():
    """gVisor's `runsc do`."""
    command = [_program("runsc"), "--network=none", "--ignore-cgroups", "do", *HELLO]
    yield lambda: _first_line(command)


@contextlib.contextmanager
def sandlock():
    """Landlock and seccomp, through its Python package; its answer comes when the program has ended."""
    try:
        from sandlock import Sandbox
    except ImportError as error:
        raise Absent(str(error)) from error
    there = [path for path in ("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/dev") if os.path.exists(path)]

    def once():
        began = time.perf_counter()
        result = Sandbox(fs_readable=there, fs_writable=["/tmp"]).run(HELLO, timeout=20)
        took = time.perf_counter() - began
        if not result.success:
            raise RuntimeError(f"sandlock: {result}")
        return took

    yield once


@contextlib.contextmanager
def llm_sandbox():
    """llm-sandbox with its bubblewrap backend: a session, and `1+1` in a new interpreter within."""
    try:
        from llm_sandbox import SandboxBackend, SandboxSession
    except ImportError as error:
        raise Absent(str(error)) from error
    backend = getattr(SandboxBackend, "BUBBLEWRAP", None)
    if backend is None:
        raise Absent("this llm-sandbox has no bubblewrap backend")

    def once():
        began = time.perf_counter()
        with SandboxSession(backend=backend, lang="python") as session:
            result = session.run("print(1+1)")
            took = time.perf_counter() - began
        if result.stdout.strip() != "2":
            raise RuntimeError(f"llm-sandbox: {result}")
        return took

    yield once


@contextlib.contextmanager
def docker():
    """Docker Engine with an image of one static busybox: the smallest that there can be. A daemon of our own, without
    network and beside none that may be running."""
    daemon, client, busybox = _program("dockerd"), _program("docker"), _program("busybox")
    with tempfile.TemporaryDirectory(prefix="bench-docker-") as place, contextlib.ExitStack() as stack:
        place = Path(place)
        socket = f"unix://{place}/docker.sock"
        options = ["--bridge=none", "--iptables=false", "--ip6tables=false", f"--host={socket}", f"--pidfile={place}/pid"]
        log = stack.enter_context((place / "log").open("wb"))
        running = subprocess.Popen(
            [daemon, *options, f"--data-root={place}/data", f"--exec-root={place}/exec"],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        stack.callback(_end, running)
        speak = [client, "--host", socket]
        _wait(lambda: subprocess.run([*speak, "version"], capture_output=True).returncode == 0, place / "log")
        root = place / "root/bin"
        root.mkdir(parents=True)
        shutil.copy(busybox, root / "busybox")
        (root / "echo").symlink_to("busybox")
        packed = subprocess.run(["tar", "-C", place / "root", "-c", "."], capture_output=True, check=True).stdout
        subprocess.run([*speak, "import", "-", "bench"], input=packed, capture_output=True, check=True)
        command = [*speak, "run", "--rm", "--network=none", "bench", *HELLO]
        yield lambda: _first_line(command)


def _end(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(ready, log):
    end = time.monotonic() + 40
    while not ready():
        if time.monotonic() > end:
            raise Absent(f"it does not start: {log.read_text(errors='replace')[-300:]}")
        time.sleep(0.2)


@contextlib.contextmanager
def python_that_imports():
    """A bare interpreter that imports pandas and matplotlib."""
    command = [sys.executable, "-c", IMPORTS + "print(1+1)"]
    yield lambda: _first_line(command)


@contextlib.contextmanager
def jupyter_that_imports():
    """A Jupyter kernel by `jupyter_client`, and a first cell that imports them."""
    yield lambda: _jupyter(IMPORTS + "1+1")


@contextlib.contextmanager
def jupyter_that_groups():
    """The same, and a first cell that groups and describes a data frame."""
    yield lambda: _jupyter(IMPORTS + FRAME)


@contextlib.contextmanager
def warm_jupyter():
    """`1+1` in a kernel that runs, to the end of its answer."""
    manager, client = _kernel()
    try:
        _execute(client, IMPORTS)

        def once():
            began = time.perf_counter()
            _execute(client, "1+1")
            return time.perf_counter() - began

        yield once
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _kernel():
    try:
        from jupyter_client.manager import start_new_kernel
    except ImportError as error:
        raise Absent(str(error)) from error
    # It warns of every start.
    return start_new_kernel(startup_timeout=120, stderr=subprocess.DEVNULL)


def _execute(client, code):
    said = []
    client.execute_interactive(code, output_hook=said.append, timeout=120)
    if any(message["msg_type"] == "error" for message in said):
        raise RuntimeError(f"jupyter: {said}")


def _jupyter(code):
    began = time.perf_counter()
    manager, client = _kernel()
    try:
        _execute(client, code)
        return time.perf_counter() - began
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
