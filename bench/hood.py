"""Fumehood as the measurements see it: raw HTTP over loopback on one kept connection, no SDK, no TLS. Standard library
only. The server is the one of the environment (`eval "$(hood env)"`)."""

import base64
import http.client
import json
import os
import re
import struct
import time
from urllib.parse import urlsplit

ENVD, CELLS = 49983, 49999
BASE, INTERPRETER = "base", "code-interpreter-v1"


class Refused(Exception):
    """The server said no."""

    def __init__(self, what, status, data):
        super().__init__(f"{what}: {status} {data[:500]!r}")
        self.status = status


class Server:
    def __init__(self):
        url = urlsplit(os.environ["E2B_API_URL"])
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=120)
        self.connection.connect()
        self.key = os.environ["E2B_API_KEY"]

    def call(self, method, path, body=None):
        headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status >= 300:
            raise Refused(f"{method} {path}", answer.status, data)
        return json.loads(data) if data else None

    def create(self, template, **more):
        return self.call("POST", "/v2/sandboxes", {"templateID": template, "timeout": 3600} | more)

    def end(self, sandbox):
        self.call("DELETE", f"/sandboxes/{sandbox['sandboxID']}")

    def settle(self):
        """Waits until what has ended is gone: what is measured next must not pay for it."""
        while True:
            self.connection.request("GET", "/metrics", headers={"X-API-Key": self.key})
            answer = self.connection.getresponse()
            text = answer.read().decode()
            if answer.status != 200:
                raise Refused("/metrics", answer.status, text.encode())
            counts = re.findall(r'^\w+\{[^}]*"removing"[^}]*\} (\d+)', text, re.MULTILINE)
            if not sum(map(int, counts)):
                return
            time.sleep(0.2)

    def request(self, sandbox, port, method, path, body, kind):
        """Sends a request to a service in the sandbox; the answer streams."""
        headers = {"E2b-Sandbox-Id": sandbox["sandboxID"], "E2b-Sandbox-Port": str(port), "Content-Type": kind}
        headers["X-Access-Token"] = sandbox.get("envdAccessToken") or ""
        headers["Authorization"] = "Basic " + base64.b64encode(b"user:").decode()
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        if answer.status != 200:
            raise Refused(path, answer.status, answer.read())
        return answer

    def first_output(self, sandbox, command="/bin/echo", arguments=("hello",)):
        """Runs a command; the times at which its first output and its end arrived."""
        message = json.dumps({"process": {"cmd": command, "args": list(arguments)}, "stdin": False}).encode()
        frame = struct.pack(">BI", 0, len(message)) + message
        answer = self.request(sandbox, ENVD, "POST", "/process.Process/Start", frame, "application/connect+json")
        arrived = None
        while head := answer.read(5):
            flags, length = struct.unpack(">BI", head)
            event = json.loads(answer.read(length))
            if arrived is None and event.get("event", {}).get("data", {}).get("stdout"):
                arrived = time.perf_counter()
            if flags & 2 and event.get("error"):
                raise Refused(command, 200, json.dumps(event).encode())
        return arrived, time.perf_counter()

    def cell(self, sandbox, code="1+1", result="2"):
        """Runs a cell; the times at which its result and the end of the answer arrived."""
        answer = self.request(sandbox, CELLS, "POST", "/execute", json.dumps({"code": code}), "application/json")
        arrived, said = None, []
        while line := answer.readline():
            said.append(line)
            event = json.loads(line)
            if event.get("type") == "result" and result in (event.get("text") or ""):
                arrived = time.perf_counter()
        assert arrived is not None, f"{code!r} had no such result: {said}"
        return arrived, time.perf_counter()


def percentiles(seconds, shares=(50, 95, 99)):
    """In milliseconds: the smallest value that the given share does not exceed. Nothing is interpolated."""
    ordered = sorted(seconds)
    return [1000 * ordered[max(0, -(-len(ordered) * share // 100) - 1)] for share in shares]
