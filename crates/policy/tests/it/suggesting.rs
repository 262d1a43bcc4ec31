//! What is suggested from what was seen.

use hood_policy::{Seen, suggest, validate};

fn seen(name: &str, to: &str, request: &str) -> Seen {
    let (method, path) = request.split_once(' ').map(|(m, p)| (m.to_owned(), p.to_owned())).unzip();
    let name = (!name.is_empty()).then(|| name.parse().expect(name));
    Seen { name, to: to.parse().expect(to), method, path }
}

#[test]
fn the_smallest_policy_that_allows_it() {
    let policy = suggest([
        seen("api.example.com", "1.1.1.1:443", ""),
        seen("api.example.com", "1.1.1.2:80", ""),
        seen("a.files.example.net", "1.1.1.3:443", ""),
        seen("b.files.example.net", "1.1.1.3:443", ""),
        seen("c.files.example.net", "1.1.1.3:443", ""),
        seen("", "9.9.9.9:22", ""),
        seen("", "10.0.0.1:22", ""),
        seen("metadata.google.internal", "169.254.169.254:80", "GET /"),
    ]);
    let expected = r#"{"base":"closed","allow":[
        {"to":{"name":"api.example.com"},"ports":[80,443]},
        {"to":{"name":"*.files.example.net"},"ports":[443]},
        {"to":{"range":"9.9.9.9"},"ports":[22]}]}"#;
    assert_eq!(policy, serde_json::from_str(expected).expect("a policy"));
    assert_eq!(validate(&policy), Ok(vec![]));
}

#[test]
fn two_siblings_and_strangers_stay_apart() {
    let policy = suggest(
        [
            "a.example.com",
            "b.example.com",
            "a.github.io",
            "b.github.io",
            "c.github.io",
            "x.co",
            "y.co",
            "z.co",
        ]
        .map(|name| seen(name, "1.1.1.1:443", "")),
    );
    assert_eq!(policy.allow.len(), 8);
}

#[test]
fn requests_become_rules_where_every_visit_showed_one() {
    let policy = suggest([
        seen("api.example.com", "1.1.1.1:443", "GET /v1/models?x=1"),
        seen("api.example.com", "1.1.1.1:443", "POST /v1/models"),
        seen("api.example.com", "1.1.1.1:443", "POST /v1/chat%20s/"),
        seen("half.example.org", "1.1.1.1:443", "GET /"),
        seen("half.example.org", "1.1.1.1:443", ""),
        seen("odd.example.net", "1.1.1.1:443", "GET /a/../b"),
    ]);
    let rules = r#"[{"host":"api.example.com","requests":[
        {"methods":["POST"],"path":"/v1/chat%20s"},{"methods":["GET","POST"],"path":"/v1/models"}]}]"#;
    assert_eq!(policy.hosts, serde_json::from_str::<Vec<_>>(rules).expect("rules"));
    let many =
        suggest((0..30).map(|at| seen("api.example.com", "1.1.1.1:443", &format!("GET /v1/item/{at}"))));
    assert_eq!(many.hosts[0].requests[0].path, "/v1/item");
}
