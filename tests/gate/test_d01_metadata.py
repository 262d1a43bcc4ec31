"""D1: metadata services, in every spelling and under every policy but a profile that opens them by name."""

import pytest

SPELLINGS = [
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://metadata.example.com/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://169.254.170.2/v2/credentials",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://169.254.169.254:8080/",
    "https://169.254.169.254/",
]

POLICIES = {
    "open": {},
    "allowed by the caller": {
        "allow_out": ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"],
        "deny_out": ["0.0.0.0/0"],
    },
    "everything allowed": {"allow_out": ["0.0.0.0/0", "::/0"]},
}


@pytest.mark.parametrize("policy", POLICIES)
def test_metadata_is_closed_in_every_policy(create, refused, audit, policy):
    sandbox = create(network=POLICIES[policy])
    for url in SPELLINGS:
        refused(sandbox, url)
    assert audit.denied(sandbox, lambda entry: entry["to"] == "169.254.169.254:80")
    assert audit.denied(sandbox, lambda entry: entry["to"] == "[fd00:ec2::254]:80")
