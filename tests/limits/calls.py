"""Calls to a sandbox's services over plain HTTP, for what the SDKs refuse to send or have no words for."""

import base64
import contextlib
import json
import struct

import httpx

HEADER = struct.Struct(">BI")


class Calls:
    """One sandbox."""

    def __init__(self, url, sandbox_id, token, user="user"):
        basic = base64.b64encode(f"{user}:".encode()).decode()
        self.headers = {"E2b-Sandbox-Id": sandbox_id, "X-Access-Token": token, "Authorization": f"Basic {basic}"}
        self.http = httpx.Client(
            base_url=url, timeout=60, limits=httpx.Limits(max_connections=None, max_keepalive_connections=4)
        )

    def port(self, port):
        return self.headers | {"E2b-Sandbox-Port": str(port)}

    def unary(self, method, message, **headers):
        """A Connect call with one answer."""
        return self.http.post(
            f"/{method}", json=message, headers=self.port(49983) | {"Connect-Protocol-Version": "1"} | headers
        )

    def refused(self, method, message, code, **headers):
        """It must be, with this code; hands back why."""
        answer = self.unary(method, message, **headers)
        said = answer.json()
        assert answer.status_code >= 400 and said["code"] == code, answer.text
        return said["message"]

    @contextlib.contextmanager
    def stream(self, method, message, **headers):
        """A Connect call with many answers, as they come; the last one says how it ended."""
        body = json.dumps(message).encode()
        kind = {"Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}
        with self.http.stream(
            "POST",
            f"/{method}",
            content=HEADER.pack(0, len(body)) + body,
            headers=self.port(49983) | kind | headers,
        ) as answer:
            yield messages(answer)

    def start(self, command, **more):
        """`process.Process/Start` of a shell command."""
        process = {"cmd": "/bin/sh", "args": ["-c", command]}
        return self.stream("process.Process/Start", {"process": process | more})

    def cell(self, code, **more):
        """The answer of a cell, still to be read."""
        return self.http.stream("POST", "/execute", json={"code": code} | more, headers=self.port(49999))

    def upload(self, path, **more):
        return self.http.post("/files", params={"path": path}, headers=self.port(49983) | more.pop("headers", {}), **more)

    def close(self):
        self.http.close()


def messages(answer):
    rest = b""
    for piece in answer.iter_raw():
        rest += piece
        while len(rest) >= HEADER.size:
            _, length = HEADER.unpack_from(rest)
            if len(rest) < HEADER.size + length:
                break
            yield json.loads(rest[HEADER.size : HEADER.size + length])
            rest = rest[HEADER.size + length :]
