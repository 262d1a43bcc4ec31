"""D11: many connections, half-open ones, slow readers: bounded, and nobody else notices."""

import time
from pathlib import Path

import pytest
from world import wait_until

FLOOD = r"""
import json, socket, errno, collections
socks, said = [], collections.Counter()
for n in range(3000):
    s = socket.socket(); s.setblocking(False)
    try: s.connect(("93.184.216.34", 7))
    except BlockingIOError: pass
    except OSError as error: said[errno.errorcode[error.errno]] += 1; continue
    socks.append(s)
import time; time.sleep(3)
alive = 0
for s in socks:
    try: s.send(b"x"); alive += 1
    except OSError as error: said[errno.errorcode[error.errno]] += 1
print(json.dumps([alive, said]))
"""


def memory(server):
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) // 1024


@pytest.mark.parametrize("who", ["user"])
def test_a_flood_of_connections_meets_its_ceiling(create, inside, api, server, who):
    sandbox, before = create(), memory(server)
    sandbox.files.write("/tmp/program.py", FLOOD)
    handle = sandbox.commands.run("ulimit -n 8192; python3 /tmp/program.py", background=True, timeout=60)
    slow = 0.0
    for _ in range(20):
        began = time.monotonic()
        assert api.get("/v2/sandboxes").status_code == 200
        slow = max(slow, time.monotonic() - began)
        time.sleep(0.1)
    said = handle.wait().stdout
    assert slow < 0.5, f"the API took {slow:.2f} s"
    assert memory(server) - before < 150, "MiB"
    assert '"EP' in said or "[" in said
    import json

    alive, errors = json.loads(said)
    assert alive <= 2100, (alive, errors)


def test_slow_readers_cost_little(create, inside, server):
    sandbox, before = create(), memory(server)
    program = r"""
import json, socket, time
socks = []
for n in range(200):
    s = socket.create_connection(("93.184.216.34", 80), 10)
    s.sendall(b"GET /bytes?n=8000000 HTTP/1.1\r\nHost: example.com\r\n\r\n")
    socks.append(s)
time.sleep(4)
print(json.dumps(len(socks)))
"""
    assert inside(sandbox, program, timeout=60) == 200
    assert memory(server) - before < 200, "MiB"


def test_two_thousand_idle_connections_of_twenty_sandboxes_cost_little(create, server):
    program = r"""
import socket, time
socks = []
for n in range(100):
    s = socket.create_connection(("93.184.216.34", 7), 10)
    s.sendall(b"x"); s.recv(1)
    socks.append(s)
open("/tmp/ready", "w").write("100")
time.sleep(60)
"""
    sandboxes = [create() for _ in range(20)]
    before = memory(server)
    for sandbox in sandboxes:
        sandbox.files.write("/tmp/program.py", program)
        sandbox.commands.run("python3 /tmp/program.py", background=True)
    for sandbox in sandboxes:
        assert wait_until(lambda: sandbox.files.exists("/tmp/ready"), 30)
    grown = memory(server) - before
    print(f"2,000 connections: {grown} MiB more")
    assert grown < 40, "MiB"
