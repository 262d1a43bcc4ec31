"""A data directory of its own with a server on it, which may be killed and started again."""

import os
import shutil
import tempfile
from pathlib import Path

import httpx
from hood_server import HoodServer
from host import Host

LIFE = 600  # seconds; no sandbox here ends by itself


class Place:
    def __init__(self, program, templates):
        self.program = program
        # Beside the templates: /tmp may be a small tmpfs.
        runs = Path(templates) / "runs"
        runs.mkdir(exist_ok=True)
        self.data_dir = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-faults-", dir=runs))
        for name in ["layers", "templates"]:
            (self.data_dir / name).symlink_to(Path(templates) / name)
        self.host = Host(self.data_dir)
        self.server, self.api = None, None

    def start(self):
        self.server = HoodServer(self.program, self.data_dir)
        self.host.server = self.server.process.pid
        self.env = self.server.env()
        headers = {"X-API-Key": self.env["E2B_API_KEY"]}
        self.api = httpx.Client(base_url=self.env["E2B_API_URL"], headers=headers, timeout=60)
        return self

    def kill(self):
        """kill -9. What lives is looked at before, to be recognised afterwards."""
        self.host.counts()
        self.server.kill_hard()
        self._ended()

    def stop(self):
        """SIGTERM; the exit code, and how long it took."""
        self.host.counts()
        server = self.server
        took = server.stop()
        self._ended()
        return server.process.returncode, took

    def _ended(self):
        self.api.close()
        Path(self.server.log.name).unlink(missing_ok=True)
        self.server, self.host.server = None, None

    def remove(self):
        if self.server is not None:
            self.stop()
        shutil.rmtree(self.data_dir)

    def create(self, template="base", **more):
        body = {"templateID": template, "timeout": LIFE, **more}
        answer = self.api.post("/v2/sandboxes", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()["sandboxID"]

    def end(self, sandbox):
        answer = self.api.delete(f"/sandboxes/{sandbox}")
        assert answer.status_code == 204, answer.text

    def running(self):
        answer = self.api.get("/v2/sandboxes")
        assert answer.status_code == 200, answer.text
        return {sandbox["sandboxID"] for sandbox in answer.json()}

    def said_of(self, sandbox):
        """The message about a sandbox that is no more."""
        answer = self.api.get(f"/sandboxes/{sandbox}")
        assert answer.status_code == 404, answer.text
        return answer.json()["message"]

    def reach(self, sandbox, port=49983):
        """An answer of the data path."""
        headers = {"E2b-Sandbox-Id": sandbox, "E2b-Sandbox-Port": str(port)}
        return self.api.get(self.env["E2B_SANDBOX_URL"] + "/health", headers=headers)
