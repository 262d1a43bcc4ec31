use super::*;

fn policy(json: &str) -> Policy {
    serde_json::from_str(json).expect(json)
}

/// Each finding as text, errors if there are any.
fn found(json: &str) -> Vec<String> {
    let all = validate(&policy(json)).unwrap_or_else(|errors| errors);
    all.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn refused(json: &str, sentence: &str) {
    let errors = validate(&policy(json)).expect_err("refused");
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [sentence]);
}

#[track_caller]
fn warned(json: &str, sentence: &str) {
    let warnings = validate(&policy(json)).expect("usable");
    assert_eq!(warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [sentence]);
}

#[test]
fn ordinary_policies_have_no_findings() {
    for json in [
        "{}",
        r#"{"base":"open"}"#,
        r#"{"base":"open","deny":["8.8.8.0/24"],"allow":[{"to":{"range":"8.8.8.8"}}]}"#,
        r#"{"allow":[{"to":{"name":"*.example.com"},"ports":[443]},{"to":{"name":"example.com"}}],"hosts":[
            {"host":"api.example.com","transform":{"headers":{"Authorization":"Bearer ${e2b.secrets.KEY}"}},
             "requests":[{"methods":["GET"],"path":"/v1"},{"methods":["POST"],"path":"/v1/a"}]}],
            "proxy":{"address":"proxy.example:1080","username":"u","password":"p"}}"#,
    ] {
        assert!(found(json).is_empty(), "{json}: {:?}", found(json));
    }
}

