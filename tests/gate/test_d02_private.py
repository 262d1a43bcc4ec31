"""D2: private ranges, the host and its services, in every spelling and embedding."""

import pytest

from names import HOST, HOST6

SPELLINGS = [
    "http://10.0.0.5/",
    "http://172.16.3.4/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://[fc00::5]/",
    "http://167772165/",
    "http://0x0a000005/",
    "http://012.0.0.5/",
    "http://10.5/",
    "http://[::ffff:10.0.0.5]/",
    "http://[2002:a00:5::1]/",
    "http://[64:ff9b::a00:5]/",
    "http://[::ffff:0:10.0.0.5]/",
    f"http://{HOST}/",
    f"http://{HOST}:2375/",
    f"http://[{HOST6}]:9100/",
]


@pytest.mark.parametrize("who", ["user", "root"])
def test_private_ranges_and_the_host_are_closed(create, refused, audit, who):
    sandbox = create()
    for url in SPELLINGS:
        refused(sandbox, url)
    assert audit.denied(sandbox, lambda entry: entry["to"] == "10.0.0.5:80")
    assert audit.denied(sandbox, lambda entry: entry["to"] == f"{HOST}:2375")


@pytest.mark.parametrize("url", ["http://127.0.0.1:80/", "http://0.0.0.0/", "http://[::]/", "http://2130706433/", "http://[::1]/"])
def test_loopback_is_the_sandbox_s_own(create, refused, fetched, url):
    sandbox = create()
    refused(sandbox, url)
    sandbox.commands.run("echo own > /tmp/own; cd /tmp; exec python3 -m http.server 80 --bind ::", background=True)
    fetched(sandbox, "http://[::1]/own", "--retry", "20", "--retry-connrefused", "--retry-delay", "0")


def test_a_profile_opens_a_private_address_by_name_and_nothing_beside(create_raw, fetched, refused, world):
    sandbox = create_raw({"hood": {"profile": "inside"}})
    world.allowed_for_a_moment = ["10.0.0.5"]
    assert '"method": "GET"' in fetched(sandbox, "http://10.0.0.5/")
    refused(sandbox, "http://172.16.3.4/")
