"""The nursery: a warm interpreter that never runs a line of anybody's code, and whose forks
step through the walls of waiting sandboxes.

Started by the driver's builder as root of the template's user namespace only:
`python3 <kernels>/python --nursery --fd 3 --joiner FILE --imports a,b,c`. On descriptor 3 it
is asked for forks, one message each with descriptors, and tells of their ends. What a fork
must do to get inside is in the joiner (`drivers/native/joiner`); what it must make fresh is in
`fork.after_fork`.

Messages, one JSON object each:
  server → nursery   {"id", "uid", "gid", "groups", "env", "cwd", "tasks": n}
                     with descriptors: pidfd, cgroup, n × tasks, stdin, stdout, stderr, socket
  nursery → server   {"ready": true}, {"id", "pid"} or {"id", "error"}, {"id", "ended": status}
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys

from . import libraries, pages, threads
from .fork import after_fork
from .kernel import serve, setup

MAX_MESSAGE = 1 << 20
MAX_DESCRIPTORS = 32
MAX_TASKS = 8


class Join(ctypes.Structure):
    """Mirrors `Join` of the joiner, field by field."""

    _fields_ = [
        ("pidfd", ctypes.c_int),
        ("home", ctypes.c_int),
        ("group", ctypes.c_int),
        ("task_count", ctypes.c_uint),
        ("tasks", ctypes.c_int * MAX_TASKS),
        ("stdio", ctypes.c_int * 3),
        ("socket", ctypes.c_int),
        ("uid", ctypes.c_uint),
        ("gid", ctypes.c_uint),
        ("groups", ctypes.POINTER(ctypes.c_uint)),
        ("group_count", ctypes.c_uint),
        ("filter_length", ctypes.c_uint),
        ("filter", ctypes.c_char_p),
        ("keep_capabilities", ctypes.c_ulonglong),
        ("directory", ctypes.c_char_p),
    ]


class Nursery:
    """The warm parent."""

    def __init__(self, server, joiner, payload_filter, keep_capabilities):
        self.server = server
        joiner = ctypes.PyDLL(joiner)
        pages.side_by_side(joiner)
        self.join = joiner.hood_join
        self.join.restype = ctypes.c_longlong
        self.home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self.filter = payload_filter
        self.keep_capabilities = keep_capabilities
        self.kernel = None
        self.children = {}

    def warm(self, imports, warm_up):
        """Import what the recipe lists and run its warm-up, so that forks share the pages."""
        self.kernel = setup()
        for name in imports:
            try:
                importlib.import_module(name)
            except ImportError as error:
                print(f"nursery: {error}", file=sys.stderr)
        for cell in warm_up:
            # In a namespace of its own: nothing of it may be visible to a user.
            exec(compile(cell, "<warm-up>", "exec"), {"__name__": "__warm_up__"})
        libraries.close_files()
        threads.find()
        if len(os.listdir("/proc/self/task")) != 1:
            raise SystemExit("nursery: an import has started a thread; a fork would lose it")
        gc.collect()
        gc.freeze()
        pages.gather()

    def run(self):
        """Fork on request until the server goes away. Returns, in a fork, what to serve."""
        signal.signal(signal.SIGCHLD, lambda *_: self.reap())
        self.tell({"ready": True})
        while True:
            data, descriptors, _, _ = socket.recv_fds(self.server, MAX_MESSAGE, MAX_DESCRIPTORS)
            if not data:
                raise SystemExit(0)
            request = json.loads(data)
            # A child that ends before it is known would be reported as nobody's.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
            pid = self.fork(request, descriptors)
            if pid == 0:
                return request
            for descriptor in descriptors:
                os.close(descriptor)
            if pid > 0:
                self.children[pid] = request["id"]
                self.tell({"id": request["id"], "pid": pid})
            else:
                self.tell({"id": request["id"], "error": os.strerror(-pid)})
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})

    def fork(self, request, descriptors):
        """The joiner's call between what CPython wants before and after a fork."""
        count = request["tasks"]
        pidfd, group, *rest = descriptors
        tasks, rest = rest[:count], rest[count:]
        groups = (ctypes.c_uint * len(request["groups"]))(*request["groups"])
        join = Join(
            pidfd=pidfd,
            home=self.home,
            group=group,
            task_count=count,
            tasks=(ctypes.c_int * MAX_TASKS)(*tasks),
            stdio=(ctypes.c_int * 3)(*rest[:3]),
            socket=rest[3],
            uid=request["uid"],
            gid=request["gid"],
            groups=groups,
            group_count=len(groups),
            filter_length=len(self.filter) // 8,
            filter=self.filter,
            keep_capabilities=self.keep_capabilities,
            directory=os.fsencode(request["cwd"]),
        )
        ctypes.pythonapi.PyOS_BeforeFork()
        pid = self.join(ctypes.byref(join))
        if pid == 0:
            ctypes.pythonapi.PyOS_AfterFork_Child()
        else:
            ctypes.pythonapi.PyOS_AfterFork_Parent()
        return pid

    def reap(self):
        """Tell the server of every fork that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.children:
                self.tell({"id": self.children.pop(pid), "ended": status})

    def tell(self, message):
        """One message; a server that is gone is noticed by the next receive."""
        try:
            self.server.send(json.dumps(message).encode())
        except OSError:
            pass


def run(fd, joiner, settings):
    """Warm up, then fork for ever. A fork goes on here as the kernel of a context."""
    with open(settings, encoding="utf-8") as file:
        settings = json.load(file)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=fd)
    nursery = Nursery(
        server, joiner, bytes.fromhex(settings["filter"]), settings["keep_capabilities"]
    )
    nursery.warm(settings["imports"], settings["warm_up"])
    request = nursery.run()
    # Inside. The nursery's descriptors are closed, its objects must not close them again.
    server.detach()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    kernel = nursery.kernel
    after_fork(kernel.shell, request["env"], None)
    del nursery, request, settings
    serve(kernel, 3)
