"""Who has which address on the fake internet. Nothing here is anybody's: it is served in a namespace of the test's own."""

#: Name servers: the server's own, and two that programs inside like to ask themselves.
OURS, CLOUDFLARE, GOOGLE = "9.9.9.9", "1.1.1.1", "8.8.8.8"
RESOLVERS = [OURS, CLOUDFLARE, GOOGLE, "2620:fe::fe"]

#: Public hosts.
EXAMPLE, OTHER, EVIL, PACKAGES, CDN, PROXY = (
    "93.184.216.34",
    "93.184.216.35",
    "45.33.32.156",
    "151.101.0.223",
    "104.16.0.10",
    "45.33.32.200",
)
EXAMPLE6 = "2606:2800:220:1:248:1893:25c8:1946"
PUBLIC = [EXAMPLE, OTHER, EVIL, PACKAGES, CDN, PROXY, EXAMPLE6]

#: Addresses that nothing from a sandbox may ever reach, each with something listening.
FORBIDDEN = [
    "10.0.0.5",
    "172.16.3.4",
    "192.168.1.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "169.254.170.2",
    "168.63.129.16",
    "198.18.0.1",
    "fd00:ec2::254",
    "fc00::5",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::a00:5",
    "2002:a00:5::1",
    "::ffff:0:10.0.0.5",
]

#: The host that the server runs on, and the router beside it.
HOST, ROUTER, HOST6, ROUTER6 = "10.99.0.1", "10.99.0.2", "fd99::1", "fd99::2"

#: name → addresses. A list in a list: answers that flip, one a question.
ZONE = {
    "example.com": [EXAMPLE],
    "www.example.com": [EXAMPLE, EXAMPLE6],
    "a.b.example.com": [EXAMPLE],
    "api.example.net": [OTHER],
    "httpbin.example.org": [OTHER],
    "xn--bcher-kva.example.com": [EXAMPLE],
    "evil.example": [EVIL],
    "shared.example": [EXAMPLE],
    "index.example.org": [PACKAGES],
    "registry.example.org": [PACKAGES],
    "git.example.org": [PACKAGES],
    "proxy.example.org": [PROXY],
    "private.example.com": ["10.0.0.5"],
    "metadata.example.com": ["169.254.169.254", "fd00:ec2::254"],
    "loop.example.com": ["127.0.0.1", "::1"],
    "mapped.example.com": ["::ffff:10.0.0.5"],
    "nat64.example.com": ["64:ff9b::a00:5"],
    "host.example.com": [HOST, HOST6],
    "mixed.example.com": [EXAMPLE, "10.0.0.5"],
    "flip.example.com": [[EXAMPLE], ["10.0.0.5"], [EXAMPLE], ["169.254.169.254"]],
}
ALIASES = {
    "cdn.example.com": "edge.cdn.example",
    "to-private.example.com": "private.example.com",
    "chain.example.com": "cdn.example.com",
}
ZONE["edge.cdn.example"] = [CDN]

#: A name server for each of these says yes to everything, as one at the end of a tunnel does.
TUNNELS = ("evil.example", "tunnel.example.com")
