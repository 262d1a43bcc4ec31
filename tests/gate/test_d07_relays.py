"""D7: relays and upgrades are decided on like any connection."""

NARROW = {"allow_out": ["example.com"], "deny_out": ["0.0.0.0/0"]}

PROXY = r"""
import socket, threading
def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError: pass
    for end in (a, b):
        try: end.shutdown(socket.SHUT_RDWR)
        except OSError: pass
listener = socket.create_server(("127.0.0.1", 3128))
while True:
    client, _ = listener.accept()
    head = client.recv(65536).split()
    host, port = head[1].decode().rsplit(":", 1)
    try:
        far = socket.create_connection((host, int(port)), 5)
    except OSError:
        client.sendall(b"HTTP/1.1 502 no\r\n\r\n"); client.close(); continue
    client.sendall(b"HTTP/1.1 200 ok\r\n\r\n")
    threading.Thread(target=pump, args=(client, far), daemon=True).start()
    threading.Thread(target=pump, args=(far, client), daemon=True).start()
"""


def test_a_proxy_inside_opens_nothing_more(create, refused, fetched, world):
    sandbox = create(network=NARROW)
    sandbox.files.write("/tmp/proxy.py", PROXY)
    sandbox.commands.run("python3 /tmp/proxy.py", background=True)
    through = ["-x", "http://127.0.0.1:3128", "--retry", "20", "--retry-connrefused", "--retry-delay", "0"]
    assert '"method": "GET"' in fetched(sandbox, "https://example.com/", *through)
    heard = world.mark()
    refused(sandbox, "https://evil.example/", "-x", "http://127.0.0.1:3128")
    refused(sandbox, "https://45.33.32.156/", "-k", "-x", "http://127.0.0.1:3128")
    refused(sandbox, "https://169.254.169.254/", "-k", "-x", "http://127.0.0.1:3128")
    assert heard("http") == []


def test_connect_to_an_allowed_host_is_no_tunnel(create, refused, world):
    sandbox, heard = create(network=NARROW), world.mark()
    refused(sandbox, "https://evil.example/", "-x", "http://example.com:80")
    refused(sandbox, "https://example.com:22/", "-x", "http://example.com:80")
    assert not any(hit["method"] == "CONNECT" for hit in heard("http"))


def test_an_upgrade_to_something_else_does_not_pass(create, inside, world):
    sandbox = create(network=NARROW)
    program = r"""
import json, socket
s = socket.create_connection(("example.com", 80), 5)
s.settimeout(5)
s.sendall(b"GET / HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
try: said = s.recv(65536).decode("latin-1")
except OSError as error: said = type(error).__name__
print(json.dumps(said))
"""
    said = inside(sandbox, program)
    assert "101 " not in said.split("\r\n")[0], said
