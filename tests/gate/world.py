"""Builds the world: a host in a network namespace of the test's own, wired to the fake internet in another.

The tests' own process moves into the host's namespace, and everything it starts with it; the real network is out of
reach from there. Both namespaces end with their processes.
"""

import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from names import ALIASES, FORBIDDEN, HOST, HOST6, PUBLIC, RESOLVERS, ROUTER, ROUTER6, ZONE

CLONE_NEWNET = 0x40000000
HERE = Path(__file__).parent
READY = 20  # seconds until the internet must be there


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def unshare():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "cannot make a network namespace")


class World:
    def __init__(self, scratch, authority):
        """`authority`: a file with the key and certificate of one that sandboxes believe."""
        self.scratch, self.authority = Path(scratch), Path(authority)
        self.hits_file = self.scratch / "hits"
        self.hits_file.touch()
        #: Forbidden addresses that a test opens by a profile.
        self.allowed_for_a_moment = []
        self.ca = self.scratch / "ca.crt"
        self._certificates()
        self._repository()
        unshare()
        command = [sys.executable, "-B", HERE / "internet.py", self.scratch / "leaf.pem", self.scratch / "repo.git"]
        release = os.pipe()
        self.internet = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", 'read _ && exec "$@"', "sh", *command, self.hits_file],
            preexec_fn=unshare,
            stdin=release[0],
            stdout=subprocess.PIPE,
            text=True,
        )
        os.close(release[0])
        self._wire(self.internet.pid)
        os.write(release[1], b"go\n")
        os.close(release[1])
        watchdog = threading.Timer(READY, self.internet.kill)
        watchdog.start()
        said = self.internet.stdout.readline()
        watchdog.cancel()
        if said != "ready\n":
            raise RuntimeError("the fake internet does not start")
        self.services = Services()

    def _wire(self, pid):
        inside = ["nsenter", f"--net=/proc/{pid}/ns/net", "ip"]
        wait_until(lambda: os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net"))
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "down0", "netns", str(pid))
        for command, device, v4, v6 in [(["ip"], "up0", HOST, HOST6), (inside, "down0", ROUTER, ROUTER6)]:
            run(*command, "link", "set", "lo", "up")
            run(*command, "addr", "add", f"{v4}/24", "dev", device)
            run(*command, "addr", "add", f"{v6}/64", "dev", device, "nodad")
            run(*command, "link", "set", device, "up")
        run("ip", "route", "add", "default", "via", ROUTER)
        run("ip", "-6", "route", "add", "default", "via", ROUTER6)
        for address in [*RESOLVERS, *PUBLIC, *FORBIDDEN]:
            prefix = "128" if ":" in address else "32"
            run(*inside, "addr", "add", f"{address}/{prefix}", "dev", "lo", *(["nodad"] if ":" in address else []))

    def _certificates(self):
        """One certificate for every name, from an authority that programs in sandboxes believe."""
        leaf, key = self.scratch / "leaf.pem", self.scratch / "ca.key"
        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
        text = self.authority.read_text()
        begin = text.index("-----BEGIN CERTIFICATE-----")
        key.write_text(text[:begin])
        self.ca.write_text(text[begin:])
        names = [*(name for name in [*ZONE, *ALIASES]), "*.evil.example"]
        addresses = [f"IP:{address}" for address in PUBLIC + RESOLVERS]
        alternatives = ",".join([*(f"DNS:{name}" for name in names), *addresses])
        sign = ["-CA", self.ca, "-CAkey", key, "-addext", f"subjectAltName={alternatives}"]
        sign += ["-addext", "basicConstraints=critical,CA:FALSE"]
        certificate, leaf_key = self.scratch / "leaf.crt", self.scratch / "leaf.key"
        run("openssl", "req", "-x509", *new, "-subj", "/CN=leaf", *sign, "-keyout", leaf_key, "-out", certificate)
        leaf.write_text(leaf_key.read_text() + certificate.read_text())

    def _repository(self):
        """A repository for git over plain HTTP files."""
        work, bare = self.scratch / "work", self.scratch / "repo.git"
        me = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
        run("git", *me, "init", "-q", work)
        (work / "README").write_text("from the fake internet\n")
        run("git", *me, "-C", work, "add", "README")
        run("git", *me, "-C", work, "commit", "-q", "-m", "one")
        run("git", "clone", "-q", "--bare", work, bare)
        run("git", "-C", bare, "update-server-info")

    def hits(self, kind=None):
        """What the internet has been sent so far."""
        lines = self.hits_file.read_text().splitlines()
        all_hits = [json.loads(line) for line in lines]
        return [hit for hit in all_hits if kind is None or hit["kind"] == kind]

    def mark(self):
        """From here on: a function that hands over what came after."""
        seen = len(self.hits())
        return lambda kind=None: [hit for hit in self.hits()[seen:] if kind is None or hit["kind"] == kind]

    def close(self):
        self.services.close()
        self.internet.kill()
        self.internet.wait()


class Services:
    """What listens on the host itself, and must not hear from a sandbox."""

    def __init__(self):
        self.calls, self.sockets = [], []
        for family, address in [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")]:
            for port in (80, 2375, 9100):
                listener = socket.socket(family, socket.SOCK_STREAM)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind((address, port))
                listener.listen(64)
                self.sockets.append(listener)
                threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.calls.append(connection.getsockname())
            connection.close()

    def close(self):
        for listener in self.sockets:
            listener.close()


class DataDir:
    """A data directory with the built templates and a configuration."""

    def __init__(self, templates, configuration):
        runs = Path(templates) / "runs"
        runs.mkdir(exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-gate-", dir=runs))
        for name in ["layers", "templates"]:
            (self.path / name).symlink_to(Path(templates) / name)
        (self.path / "hood.toml").write_text(configuration)

    def remove(self):
        shutil.rmtree(self.path)


def wait_until(holds, within=5.0):
    """Waits for a level, with a bound; says whether it came."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.005)
    return bool(holds())