#[test]
fn wildcards_over_strangers_are_refused() {
    let sentence = "`allow[0]`: `*.com` is over-wide: anybody can have a name there; name the hosts, or a wildcard \
                    below a name of one owner";
    refused(r#"{"allow":[{"to":{"name":"*.com"}}]}"#, sentence);
    let host = r#"{"base":"open","hosts":[{"host":"*.github.io","transform":{"headers":{"a":"b"}}}]}"#;
    assert!(found(host)[0].starts_with("`hosts[*.github.io]`: `*.github.io` is over-wide"));
}

#[test]
fn lines_that_say_nothing_are_named() {
    warned(
        r#"{"allow":[{"to":{"name":"*.example.com"}},{"to":{"name":"a.example.com"},"ports":[443]}]}"#,
        "`allow[1]`: `a.example.com` is allowed by line 0 already; leave it out",
    );
    warned(
        r#"{"base":"open","deny":["8.8.0.0/16","8.8.8.8"]}"#,
        "`deny[1]`: `8.8.8.8` is denied by line 0 already; leave it out",
    );
    warned(
        r#"{"base":"open","deny":["1.1.1.1"],"allow":[{"to":{"range":"1.1.1.1"}}]}"#,
        "`deny[0]`: `1.1.1.1` is allowed by line 0 of `allow`, which wins; leave out one of the two",
    );
    warned(
        r#"{"deny":["1.1.1.1"]}"#,
        "`deny[0]`: `1.1.1.1` is closed already, as everything is that nothing allows; leave it out, or open the base",
    );
    warned(
        r#"{"base":"open","allow":[{"to":{"name":"example.com"}}]}"#,
        "`allow[0]`: `example.com` is open already, as everything is that nothing denies; close the base, or leave \
         the line out",
    );
    warned(
        r#"{"hosts":[{"host":"example.com","transform":{"headers":{"a":"b"}}}]}"#,
        "`hosts[example.com]`: nothing allows this host; allow the host, too: a rule grants no access by itself",
    );
    assert!(found(r#"{"allow":[{"to":{"name":"a.com"},"ports":[1]},{"to":{"name":"a.com"}}]}"#).is_empty());
}

#[test]
fn counts_and_lengths_have_ceilings() {
    let rule = |at: usize| format!(r#"{{"host":"h{at}.example.com","transform":{{"headers":{{"a":"b"}}}}}}"#);
    let rules = |count: usize| {
        format!(r#"{{"base":"open","hosts":[{}]}}"#, (0..count).map(rule).collect::<Vec<_>>().join(","))
    };
    assert!(found(&rules(10)).is_empty());
    refused(&rules(11), "`hosts`: 11 hosts with a rule, at most 10; leave out 1");

    let headers = |count: usize| (0..count).map(|at| format!(r#""h{at}":"v""#)).collect::<Vec<_>>().join(",");
    let host = |headers: &str| {
        format!(r#"{{"base":"open","hosts":[{{"host":"a.com","transform":{{"headers":{{{headers}}}}}}}]}}"#)
    };
    assert!(found(&host(&headers(20))).is_empty());
    refused(&host(&headers(21)), "`hosts[a.com]`: 21 headers, at most 20; leave out 1");
    let named = |length: usize| host(&format!(r#""{}":"v""#, "n".repeat(length)));
    assert!(found(&named(64)).is_empty());
    assert!(found(&named(65))[0].ends_with("has 65 bytes, at most 64; shorten it"));
    let valued = |length: usize| host(&format!(r#""n":"{}""#, "v".repeat(length)));
    assert!(found(&valued(2_048)).is_empty());
    refused(
        &valued(2_049),
        "`hosts[a.com]`: the value of header `n` has 2049 bytes, at most 2048; shorten it",
    );
    let long = format!("{}.com", vec!["l".repeat(62); 2].join("."));
    let rule =
        format!(r#"{{"base":"open","hosts":[{{"host":"{long}","transform":{{"headers":{{"a":"b"}}}}}}]}}"#);
    assert!(found(&rule)[0].ends_with("the host has 129 bytes, at most 128; shorten it"));

    let servers = |count: usize| format!(r#"{{"dns_servers":[{}]}}"#, vec![r#""9.9.9.9""#; count].join(","));
    assert!(found(&servers(10)).is_empty());
    refused(&servers(11), "`dns_servers`: 11 name servers, at most 10; leave out 1");
    let denied = |count: usize| {
        let all: Vec<_> = (0..count).map(|at| format!(r#""8.8.{}.{}""#, at / 256, at % 256)).collect();
        format!(r#"{{"base":"open","deny":[{}]}}"#, all.join(","))
    };
    assert!(found(&denied(1_000)).is_empty());
    refused(&denied(1_001), "`deny`: 1001 lines, at most 1000; leave out 1");
    let allowed = |count: usize| {
        let all: Vec<_> = (0..count).map(|at| format!(r#"{{"to":{{"name":"h{at}.a.com"}}}}"#)).collect();
        format!(r#"{{"allow":[{}]}}"#, all.join(","))
    };
    assert!(found(&allowed(1_000)).is_empty());
    refused(&allowed(1_001), "`allow`: 1001 lines, at most 1000; leave out 1");
    let ports = |count: usize| {
        format!(r#"{{"allow":[{{"to":{{"name":"a.com"}},"ports":{:?}}}]}}"#, (1..=count).collect::<Vec<_>>())
    };
    assert!(found(&ports(100)).is_empty());
    refused(&ports(101), "`allow[0]`: 101 ports, at most 100; leave out 1");
    refused(
        r#"{"allow":[{"to":{"name":"a.com"},"ports":[0]}]}"#,
        "`allow[0]`: port 0 is no port; list the ports, or none for all",
    );
}

#[test]
fn request_rules_have_ceilings() {
    let host = |requests: &str| {
        format!(
            r#"{{"allow":[{{"to":{{"name":"a.com"}}}}],"hosts":[{{"host":"a.com","requests":[{requests}]}}]}}"#
        )
    };
    let many = |count: usize| {
        host(&(0..count).map(|at| format!(r#"{{"path":"/{at}"}}"#)).collect::<Vec<_>>().join(","))
    };
    assert!(found(&many(100)).is_empty());
    refused(&many(101), "`hosts[a.com]`: 101 request rules, at most 100; leave out 1");
    let methods = |count: usize| host(&format!(r#"{{"path":"/","methods":{:?}}}"#, vec!["GET"; count]));
    assert!(found(&methods(20)).is_empty());
    refused(&methods(21), "`hosts[a.com]`: 21 methods of one request rule, at most 20; leave out 1");
    let path = |length: usize| host(&format!(r#"{{"path":"/{}"}}"#, "p".repeat(length - 1)));
    assert!(found(&path(1_024)).is_empty());
    refused(&path(1_025), "`hosts[a.com]`: a path has 1025 bytes, at most 1024; shorten it");
    for bad in ["", "a", "/a//b", "/a/../b", "/a?b", "/a#b", "/%2f", "*"] {
        let found = found(&host(&format!(r#"{{"path":"{bad}"}}"#)));
        assert!(found[0].contains("is no path, or can be read in two ways; begin with `/`"), "{found:?}");
    }
    warned(
        &host(r#"{"path":"/a"},{"path":"/a/b","methods":["GET"]}"#),
        "`hosts[a.com]`: request rule 1 is covered by request rule 0; leave it out",
    );
    assert!(found(&host(r#"{"path":"/","methods":["get"]}"#))[0].contains("has small letters"));
    assert!(found(&host(r#"{"path":"/","methods":["G T"]}"#))[0].contains("`G T` is no method"));
}

#[test]
fn headers_that_cannot_be_sent_or_move_the_end_of_a_request_are_refused() {
    for (name, value, part) in [
        ("a b", "v", "`a b` is no name of a header"),
        ("a:b", "v", "is no name"),
        ("", "v", "is no name"),
        ("a\r\nb", "v", "`a\\r\\nb` is no name"),
        ("Host", "v", "header `Host` belongs to the connection"),
        ("content-length", "v", "belongs to the connection"),
        ("Transfer-Encoding", "v", "belongs to the connection"),
        ("n", "a\r\nb: c", "the value of header `n` holds a control character"),
        ("n", "a\0", "holds a control character"),
        ("n", "a\u{7f}", "holds a control character"),
    ] {
        let mut policy = policy(r#"{"base":"open","hosts":[{"host":"a.com"}]}"#);
        policy.hosts[0].transform.headers.insert(name.to_owned(), value.to_owned());
        let errors = validate(&policy).expect_err(name);
        let text = errors[0].to_string();
        assert!(text.contains(part), "{text}");
        assert!(
            !text.contains(&value.escape_debug().to_string()) || value == "v",
            "values are secret: {text}"
        );
    }
    let twice = r#"{"base":"open","hosts":[{"host":"a.com","transform":{"headers":{"X-A":"1","x-a":"2"}}}]}"#;
    assert!(found(twice)[0].contains("set twice"));
    let two = r#"{"base":"open","hosts":[{"host":"a.com","transform":{"headers":{"a":"b"}}},
        {"host":"A.com.","transform":{"headers":{"a":"b"}}}]}"#;
    refused(two, "`hosts[a.com]`: this host has two rules; make them one");
}

#[test]
fn proxies_are_named_by_host_and_port() {
    for address in ["proxy.example:1080", "192.0.2.7:1080", "[2001:db8::7]:1080"] {
        assert!(found(&format!(r#"{{"proxy":{{"address":"{address}"}}}}"#)).is_empty(), "{address}");
    }
    for address in [
        "",
        "proxy.example",
        "proxy.example:0",
        "proxy.example:70000",
        "2001:db8::7:1080",
        "a b:1",
        "127.1:80",
        "socks5://a:1",
        "a:+1",
    ] {
        let found = found(&format!(r#"{{"proxy":{{"address":"{address}"}}}}"#));
        assert!(
            found[0].contains("is no address of a proxy; write `proxy.example:1080`"),
            "{address}: {found:?}"
        );
    }
    let word = "w".repeat(256);
    let found = found(&format!(r#"{{"proxy":{{"address":"a.com:1","username":"u","password":"{word}"}}}}"#));
    assert_eq!(found, ["`proxy`: the password has 256 bytes, at most 255; shorten it"]);
    refused(
        r#"{"proxy":{"address":"a.com:1","password":"p"}}"#,
        "`proxy`: a password without a user name; give both or neither",
    );
    let ca =
        format!(r#"{{"proxy":{{"address":"a.com:1","tls":{{"ca":"{}"}}}}}}"#, "c".repeat((64 << 10) + 1));
    assert!(self::found(&ca)[0].contains("the CA certificate has 65537 bytes, at most 65536"));
    assert!(
        self::found(r#"{"proxy":{"address":"a.com:1","tls":{"ca":"x","server_name":"a b"}}}"#).len() == 2
    );
}

#[test]
fn limited_requests_with_an_open_base_are_warned_of() {
    let found = found(r#"{"base":"open","hosts":[{"host":"a.com","requests":[{"path":"/"}]}]}"#);
    assert!(
        found[0].contains("only connections with a name that was looked up are let through"),
        "{found:?}"
    );
}

#[test]
fn a_profile_is_a_bound_and_nothing_else() {
    let check = |json: &str| -> Vec<String> {
        let ceiling: Ceiling = serde_json::from_str(json).expect(json);
        let all = validate_ceiling(&ceiling).unwrap_or_else(|errors| errors);
        all.iter().map(ToString::to_string).collect()
    };
    assert!(check("{}").is_empty());
    assert!(check(r#"{"open":["10.1.2.0/24","fd00::/64","169.254.169.254"]}"#).is_empty());
    let profile =
        check(r#"{"policy":{"profile":"a","dns_servers":["9.9.9.9"],"proxy":{"address":"a.com:1"}}}"#);
    assert_eq!(profile.len(), 3, "{profile:?}");
    assert!(check(r#"{"open":["0.0.0.0/0"]}"#)[0].contains("opens the server itself"));
    assert!(check(r#"{"open":["8.8.8.8"]}"#)[0].contains("is closed by nothing"));
    assert!(check(r#"{"open":["169.254.0.0/16"]}"#)[0].contains("which stays closed"));
    assert!(
        check(r#"{"policy":{"log_only":true}}"#)[0].starts_with("`log_only`: this profile forbids nothing")
    );
}
