"""D6: spellings of names, and policies that say more than they seem to."""

import pytest

NARROW = {"allow_out": ["example.com", "*.example.com"], "deny_out": ["0.0.0.0/0"]}


@pytest.mark.parametrize("url", ["https://EXAMPLE.com/", "https://example.com./", "https://WWW.Example.COM/", "https://a.b.example.com/", "http://xn--bcher-kva.example.com/"])
def test_one_name_however_it_is_spelled(create, fetched, url):
    assert '"method": "GET"' in fetched(create(network=NARROW), url, "-k")


@pytest.mark.parametrize("name", ["example.com.evil.example", "example-com.evil.example", "notexample.com", "example.co", "xn--exmple-cua.com", "example.com-evil.example"])
def test_names_that_only_look_alike(create, refused, name):
    refused(create(network=NARROW), f"https://{name}/")
    refused(create(network=NARROW), f"https://{name}/", "--resolve", f"{name}:443:93.184.216.34")


@pytest.mark.parametrize("entry", ["*", "*.com", "*.co.uk", "**.example.com", "exa mple.com", "evil\u0000.example.com", "a" * 300, "https://example.com", "*.*.example.com", "example.com/24", "10.0.0.0/33"])
def test_policies_that_mean_too_much_or_nothing_are_refused_by_name(api, entry):
    body = {"templateID": "base", "network": {"allowOut": [entry], "denyOut": ["0.0.0.0/0"]}}
    answer = api.post("/v2/sandboxes", json=body)
    assert answer.status_code == 400, answer.text
    assert "llow" in answer.json()["message"], answer.text


def test_an_empty_allow_list_beside_a_closed_rest_allows_nothing(create, refused):
    sandbox = create(network={"allow_out": [], "deny_out": ["0.0.0.0/0"]})
    for url in ["https://example.com/", "http://93.184.216.34/", "http://[2606:2800:220:1:248:1893:25c8:1946]/"]:
        refused(sandbox, url)
