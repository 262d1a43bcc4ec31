"""The hosts of the fake internet: HTTP and HTTPS that say what they were sent, package indexes, a git repository."""

import hashlib
import http.server
import io
import json
import socket
import socketserver
import ssl
import tarfile
import threading
import time
import zipfile

WHEEL = "demo_gate-1.0-py3-none-any.whl"


def wheel():
    """A package that pip installs."""
    data = io.BytesIO()
    info = "demo_gate-1.0.dist-info"
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("demo_gate.py", "answer = 42\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: demo-gate\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return data.getvalue()


def tarball():
    """One that npm installs."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in {
            "package/package.json": json.dumps({"name": "demo-gate", "version": "1.0.0", "main": "index.js"}),
            "package/index.js": "module.exports = 42;\n",
        }.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


PACKAGES = {"wheel": wheel(), "npm": tarball()}


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET6
    request_queue_size = 512

    def __init__(self, port, tell, repository, tls=None):
        self.tell, self.repository, self.tls = tell, repository, tls
        super().__init__(("::", port), Handler)

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "fake", self.server_address[1]

    def finish_request(self, request, client):
        if self.tls:
            request.settimeout(20)
            try:
                request = self.tls.wrap_socket(request, server_side=True)
            except (OSError, ssl.SSLError):
                return
        self.RequestHandlerClass(request, client, self)

    def handle_error(self, request, client):
        """Programs that hang up are nothing to speak of."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def say(self, body, kind="application/json", status=200):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def act(self):
        address, port = self.connection.getsockname()[:2]
        to, data = (address.removeprefix("::ffff:"), port), self.body()
        sni = getattr(self.connection, "named", None)
        heard = {
            "to": to[0],
            "port": to[1],
            "host": self.headers.get("Host"),
            "method": self.command,
            "path": self.path,
            "headers": dict(self.headers),
            "body": data.decode("latin-1"),
            "sni": sni,
        }
        self.server.tell("http", **heard)
        path = self.path.split("?")[0]
        if path == "/headers":
            self.say({"headers": dict(self.headers)})
        elif path == "/ip":
            self.say({"origin": self.client_address[0], "to": to[0]})
        elif path == "/stream":
            self.stream()
        elif path == "/bytes":
            self.say(b"x" * int(self.path.split("n=")[1]), "application/octet-stream")
        elif path.startswith("/simple"):
            self.simple(path)
        elif path.startswith("/demo-gate"):
            self.npm(path)
        elif path.startswith("/repo.git/"):
            self.git(path)
        else:
            self.say({"method": self.command, "url": self.path, "data": data.decode("latin-1")})

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = act

    def stream(self):
        """A line every 20 ms until the other end hangs up."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        while True:
            self.wfile.write(f"{time.time():.3f}\n".encode())
            time.sleep(0.02)

    def simple(self, path):
        if path.endswith(".whl"):
            return self.say(PACKAGES["wheel"], "application/octet-stream")
        digest = hashlib.sha256(PACKAGES["wheel"]).hexdigest()
        self.say(f'<a href="/simple/{WHEEL}#sha256={digest}">{WHEEL}</a>'.encode(), "text/html")

    def npm(self, path):
        if path.endswith(".tgz"):
            return self.say(PACKAGES["npm"], "application/octet-stream")
        host = self.headers["Host"]
        dist = {
            "tarball": f"https://{host}/demo-gate/-/demo-gate-1.0.0.tgz",
            "shasum": hashlib.sha1(PACKAGES["npm"]).hexdigest(),
        }
        version = {"name": "demo-gate", "version": "1.0.0", "dist": dist}
        self.say({"name": "demo-gate", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}})

    def git(self, path):
        file = (self.server.repository / path.removeprefix("/repo.git/")).resolve()
        if not file.is_relative_to(self.server.repository.resolve()) or not file.is_file():
            return self.say({"error": "none"}, status=404)
        self.say(file.read_bytes(), "application/octet-stream")


def start(tell, repository, certificate):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)

    def named(connection, name, _context):
        connection.named = name

    tls.sni_callback = named
    for port in (80, 8080, 3000):
        run(Server(port, tell, repository))
    for port in (443, 8443):
        run(Server(port, tell, repository, tls))


def run(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()
