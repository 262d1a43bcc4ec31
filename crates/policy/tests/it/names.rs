//! D1, D4, D6: which names may be asked for.

use hood_policy::{Ceiling, Name, Policy, Reason, Verdict, may_ask};

use crate::build::{ceiling, policy};

fn ask(policy: &Policy, ceiling: &Ceiling, name: &str) -> Verdict {
    let name: Name = name.parse().expect(name);
    may_ask(policy, ceiling, &name)
}

#[test]
fn only_names_that_the_policy_could_use_are_asked() {
    let closed = policy(r#"{"allow":[{"to":{"name":"*.example.com"}},{"to":{"range":"1.1.1.0/24"}}]}"#);
    let all = Ceiling::default();
    assert_eq!(
        ask(&closed, &all, "a.example.com"),
        Verdict::Allow(Reason::Allowed("*.example.com".to_owned()))
    );
    for exfiltration in
        ["example.com", "c2VjcmV0.evil.example", "example.com.evil.example", "com", "1-1-1-1.example"]
    {
        assert_eq!(ask(&closed, &all, exfiltration), Verdict::Deny(Reason::Base), "{exfiltration}");
    }
    assert_eq!(ask(&Policy::default(), &all, "a.example.com"), Verdict::Deny(Reason::Base));
}

#[test]
fn an_open_base_asks_all_unless_nothing_is_left_of_it() {
    let all = Ceiling::default();
    assert_eq!(
        ask(&policy(r#"{"base":"open","deny":["8.8.8.8"]}"#), &all, "a.b"),
        Verdict::Allow(Reason::Base)
    );
    assert_eq!(
        ask(&policy(r#"{"base":"open","deny":["0.0.0.0/0"]}"#), &all, "a.b"),
        Verdict::Allow(Reason::Base)
    );
    for nothing in [
        r#"{"base":"open","deny":["0.0.0.0/0","::/0"]}"#,
        r#"{"base":"open","deny":["128.0.0.0/1","::/1","0.0.0.0/1","8000::/1","1.0.0.0/8"]}"#,
    ] {
        assert_eq!(ask(&policy(nothing), &all, "a.b"), Verdict::Deny(Reason::Base));
    }
    let everything = policy(r#"{"allow":[{"to":{"range":"0.0.0.0/0"}}]}"#);
    assert!(matches!(ask(&everything, &all, "a.b"), Verdict::Allow(Reason::Allowed(_))));
}

#[test]
fn a_ceiling_bounds_questions_and_logging_lets_them_pass() {
    let open = policy(r#"{"base":"open"}"#);
    let bound = ceiling(r#"{"policy":{"allow":[{"to":{"name":"a.example"}}]}}"#);
    assert_eq!(ask(&open, &bound, "a.example"), Verdict::Allow(Reason::Base));
    assert_eq!(ask(&open, &bound, "b.example"), Verdict::Deny(Reason::Ceiling));
    let logging = policy(r#"{"log_only":true}"#);
    assert_eq!(ask(&logging, &Ceiling::default(), "b.example"), Verdict::WouldDeny(Reason::Base));
    assert_eq!(ask(&logging, &bound, "b.example"), Verdict::Deny(Reason::Ceiling));
    let lax = ceiling(r#"{"policy":{"log_only":true}}"#);
    assert_eq!(ask(&open, &lax, "b.example"), Verdict::WouldDeny(Reason::Ceiling));
    assert_eq!(ask(&policy("{}"), &lax, "b.example"), Verdict::Deny(Reason::Base));
}

#[test]
fn names_of_metadata_services_are_never_asked() {
    let open =
        policy(r#"{"base":"open","allow":[{"to":{"name":"metadata.google.internal"}}],"log_only":true}"#);
    for name in
        ["metadata.google.internal", "METADATA.google.internal.", "metadata", "instance-data.ec2.internal"]
    {
        let refused = Verdict::Deny(Reason::ClosedRange("metadata".to_owned()));
        assert_eq!(ask(&open, &Ceiling::default(), name), refused);
    }
}
