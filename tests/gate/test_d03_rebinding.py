"""D3: names that are allowed and lead where nobody may go, at once or later, by themselves or by an alias."""

import pytest

NARROW = {"allow_out": ["*.example.com", "example.com"], "deny_out": ["0.0.0.0/0"]}

NAMES = [
    "private.example.com",
    "metadata.example.com",
    "loop.example.com",
    "mapped.example.com",
    "nat64.example.com",
    "host.example.com",
    "to-private.example.com",
]


@pytest.mark.parametrize("network", [{}, NARROW], ids=["open", "narrow"])
def test_an_allowed_name_does_not_open_a_private_address(create, refused, audit, network):
    sandbox = create(network=network)
    for name in NAMES:
        refused(sandbox, f"http://{name}/")
    assert audit.denied(sandbox, lambda entry: entry["name"] == "private.example.com" and entry["protocol"] == "dns")


def test_answers_that_flip_are_cut_down_each_time(create, world):
    sandbox = create(network=NARROW)
    for _ in range(8):
        sandbox.commands.run("curl -sS -m 3 -o /dev/null http://flip.example.com/ || true")


def test_the_public_one_of_two_addresses_is_reached(create, fetched):
    sandbox = create(network=NARROW)
    assert '"method": "GET"' in fetched(sandbox, "http://mixed.example.com/")


def test_an_alias_of_an_allowed_name_needs_no_rule(create, fetched):
    sandbox = create(network=NARROW)
    assert '"method": "GET"' in fetched(sandbox, "https://cdn.example.com/")
    assert '"method": "GET"' in fetched(sandbox, "https://chain.example.com/")


def test_an_address_counts_only_for_the_name_that_it_was_an_answer_for(create, refused, fetched):
    """Another name of the same address must be looked up itself."""
    sandbox = create(network={"allow_out": ["example.com"], "deny_out": ["0.0.0.0/0"]})
    fetched(sandbox, "https://example.com/")
    refused(sandbox, "https://shared.example/", "--resolve", "shared.example:443:93.184.216.34")
