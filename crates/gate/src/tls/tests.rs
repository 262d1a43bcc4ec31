//! A program inside, the gate, and a host with an authority of its own: all over pipes in memory.

mod world;

use std::sync::Arc;

use hood_policy::{HostRule, HttpRule, Policy, Protocol, Transform};
use http::{Method, Request, StatusCode, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use world::{HOST, SECRET, World, get, rule};

#[tokio::test]
async fn a_secret_goes_to_the_host_and_is_never_seen_inside() {
    for alpn in ["h2", "http/1.1"] {
        let world = World::new(rule("Bearer ${e2b.secrets.token}"));
        let mut client = world.tls(&[alpn], HOST).await.expect("a handshake");
        let answer = client.send(get("/echo")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let version = if alpn == "h2" { Version::HTTP_2 } else { Version::HTTP_11 };
        assert_eq!((answer.version, world.upstream().version), (version, version));
        let sent = world.upstream();
        assert_eq!(sent.headers["authorization"], format!("Bearer {SECRET}"));
        assert_eq!(sent.headers["accept-encoding"], "identity");
        let blot = "*".repeat(SECRET.len());
        assert!(answer.text.contains(&format!("authorization: Bearer {blot}")), "{}", answer.text);
        assert_eq!(answer.headers["x-echo"], format!("Bearer {blot}"));
        assert!(!format!("{answer:?}").contains(SECRET));
    }
}

#[tokio::test]
async fn several_requests_share_a_connection_and_a_body_streams_both_ways() {
    for alpn in ["h2", "http/1.1"] {
        let world = World::new(rule("plain"));
        let mut client = world.tls(&[alpn], HOST).await.expect("a handshake");
        for n in 0..3 {
            let body = format!("{n}").repeat(200_000);
            let request = Request::post(format!("https://{HOST}/upload?n={n}"));
            let answer = client.send_with(request, &body).await;
            assert!(answer.text.ends_with(&body), "{alpn} {n}");
            assert_eq!(world.upstream().target, format!("/upload?n={n}"));
        }
        assert_eq!(world.dials(), 1);
    }
}

#[tokio::test]
async fn an_answer_comes_piece_by_piece() {
    let world = World::new(rule("Bearer ${e2b.secrets.token}"));
    let mut client = world.tls(&["http/1.1"], HOST).await.expect("a handshake");
    // The host sends one event and then waits for the test.
    let mut body = client.open(get("/events")).await;
    assert_eq!(body.next_text().await, "data: 1\n\n");
    world.go_on();
    assert_eq!(body.next_text().await, "data: 2\n\n");
}

#[tokio::test]
async fn requests_for_another_host_are_refused() {
    for (alpn, claim) in [("http/1.1", "other.test"), ("h2", "other.test"), ("http/1.1", "api.test:80")] {
        let world = World::new(rule("Bearer ${e2b.secrets.token}"));
        let mut client = world.tls(&[alpn], HOST).await.expect("a handshake");
        let answer = client.send(Request::get(format!("https://{claim}/"))).await;
        assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST, "{}", answer.text);
        assert!(answer.text.contains("opened to `api.test`"), "{}", answer.text);
        assert_eq!(world.requests(), 0);
    }
}

#[tokio::test]
async fn a_handshake_for_another_name_than_was_decided_on_is_refused() {
    let world = World::new(rule("plain"));
    assert!(world.tls(&["http/1.1"], "other.test").await.is_err());
    assert_eq!(world.dials(), 0);
}

#[tokio::test]
async fn two_hosts_or_none_are_refused() {
    for head in [
        "GET / HTTP/1.1\r\nHost: api.test\r\nHost: api.test\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET http://other.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
        "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test\r\n\r\n",
    ] {
        let world = World::new(rule("plain"));
        let mut raw = world.raw(HOST).await.expect("a handshake");
        raw.write_all(head.as_bytes()).await.unwrap();
        let mut text = [0; 12];
        raw.read_exact(&mut text).await.unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(text.ends_with("421") || text.ends_with("403"), "{head:?}: {text}");
        assert_eq!(world.requests(), 0, "{head:?}");
    }
}

#[tokio::test]
async fn rules_say_which_requests_go_on() {
    let requests = vec![HttpRule { methods: vec!["GET".to_owned()], path: "/repos".to_owned() }];
    let policy = Policy {
        hosts: vec![HostRule { host: HOST.parse().unwrap(), transform: Transform::default(), requests }],
        ..Policy::default()
    };
    let world = World::new(policy.clone());
    let mut client = world.tls(&["http/1.1"], HOST).await.expect("a handshake");
    assert_eq!(client.send(get("/repos/1")).await.status, StatusCode::OK);
    for (method, path) in
        [(Method::POST, "/repos/1"), (Method::GET, "/reposx"), (Method::GET, "/repos/../admin")]
    {
        let mut client = world.tls(&["http/1.1"], HOST).await.expect("a handshake");
        let answer =
            client.send(Request::builder().method(&method).uri(format!("https://{HOST}{path}"))).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{method} {path}: {}", answer.text);
        assert!(answer.text.contains("rules for `api.test` do not allow"), "{}", answer.text);
    }
    assert_eq!(world.requests(), 1);
    assert!(world.seen().iter().any(|line| line == "POST /repos/1 refused"), "{:?}", world.seen());
    // The policy of the moment counts, on connections that are open already.
    let mut client = world.tls(&["http/1.1"], HOST).await.expect("a handshake");
    world.replace(Policy { log_only: true, ..policy });
    assert_eq!(client.send(Request::post(format!("https://{HOST}/x"))).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_host_with_a_certificate_of_nobody_we_trust_gets_nothing() {
    for untrusted in [World::of_unknown_authority(), World::with_certificate_for("other.test")] {
        let mut client = untrusted.tls(&["http/1.1"], HOST).await.expect("a page needs a handshake");
        let answer = client.send(get("/")).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
        assert!(
            answer.text.contains("`api.test` cannot be reached") && answer.text.contains("certificate"),
            "{}",
            answer.text
        );
        assert_eq!(untrusted.requests(), 0);
    }
}

#[tokio::test]
async fn an_unknown_secret_is_named_and_nothing_is_sent() {
    let world = World::new(rule("Bearer ${e2b.secrets.missing}"));
    let mut client = world.tls(&["h2"], HOST).await.expect("a handshake");
    let answer = client.send(get("/")).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert!(answer.text.contains("no secret `missing`"), "{}", answer.text);
    assert_eq!(world.requests(), 0);
}

#[tokio::test]
async fn plain_http_is_changed_too_but_gets_no_secrets() {
    let world = World::new(rule("plain"));
    let mut client = world.http().await;
    let answer = client.send(get("/echo")).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(world.upstream().headers["authorization"], "plain");
    let world = World::new(rule("${e2b.secrets.token}"));
    let answer = world.http().await.send(get("/echo")).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert!(answer.text.contains("over https only"), "{}", answer.text);
    assert_eq!(world.requests(), 0);
}

#[tokio::test]
async fn a_websocket_passes_after_its_head() {
    for protocol in [Protocol::Tls, Protocol::Http] {
        let world = World::new(rule("Bearer hello"));
        let mut raw = match protocol {
            Protocol::Tls => world.raw(HOST).await.expect("a handshake"),
            _ => world.raw_http(),
        };
        raw.write_all(
            b"GET /ws HTTP/1.1\r\nHost: api.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n",
        )
        .await
        .unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(raw.read_u8().await.expect("an answer"));
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        assert_eq!(world.upstream().headers["authorization"], "Bearer hello");
        raw.write_all(b"ping").await.unwrap();
        let mut back = [0; 4];
        raw.read_exact(&mut back).await.unwrap();
        assert_eq!(&back, b"ping");
        raw.shutdown().await.unwrap();
        let mut rest = Vec::new();
        raw.read_to_end(&mut rest).await.ok();
        assert_eq!(rest, b"");
    }
}

#[tokio::test]
async fn another_upgrade_is_not_passed_on() {
    let world = World::new(rule("plain"));
    let mut raw = world.raw(HOST).await.expect("a handshake");
    raw.write_all(b"GET / HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n").await.unwrap();
    let mut text = [0; 12];
    raw.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"HTTP/1.1 200");
    let sent = world.upstream();
    assert!(!sent.headers.contains_key("upgrade") && !sent.headers.contains_key("http2-settings"));
}

#[tokio::test]
async fn dropping_a_connection_ends_the_hosts_side() {
    let world = World::new(rule("plain"));
    let client = world.tls(&["h2"], HOST).await.expect("a handshake");
    let upstream_ended = world.upstream_ended();
    drop(client);
    world.stop_gate();
    tokio::time::timeout(std::time::Duration::from_secs(5), upstream_ended.notified())
        .await
        .expect("it ends");
    drop(Arc::new(world));
}
