"""D8. What is no connection gets nowhere: the sandbox's network has no way out, and it says so at once.

What connections and questions about names may do is the gate's to say, and other files' to test.
"""

from calls import refused
from programs import probe, shell

AT_ONCE = 0.5  # seconds, on a busy machine

#: QUIC, NTP, mDNS, LLMNR, SSDP, DHCP, NetBIOS, the metadata service, a neighbour's and the gate's own address, and IPv6.
DATAGRAMS = [
    ("1.1.1.1", 443),
    ("1.1.1.1", 853),
    ("162.159.200.1", 123),
    ("224.0.0.251", 5353),
    ("224.0.0.252", 5355),
    ("239.255.255.250", 1900),
    ("255.255.255.255", 67),
    ("10.255.255.255", 137),
    ("169.254.169.254", 80),
    ("192.0.0.3", 9),
    ("192.0.0.1", 1),
    ("192.0.0.1", 2),
    ("2606:4700:4700::1111", 443),
    ("fd00:ec2::254", 80),
    ("64:ff9b::101:101", 443),
    ("ff02::fb", 5353),
    ("fd68:6f6f:64::1", 2),
]

TIMED = """
def timed(function, *arguments):
    began = time.monotonic()
    outcome = attempt(function, *arguments)
    return [outcome, time.monotonic() - began]
"""


def test_datagrams_are_refused_at_once(sandbox, trial, who):
    found = probe(sandbox, f"""{TIMED}
for to, port in {DATAGRAMS!r}:
    s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    seen[to + " " + str(port)] = timed(s.sendto, b"secret", (to, port))
""", who)  # fmt: skip
    for to, (outcome, took) in found.items():
        assert outcome in ("EPERM", "ENETUNREACH") and took < AT_ONCE, (to, outcome, took)
    trial.saw = "EPERM"


def test_whatever_its_source_says(sandbox, trial, who):
    """A source that is not the sandbox's own: loopback, the gate's, a foreign one."""
    found = probe(sandbox, f"""{TIMED}
IP_FREEBIND, IP_TRANSPARENT = 15, 19
for source in ("127.0.0.1", "192.0.0.1", "8.8.8.8"):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_IP, IP_FREEBIND, 1)
    s.bind((source, 0))
    seen[source] = timed(s.sendto, b"secret", ("1.1.1.1", 443))[0]
seen["transparent"] = attempt(s.setsockopt, socket.SOL_IP, IP_TRANSPARENT, 1)
seen["mark"] = attempt(s.setsockopt, socket.SOL_SOCKET, 36, 1)
seen["device"] = attempt(s.setsockopt, socket.SOL_SOCKET, 25, b"eth0")
""", who)  # fmt: skip
    assert found.pop("device") in ("EPERM", "ENODEV")
    assert set(found.values()) <= {"EPERM", "EINVAL", "ENETUNREACH"}, found
    trial.saw = "EPERM"


def test_no_other_protocol_has_a_socket(sandbox, trial, who):
    calls = {
        "icmp": (41, 2, 2, 1),
        "icmp v6": (41, 10, 2, 58),
        "raw gre": (41, 2, 3, 47),
        "raw ip in ip": (41, 2, 3, 4),
        "raw esp": (41, 2, 3, 50),
        "raw anything": (41, 2, 3, 255),
        "sctp": (41, 2, 5, 132),
        "udplite": (41, 2, 2, 136),
        "dccp": (41, 2, 6, 33),
        "l2tp": (41, 2, 2, 115),
        "packet": (41, 17, 3, 0x0300),
    }
    trial.saw = refused(sandbox, calls, who)


def test_ping_fails_at_once(sandbox, trial, who):
    found = probe(sandbox, """
began = time.monotonic()
pings = ("1.1.1.1", "2606:4700:4700::1111", "192.0.0.1")
seen["answered"] = [to for to in pings if os.system(f"ping -c 1 -W 9 {to} >/dev/null 2>&1") == 0]
seen["took"] = time.monotonic() - began
""", who)  # fmt: skip
    assert found["answered"] == [] and found["took"] < 2, found
    trial.saw = "no answer"


def test_the_rules_are_not_root_s(sandbox, trial, who):
    """Rules, addresses, routes, neighbours and settings of the network belong to a namespace that root inside does not own."""
    commands = [
        "ip link set lo down",
        "ip link set lo mtu 9000",
        "ip addr add 10.9.9.9/8 dev lo",
        "ip addr del 192.0.0.2/32 dev lo",
        "ip route del default",
        "ip route add 1.1.1.1 dev lo",
        "ip -6 route del local ::/0 dev lo",
        "ip -6 addr add fd00::9/128 dev lo",
        "ip rule add from all lookup 100",
        "ip neigh add 10.0.0.9 lladdr 00:11:22:33:44:55 dev lo",
        "ip link add d0 type dummy",
        "ip link add v0 type veth",
        "ip tuntap add t0 mode tun",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
        "echo 0 > /proc/sys/net/netfilter/nf_conntrack_max",
        "echo 99999 > /proc/sys/net/netfilter/nf_conntrack_udp_timeout",
        "echo '0 2147483647' > /proc/sys/net/ipv4/ping_group_range",
        "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6",
    ]
    for command in commands:
        assert "done" not in shell(sandbox, f"({command}) 2>&1 && echo done", who), command
    trial.saw = "EPERM"


def test_the_gate_s_place_is_taken(sandbox, trial, who):
    """Whoever listened where the gate does would be asked for every name, and get every connection."""
    found = probe(sandbox, """
for to, port in (("192.0.0.1", 1), ("192.0.0.1", 2), ("0.0.0.0", 1), ("::", 2), ("1.1.1.1", 443), ("127.0.0.1", 80)):
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    try:
        server = socket.create_server((to, port), family=family)
        seen[f"{to} {port}"] = "OK"
    except OSError as error:
        seen[f"{to} {port}"] = errno.errorcode[error.errno]
def talk():
    with socket.create_connection(("192.0.0.1", 22), 5) as s:
        s.sendall(b"?")
        return s.recv(1)
seen["host"] = attempt(talk)
""", who)  # fmt: skip
    assert found["1.1.1.1 443"] == "EADDRNOTAVAIL" and found["127.0.0.1 80"] == "OK", found
    assert found["192.0.0.1 1"] == found["192.0.0.1 2"] == "EADDRINUSE", found
    assert found["host"] in ("ECONNREFUSED", "ECONNRESET"), found
    trial.saw = "EADDRINUSE"


def test_questions_meet_their_ceiling(sandbox, trial, who):
    """Each question is remembered by the kernel for some seconds, in memory that nobody is charged for."""
    found = probe(sandbox, """
outcomes = []
for _ in range(4000):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        outcomes.append(attempt(s.sendto, b"flood", ("1.1.1.1", 53)))
seen["sent"], seen["refused"] = outcomes.count("OK"), outcomes.count("EPERM")
seen["last"] = outcomes[-1]
end, again = time.monotonic() + 30, "EPERM"
while again == "EPERM" and time.monotonic() < end:
    time.sleep(0.5)
    again = attempt(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, b"again", ("1.1.1.1", 53))
seen["again"] = again
""", who)  # fmt: skip
    assert found["sent"] + found["refused"] == 4000 and found["sent"] < 2600 and found["last"] == "EPERM", found
    assert found["again"] == "OK"
    trial.saw = "EPERM"
