"""B19. A socket is authority that no file permission guards: the hypervisor's, the host's services', the neighbour's."""

from calls import refused
from programs import background, probe, shell

CALLS = {
    "vsock": (41, 40, 1, 0),
    "vsock with high bits": (41, 0x1_0000_0028, 1, 0),
    "packet": (41, 17, 3, 0),
    "alg": (41, 38, 5, 0),
    "raw icmp": (41, 2, 3, 1),
    "raw v6": (41, 10, 3, 58),
    "sctp": (41, 2, 1, 132),
    "mptcp": (41, 2, 1, 262),
    "netlink netfilter": (41, 16, 3, 12),
    "netlink audit": (41, 16, 3, 9),
    "netlink kobject": (41, 16, 3, 15),
    "netlink crypto": (41, 16, 3, 21),
    "bluetooth": (41, 31, 3, 1),
    "can": (41, 29, 3, 1),
    "tipc": (41, 30, 1, 0),
    "rds": (41, 21, 5, 0),
    "x25": (41, 9, 5, 0),
    "key": (41, 15, 3, 2),
    "xdp": (41, 44, 3, 0),
    "pair of vsock": (53, 40, 1, 0, bytes(8)),
}


def test_families_that_reach_beyond_are_closed(sandbox, trial, who):
    trial.saw = refused(sandbox, CALLS, who)


def test_no_unix_socket_leads_out(sandbox, trial, who):
    """Every socket that has a path, wherever it lies: an open one is a service of somebody's."""
    found = probe(sandbox, """
import stat
seen["open"] = []
for top in ("/run", "/var", "/tmp", "/home", "/dev", "/etc", "/opt", "/srv"):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if stat.S_ISSOCK(os.lstat(path).st_mode) and attempt(socket.socket(socket.AF_UNIX).connect, path) == "OK":
                    seen["open"].append(path)
            except OSError:
                pass
seen["abstract"] = [line.split()[-1] for line in open("/proc/net/unix") if "@" in line]
""", who)  # fmt: skip
    assert found == {"open": [], "abstract": []}
    trial.saw = "no socket found"


def test_the_guest_asks_for_its_token(interpreter, trial, who):
    """Code inside reaches the guest's port, and must not be root by asking."""
    asks = [
        "-X POST -H 'content-type: application/json' -d '{}' http://127.0.0.1:49983/process.Process/List",
        "'http://127.0.0.1:49983/files?path=/etc/shadow&username=root'",
        "http://127.0.0.1:49983/envs",
        "-X POST -H 'content-type: application/json' -d '{\"code\":\"1\"}' http://127.0.0.1:49999/execute",
    ]
    for ask in asks:
        assert shell(interpreter, f"curl -s -o /dev/null -w '%{{http_code}}' {ask}", who) == "401", ask
    trial.saw = "401"


def test_abstract_sockets_are_not_shared(create, trial, who):
    """They have no path that a mount could hide: only the network namespace keeps them apart."""
    sandbox, neighbour = create(), create()
    listen = (
        's = socket.socket(socket.AF_UNIX); s.bind("\\0secret"); s.listen(); print("ready", flush=True); time.sleep(30)'
    )
    background(sandbox, listen, who)
    connect = 'seen["connect"] = attempt(socket.socket(socket.AF_UNIX).connect, "\\0secret")'
    assert probe(sandbox, connect, who)["connect"] == "OK"
    assert probe(neighbour, connect, who)["connect"] == "ECONNREFUSED"
    trial.saw = "ECONNREFUSED next door"
