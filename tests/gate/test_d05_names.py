"""D5: what a connection says of itself must agree with where it goes."""

import pytest

from names import EVIL, EXAMPLE

NARROW = {"allow_out": ["example.com"], "deny_out": ["0.0.0.0/0"]}


@pytest.fixture
def sandbox(create, fetched):
    sandbox = create(network=NARROW)
    fetched(sandbox, "https://example.com/")
    return sandbox


def test_an_allowed_sni_at_another_address(sandbox, refused, world):
    heard = world.mark()
    refused(sandbox, "https://example.com/", "-k", "--resolve", f"example.com:443:{EVIL}")
    refused(sandbox, "https://example.com:8443/", "-k", "--resolve", f"example.com:8443:{EVIL}")
    assert heard("http") == []


def test_another_sni_at_an_allowed_address(sandbox, refused, world):
    heard = world.mark()
    refused(sandbox, "https://evil.example/", "-k", "--resolve", f"evil.example:443:{EXAMPLE}")
    refused(sandbox, "https://sub.example.com/", "-k", "--resolve", f"sub.example.com:443:{EXAMPLE}")
    refused(sandbox, "https://example.com.evil.example/", "-k", "--resolve", f"example.com.evil.example:443:{EXAMPLE}")
    assert heard("http") == []


def test_no_sni(sandbox, refused, world):
    heard = world.mark()
    refused(sandbox, f"https://{EXAMPLE}/", "-k")
    assert heard("http") == []


def test_the_host_of_plain_http(sandbox, refused, fetched, world):
    fetched(sandbox, "http://example.com/")
    heard = world.mark()
    refused(sandbox, "http://example.com/", "-H", "'Host: evil.example'")
    refused(sandbox, "http://example.com/", "-H", "'Host: example.com:8080'")
    refused(sandbox, f"http://{EXAMPLE}/")
    assert heard("http") == []


RAW = r"""
import json, socket
def say(data):
    s = socket.create_connection(("93.184.216.34", 80), 5)
    s.settimeout(5)
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        heard = b""
        while more := s.recv(65536):
            heard += more
        return heard.decode("latin-1")
    except OSError as error:
        return type(error).__name__
print(json.dumps([{ways}]))
"""

TRICKS = {
    "two hosts": b"GET / HTTP/1.1\r\nHost: example.com\r\nHost: evil.example\r\n\r\n",
    "absolute form": b"GET http://evil.example/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
    "folded": b"GET / HTTP/1.1\r\nHost: example.com\r\n evil.example\r\n\r\n",
    "space before the colon": b"GET / HTTP/1.1\r\nHost : evil.example\r\nHost: example.com\r\n\r\n",
    "userinfo": b"GET / HTTP/1.1\r\nHost: example.com@evil.example\r\n\r\n",
    "NUL": b"GET / HTTP/1.1\r\nHost: evil.example\0.example.com\r\n\r\n",
    "h2c": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("trick", TRICKS)
def test_heads_that_could_be_read_in_two_ways(sandbox, inside, world, trick):
    heard = world.mark()
    [said] = inside(sandbox, RAW.replace("{ways}", f"say({TRICKS[trick]!r})"))
    assert "200 OK" not in said
    assert not any("evil" in str(hit["headers"]) + hit["path"] for hit in heard("http"))


def test_a_later_request_on_the_same_connection_keeps_to_the_name(sandbox, inside, world):
    heard = world.mark()
    two = b"GET /one HTTP/1.1\r\nHost: example.com\r\n\r\nGET /two HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    smuggled = (
        b"POST /three HTTP/1.1\r\nHost: example.com\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\nGET /four HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    )
    first, _second = inside(sandbox, RAW.replace("{ways}", f"say({two!r}), say({smuggled!r})"))
    assert "200 OK" in first
    paths = {hit["path"] for hit in heard("http")}
    assert "/one" in paths and not paths & {"/two", "/four"}, paths
    assert not any(hit["host"] == "evil.example" for hit in heard("http"))


def test_the_host_within_tls_where_it_is_opened(create, refused, fetched, world):
    """A host with a rule is read; SNI and Host must be one."""
    rules = {"example.com": [{"transform": {"headers": {"X-Seen": "1"}}}]}
    sandbox = create(network={**NARROW, "rules": rules})
    assert "x-seen" in fetched(sandbox, "https://example.com/headers").lower()
    heard = world.mark()
    said = fetched(sandbox, "https://example.com/", "-H", "'Host: evil.example'", "-w", "'%{http_code}'")
    assert not said.endswith("200"), said
    assert heard("http") == []
