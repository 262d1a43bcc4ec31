"""An authority that speaks ACME (RFC 8555), as much of it as one order for a wildcard takes. Signatures of requests are
not checked; what the domain's name server says is."""

import base64
import hashlib
import http.server
import json
import socket
import ssl
import struct
import subprocess
import threading
from pathlib import Path


def raw(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def text_records(name, server):
    """The TXT records of a name, asked of one server."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(3)
        asking.sendto(struct.pack(">HHHHHH", 9, 0, 1, 0, 0, 0) + labels + struct.pack(">HH", 16, 1), server)
        answer = asking.recv(4096)
    at, found = 12 + len(labels) + 4, []
    for _ in range(struct.unpack(">H", answer[6:8])[0]):
        # A name (a pointer or labels), type, class, life, length.
        while answer[at] and answer[at] < 192:
            at += 1 + answer[at]
        at += 2 if answer[at] >= 192 else 1
        length = struct.unpack(">H", answer[at + 8 : at + 10])[0]
        at += 10
        found.append(answer[at + 1 : at + length].decode())
        at += length
    return found


class FakeAcme:
    def __init__(self, scratch, domain, name_server, lies=False):
        self.scratch, self.domain, self.name_server, self.lies = Path(scratch), domain, name_server, lies
        self.asked, self.orders, self.authorizations = [], [], {}
        self.ca, self.key, self.leaf = (self.scratch / name for name in ("acme-ca.crt", "acme-ca.key", "acme.pem"))
        self._make_authority()
        handler = type("Bound", (Handler,), {"acme": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.leaf)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.base = f"https://localhost:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def _make_authority(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)

        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
        ca = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"]
        openssl("req", "-x509", *new, "-subj", "/CN=fake ACME", *ca, "-keyout", self.key, "-out", self.ca)
        signed = ["-CA", self.ca, "-CAkey", self.key, "-addext", "subjectAltName=DNS:localhost"]
        signed += ["-addext", "basicConstraints=critical,CA:FALSE"]
        own_key, own = self.scratch / "own.key", self.scratch / "own.crt"
        openssl("req", "-x509", *new, "-subj", "/CN=localhost", *signed, "-keyout", own_key, "-out", own)
        self.leaf.write_text(own_key.read_text() + own.read_text())

    def sign(self, request):
        path, extensions = self.scratch / "request.der", self.scratch / "extensions"
        path.write_bytes(request)
        extensions.write_text(f"subjectAltName=DNS:{self.domain},DNS:*.{self.domain}\nbasicConstraints=critical,CA:FALSE\n")
        command = ["openssl", "x509", "-req", "-inform", "DER", "-in", path, "-CA", self.ca, "-CAkey", self.key]
        command += ["-days", "10", "-extfile", extensions]
        signed = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
        return signed + self.ca.read_text()

    def is_met(self, authorization):
        thumbprint = self.thumbprint
        wanted = hashlib.sha256(f"{authorization['token']}.{thumbprint}".encode()).digest()
        wanted = base64.urlsafe_b64encode(wanted).rstrip(b"=").decode()
        return not self.lies and wanted in text_records(f"_acme-challenge.{self.domain}", self.name_server)

    def close(self):
        self.server.shutdown()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, **headers):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Replay-Nonce", base64.urlsafe_b64encode(hashlib.sha256(str(len(self.acme.asked)).encode()).digest()).decode())
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_HEAD(self):
        self.answer(200, "")

    def do_GET(self):
        base = self.acme.base
        self.answer(200, {"newNonce": f"{base}/nonce", "newAccount": f"{base}/account", "newOrder": f"{base}/order", "revokeCert": f"{base}/revoke", "keyChange": f"{base}/key"})

    def do_POST(self):
        acme = self.acme
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        head, payload = json.loads(raw(message["protected"])), raw(message["payload"])
        payload = json.loads(payload) if payload else None
        acme.asked.append(self.path)
        part = self.path.split("/")
        if part[1] == "account":
            jwk = head["jwk"]
            canonical = json.dumps({name: jwk[name] for name in ("crv", "kty", "x", "y")}, separators=(",", ":"), sort_keys=True)
            acme.thumbprint = base64.urlsafe_b64encode(hashlib.sha256(canonical.encode()).digest()).rstrip(b"=").decode()
            self.answer(201, {"status": "valid"}, Location=f"{acme.base}/account/1")
        elif part[1] == "order":
            if len(part) == 2:
                acme.orders = payload["identifiers"]
                acme.authorizations = {
                    str(n): {"token": f"token-{n}", "status": "pending", "name": one["value"]} for n, one in enumerate(acme.orders)
                }
                acme.certificate = None
            self.answer(201 if len(part) == 2 else 200, self.order(), Location=f"{acme.base}/order/1")
        elif part[1] == "authorization":
            one = acme.authorizations[part[2]]
            wildcard = one["name"].startswith("*.")
            challenge = {"type": "dns-01", "url": f"{acme.base}/challenge/{part[2]}", "token": one["token"], "status": one["status"]}
            body = {"status": one["status"], "identifier": {"type": "dns", "value": one["name"].removeprefix("*.")}, "challenges": [challenge]}
            self.answer(200, body | ({"wildcard": True} if wildcard else {}))
        elif part[1] == "challenge":
            one = acme.authorizations[part[2]]
            one["status"] = "valid" if acme.is_met(one) else "invalid"
            self.answer(200, {"type": "dns-01", "url": f"{acme.base}{self.path}", "token": one["token"], "status": one["status"]})
        elif part[1] == "finalize":
            acme.certificate = acme.sign(raw(payload["csr"]))
            self.answer(200, self.order(), Location=f"{acme.base}/order/1")
        else:
            self.answer(200, acme.certificate, Content_Type="application/pem-certificate-chain")

    def order(self):
        acme, states = self.acme, [one["status"] for one in self.acme.authorizations.values()]
        status = "invalid" if "invalid" in states else "pending" if "pending" in states else "ready"
        body = {"identifiers": acme.orders, "authorizations": [f"{acme.base}/authorization/{n}" for n in acme.authorizations], "finalize": f"{acme.base}/finalize"}
        if acme.certificate:
            status, body["certificate"] = "valid", f"{acme.base}/certificate"
        return {"status": status, **body}
