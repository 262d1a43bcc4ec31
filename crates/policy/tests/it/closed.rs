//! D1, D2, D9: addresses that no policy opens, in every spelling.

use std::net::IpAddr;

use hood_policy::{Range, Reason, Verdict, closed, closed_under};

use crate::build::{Seen, ceiling, policy, under, verdict};

const CLOSED: &[(&str, &str)] = &[
    // D1
    ("169.254.169.254", "metadata"),
    ("169.254.170.2", "metadata"),
    ("100.100.100.200", "metadata"),
    ("168.63.129.16", "metadata"),
    ("192.0.0.192", "metadata"),
    ("fd00:ec2::254", "metadata"),
    ("fd20:ce::254", "metadata"),
    ("::ffff:169.254.169.254", "metadata"),
    ("::ffff:a9fe:a9fe", "metadata"),
    // D2, D9
    ("0.0.0.0", "this network"),
    ("0.255.255.255", "this network"),
    ("10.0.0.0", "private"),
    ("10.255.255.255", "private"),
    ("100.64.0.0", "carrier NAT"),
    ("100.127.255.255", "carrier NAT"),
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("169.254.0.1", "link-local"),
    ("172.16.0.0", "private"),
    ("172.31.255.255", "private"),
    ("192.0.0.1", "reserved"),
    ("192.0.2.1", "documentation"),
    ("192.88.99.1", "6to4 relay"),
    ("192.168.0.1", "private"),
    ("198.18.0.0", "benchmarking"),
    ("198.19.255.255", "benchmarking"),
    ("198.51.100.7", "documentation"),
    ("203.0.113.7", "documentation"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.255", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "reserved"),
    ("::", "this network"),
    ("::1", "loopback"),
    ("0:0:0:0:0:0:0:1", "loopback"),
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:10.0.0.1", "private"),
    ("::ffff:0.0.0.0", "this network"),
    ("::127.0.0.1", "IPv4-compatible"),
    ("::7f00:1", "IPv4-compatible"),
    ("::8.8.8.8", "IPv4-compatible"),
    ("::ffff:0:127.0.0.1", "IPv4-translated"),
    ("64:ff9b::127.0.0.1", "NAT64"),
    ("64:ff9b::a00:1", "NAT64"),
    ("64:ff9b::8.8.8.8", "NAT64"),
    ("64:ff9b:1::10.0.0.1", "NAT64"),
    ("64:ff9b:1:a00:0:100::", "NAT64"),
    ("2001::1", "Teredo"),
    ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
    ("2002:7f00:1::", "6to4"),
    ("2002:808:808::1", "6to4"),
    ("2001:4860:4860::5efe:10.0.0.1", "private"),
    ("2001:4860:4860::200:5efe:127.0.0.1", "loopback"),
    ("2001:4860:4860::5efe:169.254.169.254", "metadata"),
    ("100::1", "discard"),
    ("2001:2::1", "reserved"),
    ("2001:20::1", "reserved"),
    ("2001:db8::1", "documentation"),
    ("3fff::1", "documentation"),
    ("5f00::1", "reserved"),
    ("1::1", "reserved"),
    ("4000::", "reserved"),
    ("8000::", "reserved"),
    ("e000::1", "reserved"),
    ("fc00::1", "private"),
    ("fd12:3456:789a::1", "private"),
    ("fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "private"),
    ("fe80::1", "link-local"),
    ("febf::1", "link-local"),
    ("fec0::1", "site-local"),
    ("ff02::1", "multicast"),
];

const PUBLIC: &[&str] = &[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "168.63.129.15",
    "::ffff:8.8.8.8",
    "2000::1",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2606:4700:4700::1111",
    "2003::1",
    "2001:4860:4860::5efe:8.8.8.8",
    "3ffe:ffff::1",
];

#[test]
fn closed_addresses_are_closed_in_every_spelling() {
    let open = policy(
        r#"{"base":"open","allow":[{"to":{"range":"0.0.0.0/0"}},{"to":{"range":"::/0"}}],"log_only":true}"#,
    );
    for (text, word) in CLOSED {
        let address: IpAddr = text.parse().expect(text);
        assert_eq!(closed(address), Some(*word), "{text}");
        let refused = Verdict::Deny(Reason::ClosedRange((*word).to_owned()));
        for seen in [
            Seen::Nothing,
            Seen::NoName,
            Seen::LookedUp("a.example"),
            Seen::Claimed("metadata.google.internal"),
        ] {
            assert_eq!(under(&open, &ceiling("{}"), &socket(address), seen), refused, "{text}");
        }
    }
}

#[test]
fn public_addresses_are_not() {
    for text in PUBLIC {
        assert_eq!(closed(text.parse().expect(text)), None, "{text}");
    }
}

#[test]
fn a_ceiling_opens_by_name_and_a_policy_must_still_allow() {
    let some = ceiling(r#"{"open":["10.1.0.0/16"],"policy":{"base":"open"}}"#);
    let open = policy(r#"{"base":"open"}"#);
    assert!(matches!(under(&open, &some, "10.1.2.3:443", Seen::Nothing), Verdict::Allow(_)));
    assert!(matches!(under(&open, &some, "[::ffff:10.1.2.3]:443", Seen::Nothing), Verdict::Allow(_)));
    assert!(matches!(
        under(&policy("{}"), &some, "10.1.2.3:443", Seen::Nothing),
        Verdict::Deny(Reason::Base)
    ));
    for other in [
        "10.2.0.0:443",
        "127.0.0.1:443",
        "[64:ff9b::10.1.2.3]:443",
        "[2002:a01:203::]:443",
        "[::10.1.2.3]:443",
    ] {
        let verdict = under(&open, &some, other, Seen::Nothing);
        assert!(matches!(verdict, Verdict::Deny(Reason::ClosedRange(_))), "{other}: {verdict:?}");
    }
}

#[test]
fn an_opened_embedding_is_looked_into() {
    let nat64 = ceiling(r#"{"open":["64:ff9b::/96","64:ff9b:1::/48","2002::/16","2001::/32"]}"#);
    let word = |text: &str| closed_under(text.parse().expect(text), &nat64);
    assert_eq!(word("64:ff9b::8.8.8.8"), None);
    assert_eq!(word("64:ff9b::10.0.0.1"), Some("private"));
    assert_eq!(word("64:ff9b::169.254.169.254"), Some("metadata"));
    assert_eq!(
        word("64:ff9b:1:808:8:800:0:0"),
        Some("this network"),
        "its last four bytes are an address, too"
    );
    assert_eq!(word("64:ff9b:1:a00:0:100:808:808"), Some("private"));
    assert_eq!(word("2002:808:808::1"), None);
    assert_eq!(word("2002:c0a8:1::1"), Some("private"));
    // The client's address is written inverted: 192.168.1.1.
    assert_eq!(word("2001:0:808:808:0:0:3f57:fefe"), Some("private"));
    assert_eq!(word("2001:0:a00:1:0:0:f7f7:f7f7"), Some("private"), "the server's address");
}

#[test]
fn a_wide_opening_opens_no_credentials() {
    let wide = ceiling(r#"{"open":["0.0.0.0/0","::/0"]}"#);
    let word = |text: &str| closed_under(text.parse().expect(text), &wide);
    assert_eq!(word("10.0.0.1"), None);
    for metadata in
        ["169.254.169.254", "168.63.129.16", "fd00:ec2::254", "::ffff:169.254.169.254", "2002:a9fe:a9fe::"]
    {
        assert_eq!(word(metadata), Some("metadata"), "{metadata}");
    }
    let named = ceiling(r#"{"open":["169.254.169.254/32"]}"#);
    assert_eq!(closed_under("169.254.169.254".parse().expect("an address"), &named), None);
}

#[test]
fn a_denied_address_is_denied_in_every_embedding() {
    let deny = policy(r#"{"base":"open","deny":["8.8.8.8"]}"#);
    let open = ceiling(r#"{"open":["64:ff9b::/96","2002::/16"]}"#);
    for to in ["8.8.8.8:1", "[::ffff:8.8.8.8]:1", "[64:ff9b::8.8.8.8]:1", "[2002:808:808::]:1"] {
        let verdict = under(&deny, &open, to, Seen::NoName);
        assert_eq!(verdict, Verdict::Deny(Reason::Denied("8.8.8.8".to_owned())), "{to}");
    }
}

#[test]
fn port_0_is_refused() {
    let open = policy(r#"{"base":"open"}"#);
    assert_eq!(
        verdict(&open, "8.8.8.8:0", Seen::Nothing),
        Verdict::Deny(Reason::ClosedRange("port 0".to_owned()))
    );
}

#[test]
fn ranges_have_one_spelling() {
    for (text, canonical) in [
        ("192.0.2.7/24", "192.0.2.0/24"),
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7/32", "192.0.2.7"),
        ("255.255.255.255/0", "0.0.0.0/0"),
        ("2001:DB8::1/32", "2001:db8::/32"),
        ("2001:db8::1/128", "2001:db8::1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7/120", "192.0.2.0/24"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        ("::/0", "::/0"),
    ] {
        let range: Range = text.parse().expect(text);
        assert_eq!(range.to_string(), canonical);
        assert_eq!(canonical.parse::<Range>(), Ok(range));
    }
    for bad in [
        "",
        "/",
        "1.2.3.4/",
        "1.2.3.4/33",
        "::/129",
        "1.2.3.4/-1",
        "1.2.3.4/+8",
        "1.2.3.4/08",
        "1.2.3.4/8/8",
        "127.1",
        "0x7f.0.0.1",
        "017.0.0.1",
        "010.0.0.1",
        "2130706433",
        "1.2.3.4.",
        " 1.2.3.4",
        "1.2.3.4 ",
        "1.2.3.4%eth0",
        "fe80::1%lo",
        "[::1]",
        "localhost",
        "1.2.3",
        "1.2.3.4.5",
        "::1::",
        "1.2.3.4\0",
    ] {
        assert!(bad.parse::<Range>().is_err(), "{bad:?}");
    }
}

fn socket(address: IpAddr) -> String {
    std::net::SocketAddr::new(address, 443).to_string()
}
