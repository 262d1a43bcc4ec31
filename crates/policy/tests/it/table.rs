//! The table of `decide`, line by line, and D3, D5, D6 as far as one function sees them.

use hood_policy::{Policy, Reason, Verdict};

use crate::build::Seen::{Claimed, LookedUp, NoName, Nothing};
use crate::build::{Seen, ceiling, policy, under, verdict};

const HOST: &str = "93.184.216.34:443";

fn allowed(by: &str) -> Verdict {
    Verdict::Allow(Reason::Allowed(by.to_owned()))
}

#[track_caller]
fn check(policy: &Policy, rows: &[(&str, Seen<'_>, Verdict)]) {
    for (to, seen, expected) in rows {
        assert_eq!(&verdict(policy, to, *seen), expected, "{to} {seen:?}");
    }
}

#[test]
fn an_empty_policy_denies_everything() {
    check(
        &Policy::default(),
        &[
            (HOST, Nothing, Verdict::Deny(Reason::Base)),
            (HOST, LookedUp("a.example"), Verdict::Deny(Reason::Base)),
            ("[2606:4700::1111]:443", Nothing, Verdict::Deny(Reason::Base)),
            ("8.8.8.8:53", NoName, Verdict::Deny(Reason::Base)),
        ],
    );
}

#[test]
fn a_name_counts_when_it_was_looked_up_and_shown() {
    let named = policy(r#"{"allow":[{"to":{"name":"*.example.com"},"ports":[443]}]}"#);
    check(
        &named,
        &[
            (HOST, Nothing, Verdict::NeedsName),
            (HOST, LookedUp("a.example.com"), allowed("*.example.com")),
            // D5: the right name at another address, none, a front, a name that only looks alike.
            (HOST, Claimed("a.example.com"), Verdict::Deny(Reason::NotLookedUp)),
            (HOST, NoName, Verdict::Deny(Reason::NoName)),
            (HOST, LookedUp("evil.example.net"), Verdict::Deny(Reason::Base)),
            (HOST, LookedUp("a.example.com.evil.net"), Verdict::Deny(Reason::Base)),
            (HOST, LookedUp("xn--exmple-cua.com"), Verdict::Deny(Reason::Base)),
            (HOST, LookedUp("A.EXAMPLE.COM."), allowed("*.example.com")),
            // Another port is not spoken of.
            ("93.184.216.34:22", Nothing, Verdict::Deny(Reason::Base)),
            ("93.184.216.34:22", LookedUp("a.example.com"), Verdict::Deny(Reason::Base)),
            // D3: rebinding.
            (
                "10.0.0.1:443",
                LookedUp("a.example.com"),
                Verdict::Deny(Reason::ClosedRange("private".to_owned())),
            ),
        ],
    );
}

#[test]
fn an_address_needs_no_name() {
    let ranged = policy(
        r#"{"allow":[{"to":{"range":"93.184.216.0/24"},"ports":[443,8443]},{"to":{"name":"a.example"}}]}"#,
    );
    check(
        &ranged,
        &[
            (HOST, Nothing, allowed("93.184.216.0/24")),
            (HOST, NoName, allowed("93.184.216.0/24")),
            (HOST, Claimed("a.example"), allowed("93.184.216.0/24")),
            (HOST, LookedUp("a.example"), allowed("a.example")),
            ("93.184.216.34:80", Nothing, Verdict::NeedsName),
            ("93.184.216.34:80", NoName, Verdict::Deny(Reason::NoName)),
            ("93.184.217.34:443", NoName, Verdict::Deny(Reason::NoName)),
        ],
    );
}

#[test]
fn allow_wins_over_deny_and_deny_over_an_open_base() {
    let both = policy(
        r#"{"base":"open","deny":["8.8.0.0/16"],"allow":[{"to":{"range":"8.8.8.8"}},{"to":{"name":"a.example"}}]}"#,
    );
    let denied = || Verdict::Deny(Reason::Denied("8.8.0.0/16".to_owned()));
    check(
        &both,
        &[
            ("8.8.8.8:443", Nothing, allowed("8.8.8.8")),
            ("8.8.4.4:443", Nothing, Verdict::NeedsName),
            ("8.8.4.4:443", LookedUp("a.example"), allowed("a.example")),
            ("8.8.4.4:443", Claimed("a.example"), Verdict::Deny(Reason::NotLookedUp)),
            ("8.8.4.4:443", NoName, denied()),
            ("8.8.4.4:443", LookedUp("b.example"), denied()),
            ("1.1.1.1:443", Nothing, Verdict::Allow(Reason::Base)),
            ("1.1.1.1:443", Claimed("b.example"), Verdict::Allow(Reason::Base)),
        ],
    );
}

#[test]
fn a_transform_asks_for_the_name_where_requests_are_and_never_trusts_a_claim() {
    let transform = r#""hosts":[{"host":"api.example","transform":{"headers":{"authorization":"s"}}}]"#;
    for access in
        [r#""base":"open""#, r#""allow":[{"to":{"range":"93.184.216.0/24"}},{"to":{"name":"api.example"}}]"#]
    {
        let policy = policy(&format!("{{{access},{transform}}}"));
        assert_eq!(verdict(&policy, HOST, Nothing), Verdict::NeedsName);
        assert!(
            matches!(verdict(&policy, HOST, NoName), Verdict::Allow(_)),
            "unchanged, which opens nothing"
        );
        assert!(matches!(verdict(&policy, HOST, LookedUp("api.example")), Verdict::Allow(_)));
        assert!(matches!(verdict(&policy, HOST, Claimed("other.example")), Verdict::Allow(_)));
        // The secret would go to whoever sits at that address.
        assert_eq!(verdict(&policy, HOST, Claimed("api.example")), Verdict::Deny(Reason::NotLookedUp));
        assert!(
            matches!(verdict(&policy, "93.184.216.34:22", Nothing), Verdict::Allow(_)),
            "SSH waits for its server"
        );
    }
    let logging = policy(&format!(r#"{{"log_only":true,{transform}}}"#));
    assert_eq!(verdict(&logging, HOST, Nothing), Verdict::NeedsName);
    assert_eq!(verdict(&logging, HOST, Claimed("api.example")), Verdict::Deny(Reason::NotLookedUp));
    assert_eq!(verdict(&logging, HOST, NoName), Verdict::WouldDeny(Reason::Base));
}

#[test]
fn limited_requests_under_an_open_base_leave_no_way_round() {
    let limited = policy(
        r#"{"base":"open","allow":[{"to":{"range":"1.1.1.1"}}],
            "hosts":[{"host":"api.example","requests":[{"methods":["GET"],"path":"/"}]}]}"#,
    );
    check(
        &limited,
        &[
            (HOST, Nothing, Verdict::NeedsName),
            ("93.184.216.34:2083", Nothing, Verdict::NeedsName),
            (HOST, LookedUp("api.example"), Verdict::Allow(Reason::Base)),
            (HOST, LookedUp("b.example"), Verdict::Allow(Reason::Base)),
            (HOST, NoName, Verdict::Deny(Reason::NoName)),
            (HOST, Claimed("b.example"), Verdict::Deny(Reason::NotLookedUp)),
            ("1.1.1.1:22", Nothing, allowed("1.1.1.1")),
        ],
    );
}

#[test]
fn a_policy_that_only_logs_lets_through_what_is_not_closed() {
    let logging = policy(r#"{"log_only":true,"allow":[{"to":{"name":"a.example"}}]}"#);
    check(
        &logging,
        &[
            (HOST, Nothing, Verdict::NeedsName),
            (HOST, NoName, Verdict::WouldDeny(Reason::NoName)),
            (HOST, Claimed("a.example"), Verdict::WouldDeny(Reason::NotLookedUp)),
            (HOST, LookedUp("a.example"), allowed("a.example")),
            ("127.0.0.1:443", NoName, Verdict::Deny(Reason::ClosedRange("loopback".to_owned()))),
        ],
    );
}

#[test]
fn a_ceiling_comes_before_the_policy_and_no_call_can_log_past_it() {
    let bound = ceiling(r#"{"policy":{"allow":[{"to":{"name":"a.example"}}]}}"#);
    let open = policy(r#"{"base":"open","log_only":true}"#);
    assert_eq!(under(&open, &bound, HOST, Nothing), Verdict::NeedsName);
    assert_eq!(under(&open, &bound, HOST, NoName), Verdict::Deny(Reason::Ceiling));
    assert_eq!(under(&open, &bound, HOST, LookedUp("b.example")), Verdict::Deny(Reason::Ceiling));
    assert_eq!(under(&open, &bound, HOST, LookedUp("a.example")), Verdict::Allow(Reason::Base));
    let narrow = policy(r#"{"allow":[{"to":{"name":"b.example"}}]}"#);
    assert_eq!(under(&narrow, &bound, HOST, LookedUp("a.example")), Verdict::Deny(Reason::Base));
    let closed = policy("{}");
    assert_eq!(under(&closed, &bound, HOST, Nothing), Verdict::Deny(Reason::Base), "no need to read on");
    let lax = ceiling(r#"{"policy":{"log_only":true}}"#);
    assert_eq!(under(&open, &lax, HOST, NoName), Verdict::WouldDeny(Reason::Ceiling));
    assert_eq!(under(&closed, &lax, HOST, NoName), Verdict::Deny(Reason::Base));
}

#[test]
fn the_closest_host_rule_wins_and_rules_are_not_merged() {
    let policy = policy(
        r#"{"hosts":[{"host":"*.example.com"},{"host":"*.a.example.com"},{"host":"b.a.example.com"}]}"#,
    );
    for (name, rule) in [
        ("b.a.example.com", Some("b.a.example.com")),
        ("c.a.example.com", Some("*.a.example.com")),
        ("a.example.com", Some("*.example.com")),
        ("example.com", None),
    ] {
        let found = policy.host_rule(&name.parse().expect(name)).map(|rule| rule.host.to_string());
        assert_eq!(found.as_deref(), rule, "{name}");
    }
}

#[test]
fn reasons_are_words() {
    for (reason, words) in [
        (Reason::Allowed("*.a.example".to_owned()), "allowed by `*.a.example`"),
        (Reason::ClosedRange("metadata".to_owned()), "closed in every policy: metadata"),
        (Reason::NotLookedUp, "this address was not looked up for that name"),
    ] {
        assert_eq!(reason.to_string(), words);
    }
}
