"""Runs hostile programs inside: Python with raw system calls, since a C library would refuse or rewrite some."""

import json
import shlex
import time
from pathlib import Path

from e2b import CommandExitException, SandboxException

PRELUDE = '''
import ctypes, errno, json, os, resource, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
seen = {}
def call(number, *arguments):
    """"OK" or the name of the errno."""
    wrapped = [ctypes.c_void_p(a) if isinstance(a, int) else a for a in arguments]
    if libc.syscall(ctypes.c_long(number), *wrapped) >= 0:
        return "OK"
    return errno.errorcode[ctypes.get_errno()]
def attempt(function, *arguments):
    try:
        function(*arguments)
        return "OK"
    except OSError as error:
        return errno.errorcode[error.errno]
def say():
    print(json.dumps(seen), flush=True)
'''


def shell(sandbox, command, user="user", timeout=60):
    """Everything that a command says, whether it succeeds or not."""
    try:
        result = sandbox.commands.run(command, user=user, timeout=timeout)
    except CommandExitException as ended:
        result = ended
    return result.stdout + result.stderr


def python(source):
    """The command line that runs `source` with the prelude."""
    return f"python3 -c {shlex.quote(PRELUDE + source)}"


def probe(sandbox, source, user="user", timeout=60):
    """What a program found out: `seen`, which it fills in."""
    said = sandbox.commands.run(python(source + "\nsay()"), user=user, timeout=timeout)
    return json.loads(said.stdout.splitlines()[-1])


def background(sandbox, source, user="user", timeout=60):
    """Starts a program, and waits until it says `ready`."""
    handle = sandbox.commands.run(python(source), user=user, background=True, timeout=timeout)
    for stdout, _, _ in handle:
        if stdout and "ready" in stdout:
            return handle
    raise AssertionError("the program ended before it was ready")


def answers(sandbox, user="user"):
    """The sandbox still serves."""
    return sandbox.commands.run("echo alive", user=user, timeout=20).stdout == "alive\n"


def answered(sandbox):
    """As `answers`, for a sandbox whose processes may still be dying."""
    try:
        return answers(sandbox)
    except SandboxException:
        return False


def built(sandbox, name, flags=""):
    """The path of a program of `programs/`, compiled inside, which everybody may run."""
    path = f"/usr/local/bin/{name}"
    source = (Path(__file__).parent / "programs" / f"{name}.c").read_text()
    sandbox.files.write(f"/tmp/{name}.c", source)
    said = shell(sandbox, f"gcc -O1 -Wall -o {path} /tmp/{name}.c {flags} && echo built", "root")
    assert said.endswith("built\n"), said
    return path


def until(condition, seconds=5.0, pause=0.1):
    """Waits for a condition, and hands back what it said."""
    end = time.monotonic() + seconds
    while True:
        said = condition()
        if said or time.monotonic() > end:
            return said
        time.sleep(pause)


def alive(sandbox, pattern):
    """How many processes inside have this in their command line; write it as 'sleep 424[2]', lest it finds itself."""
    return int(shell(sandbox, f"pgrep -cf '{pattern}' || true", "root").split()[0])
