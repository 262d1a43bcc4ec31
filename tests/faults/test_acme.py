"""`hood serve --acme`: a certificate for the domain and every name below it, from an authority that really asks the
server's own name server."""

import os
import socket
import ssl
import tempfile
from pathlib import Path

import pytest
from hood_server import HoodServer

from fake_acme import FakeAcme
from host import until

DOMAIN = "boxes.example"


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def scratch():
    with tempfile.TemporaryDirectory(prefix="hood-acme-") as path:
        yield Path(path)


@pytest.fixture
def serve(place, scratch):
    """Starts a server that gets its certificate from this authority."""
    running = []

    def start(authority, port):
        options = ["--domain", DOMAIN, "--dns", f"127.0.0.1:{port}", "--acme", "me@boxes.example"]
        options += ["--acme-directory", f"{authority.base}/directory", "--acme-ca", str(authority.ca)]
        data = scratch / "data"
        data.mkdir(exist_ok=True)
        for name in ("layers", "templates"):
            if not (data / name).exists():
                (data / name).symlink_to(Path(os.environ["HOOD_TEMPLATES"]) / name)
        running.append(HoodServer(os.environ["HOOD_BIN"], str(data), options))
        return running[-1]

    yield start
    for server in running:
        if server.process.poll() is None:
            server.stop()


def issuer(server, name):
    """Who has signed what the server shows for this name."""
    port = int(server.ready.split("://", 1)[1].split(";")[0].rsplit(":", 1)[1])
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), 5) as plain, context.wrap_socket(plain, server_hostname=name) as tls:
        return tls.getpeercert(binary_form=True)


def is_from(authority, server, name):
    port = int(server.ready.split("://", 1)[1].split(";")[0].rsplit(":", 1)[1])
    context = ssl.create_default_context(cafile=str(authority.ca))
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as plain, context.wrap_socket(plain, server_hostname=name):
            return True
    except ssl.SSLCertVerificationError:
        return False


def test_a_wildcard_is_got_kept_and_not_asked_for_again(scratch, serve):
    port = free_port()
    authority = FakeAcme(scratch, DOMAIN, ("127.0.0.1", port))
    try:
        server = serve(authority, port)
        until(lambda: is_from(authority, server, DOMAIN), 30, "the certificate is there")
        assert is_from(authority, server, f"8080-iabc.{DOMAIN}")
        shown = issuer(server, DOMAIN)
        kept = [path.stat().st_mode & 0o777 for path in (scratch / "data" / "acme").rglob("*.pem")]
        assert kept == [0o600, 0o600]
        server.stop()
        asked = len(authority.asked)
        again = serve(authority, port)
        until(lambda: issuer(again, DOMAIN) == shown, 10, "the same after a restart")
        assert len(authority.asked) == asked
    finally:
        authority.close()


def test_without_one_the_server_goes_on_with_its_own_and_says_why(scratch, serve):
    port = free_port()
    authority = FakeAcme(scratch, DOMAIN, ("127.0.0.1", port), lies=True)
    try:
        server = serve(authority, port)
        until(lambda: "no certificate from the authority" in server.tail(), 30, "the log says why")
        assert "_acme-challenge.boxes.example" in server.tail()
        assert not is_from(authority, server, DOMAIN)
        assert issuer(server, DOMAIN), "its own authority's"
    finally:
        authority.close()
