"""Requests to a sandbox's guest as a client could write them by hand: what no SDK would send."""

import os
import socket
import urllib.parse


def headers(sandbox, port=49983):
    """Those that say which sandbox, and that one may."""
    return {
        "E2b-Sandbox-Id": sandbox.sandbox_id,
        "E2b-Sandbox-Port": str(port),
        "X-Access-Token": sandbox._envd_access_token,
    }


def upload_head(sandbox, path, who, length):
    """The first lines of an upload with any `Content-Length` one likes."""
    query = urllib.parse.urlencode({"path": path, "username": who})
    lines = [f"POST /files?{query} HTTP/1.1", "Host: sandbox", "Content-Type: application/octet-stream"]
    lines += [f"{name}: {value}" for name, value in headers(sandbox).items()]
    return ("\r\n".join([*lines, f"Content-Length: {length}", "", ""])).encode()


def connection(timeout=10):
    """A plain TCP connection to where sandboxes are reached."""
    url = urllib.parse.urlsplit(os.environ["E2B_SANDBOX_URL"])
    return socket.create_connection((url.hostname, url.port), timeout)


def answer(link):
    """The status of the answer, or nothing when the connection was just closed."""
    said = b""
    try:
        while b"\r\n" not in said and (piece := link.recv(4096)):
            said += piece
    except (TimeoutError, ConnectionError):
        return None
    return int(said.split()[1]) if said else None
