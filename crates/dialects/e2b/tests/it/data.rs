//! The data path: what reaches a sandbox, what comes back, and how connections end.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hood_driver_api::SandboxId;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::support::{Bench, inside, knock, read_head, read_until};

/// Answers with the head of the request that it got.
async fn mirror(mut far: DuplexStream, head: String) {
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nX-Mine: 1\r\n\r\n{head}", head.len());
    far.write_all(answer.as_bytes()).await.expect("answered");
}

/// Sends one chunk of an endless answer and waits.
async fn half_an_answer(mut far: DuplexStream, _: String) {
    far.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello\n\r\n")
        .await
        .expect("begun");
    // Until the other side is gone.
    assert!(matches!(far.read_u8().await, Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof));
}

/// Sends one chunk and dies.
async fn dies(mut far: DuplexStream, _: String) {
    far.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello\n\r\n")
        .await
        .expect("begun");
}

#[tokio::test]
async fn a_request_goes_in_as_it_came() {
    let bench = Bench::new();
    let (id, token) = bench.create().await;
    bench.serve_inside(mirror);
    let request = inside(&id, 49983, Method::GET, "/health?a=b").header("x-access-token", &token);
    let answer = bench.send(request.body(Body::empty()).expect("a request")).await;
    assert_eq!((answer.status, &answer.headers["x-mine"]), (StatusCode::OK, &"1".parse().expect("a value")));
    let head = answer.text.to_lowercase();
    assert!(head.starts_with("get /health?a=b http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("x-access-token: {token}\r\n")), "{head}");
    assert!(head.contains("host: 127.0.0.1:7070\r\n"), "{head}");
}

#[tokio::test]
async fn control_paths_with_routing_headers_go_in_too() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    bench.serve_inside(mirror);
    let request = inside(&id, 8000, Method::GET, "/sandboxes").body(Body::empty()).expect("a request");
    assert!(bench.send(request).await.text.starts_with("GET /sandboxes HTTP/1.1"));
    let by_host = Request::get("/sandboxes").header("host", format!("8000-{id}.hood.test:8443"));
    let answer = bench.send(by_host.body(Body::empty()).expect("a request")).await;
    assert!(answer.text.starts_with("GET /sandboxes HTTP/1.1"), "{}", answer.text);
}

#[tokio::test]
async fn the_dead_are_told_apart_from_closed_ports() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    let ask = |id: String, port| {
        let request = inside(&id, port, Method::GET, "/health").body(Body::empty()).expect("a request");
        bench.send(request)
    };
    let closed = ask(id.clone(), 3000).await.expect(StatusCode::BAD_GATEWAY);
    let message = "The sandbox is running but port is not open";
    assert_eq!(closed, json!({"sandboxId": id, "message": message, "port": 3000, "code": 502}));

    let never = ask("nonexistingsandbox".to_owned(), 49983).await;
    assert_eq!(never.headers["should-retry"], "false");
    let message = "The sandbox was not found";
    let expected = json!({"sandboxId": "nonexistingsandbox", "message": message, "code": 502});
    assert_eq!(never.expect(StatusCode::BAD_GATEWAY), expected);

    bench.ask(Method::DELETE, &format!("/sandboxes/{id}"), "").await;
    let killed = ask(id.clone(), 49983).await.expect(StatusCode::BAD_GATEWAY);
    assert_eq!(killed, json!({"sandboxId": id, "message": message, "code": 502, "reason": "it was killed"}));

    let request =
        Request::get("/health").header("e2b-sandbox-id", &id).body(Body::empty()).expect("a request");
    bench.send(request).await.expect(StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_signed_url_finds_its_sandbox() {
    let bench = Bench::new();
    bench.create().await;
    let (id, token) = bench.create().await;
    bench.create().await;
    let signature = STANDARD_NO_PAD.encode(Sha256::digest(format!("a b.txt:read::{token}:1900000000")));
    let signature = signature.replace('+', "%2B").replace('/', "%2F");
    let uri = format!("/files?path=a%20b.txt&signature=v1_{signature}&signature_expiration=1900000000");
    bench.lab.driver.on_connect(move |to: &SandboxId, port, mut far| {
        assert_eq!((to.as_str(), port), (id.as_str(), 49983));
        tokio::spawn(async move {
            let head = read_head(&mut far).await;
            mirror(far, head).await;
        });
        Ok(())
    });
    let ask = |uri: &str| bench.send(Request::get(uri).body(Body::empty()).expect("a request"));
    let answer = ask(&uri).await;
    assert!(answer.text.starts_with(&format!("GET {uri} HTTP/1.1")), "{}", answer.text);
    ask("/files?path=x&signature=v1_no").await.expect(StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn private_traffic_needs_its_token() {
    let bench = Bench::new();
    bench.serve_inside(mirror);
    let body = r#"{"templateID":"base","network":{"allowPublicTraffic":false,"maskRequestHost":"localhost:${PORT}"}}"#;
    let made = bench.post("/v2/sandboxes", body).await.expect(StatusCode::CREATED);
    let text = |name: &str| made[name].as_str().expect("text").to_owned();
    let (id, token) = (text("sandboxID"), text("trafficAccessToken"));
    let ask = |port, token: &str| {
        let request = inside(&id, port, Method::GET, "/").header("e2b-traffic-access-token", token);
        bench.send(request.body(Body::empty()).expect("a request"))
    };
    ask(8000, "wrong").await.expect(StatusCode::FORBIDDEN);
    let inside = ask(8000, &token).await;
    assert_eq!(inside.status, StatusCode::OK);
    assert!(inside.text.contains("Host: localhost:8000") && !inside.text.contains(&token), "{}", inside.text);
    assert_eq!(ask(49983, "").await.status, StatusCode::OK, "envd has a token of its own");
}

#[tokio::test]
async fn a_kill_aborts_the_stream_after_the_sandbox_is_gone_for_all() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    bench.serve_inside(half_an_answer);
    let (address, _server) = bench.listen().await;
    let mut stream = knock(address, &id, "POST /execute HTTP/1.1").await;
    read_until(&mut stream, "hello\n\r\n").await;

    bench.lab.engine.kill(&bench.lab.team, &id).await.expect("killed");
    let mut rest = Vec::new();
    // A reset or a close are both fine, a last chunk is not.
    drop(stream.read_to_end(&mut rest).await);
    assert_eq!(String::from_utf8_lossy(&rest), "", "never a clean end");

    let mut probe = knock(address, &id, "GET /health HTTP/1.1").await;
    assert!(read_head(&mut probe).await.starts_with("HTTP/1.1 502"));
}

#[tokio::test]
async fn a_service_that_dies_does_not_end_its_answer_cleanly() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    bench.serve_inside(dies);
    let (address, _server) = bench.listen().await;
    let mut stream = knock(address, &id, "POST /execute HTTP/1.1").await;
    read_until(&mut stream, "hello\n\r\n").await;
    let mut rest = Vec::new();
    drop(stream.read_to_end(&mut rest).await);
    assert_eq!(String::from_utf8_lossy(&rest), "");
}

#[tokio::test]
async fn a_service_that_hangs_up_without_an_answer_is_named() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    bench.serve_inside(|_, _| async {});
    let request = inside(&id, 8000, Method::GET, "/").body(Body::empty()).expect("a request");
    let answer = bench.send(request).await.expect(StatusCode::BAD_GATEWAY);
    assert_eq!(answer["message"], "The sandbox is running but did not answer");
}

#[tokio::test]
async fn a_guest_that_dies_before_it_answers_is_gone() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    bench.lab.driver.open_all_ports();
    let request = inside(&id, 49983, Method::GET, "/").body(Body::empty()).expect("a request");
    let sandbox: SandboxId = id.parse().expect("an id");
    let (answer, ()) = tokio::join!(bench.send(request), bench.lab.driver.die(&sandbox, true));
    let answer = answer.expect(StatusCode::BAD_GATEWAY);
    assert_eq!(answer["message"], "The sandbox was not found");
    assert_eq!(answer["reason"], "it ran out of memory");
}

#[tokio::test]
async fn a_client_that_leaves_is_felt_inside_at_once() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    let (gone, felt) = tokio::sync::oneshot::channel();
    let gone = std::sync::Mutex::new(Some(gone));
    bench.lab.driver.on_connect(move |_, _, mut far| {
        let gone = gone.lock().expect("one test").take().expect("one connection");
        tokio::spawn(async move {
            let head = read_head(&mut far).await;
            half_an_answer(far, head).await;
            gone.send(()).expect("somebody waits");
        });
        Ok(())
    });
    let (address, _server) = bench.listen().await;
    let mut stream = knock(address, &id, "POST /execute HTTP/1.1").await;
    read_until(&mut stream, "hello\n\r\n").await;
    drop(stream);
    tokio::time::timeout(Duration::from_secs(5), felt).await.expect("at once").expect("felt");
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_is_felt_too() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    let (gone, mut felt) = tokio::sync::mpsc::channel(2);
    bench.lab.driver.on_connect(move |_, _, mut far| {
        let gone = gone.clone();
        tokio::spawn(async move {
            read_head(&mut far).await;
            gone.send(()).await.expect("somebody waits");
            assert!(far.read_u8().await.is_err());
            gone.send(()).await.expect("somebody waits");
        });
        Ok(())
    });
    let (address, _server) = bench.listen().await;
    let stream = knock(address, &id, "POST /execute HTTP/1.1").await;
    felt.recv().await.expect("arrived");
    drop(stream);
    tokio::time::timeout(Duration::from_secs(5), felt.recv()).await.expect("at once").expect("felt");
}

#[tokio::test]
async fn a_refused_upload_gets_its_answer() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    bench.serve_inside(|mut far, _| async move {
        let answer =
            "HTTP/1.1 507 x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nfu\r\n1\r\nl\r\n1\r\nl\r\n0\r\n\r\n";
        far.write_all(answer.as_bytes()).await.expect("answered");
    });
    let endless = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![0_u8; 64 << 10]));
    let request =
        inside(&id, 49983, Method::POST, "/files").body(Body::from_stream(endless)).expect("a request");
    let answer = bench.send(request).await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (507, "full"));
}

#[tokio::test]
async fn uploads_stream_without_a_ceiling() {
    const CHUNKS: usize = 512;
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    bench.serve_inside(|mut far, head| async move {
        assert!(head.to_lowercase().contains("transfer-encoding: chunked"), "{head}");
        let mut taken = 0_usize;
        loop {
            let size = read_until(&mut far, "\r\n").await;
            let size = usize::from_str_radix(size.trim(), 16).expect("a size");
            let mut chunk = vec![0; size + 2];
            far.read_exact(&mut chunk).await.expect("a chunk");
            taken += size;
            if size == 0 {
                break;
            }
        }
        let text = taken.to_string();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len());
        far.write_all(answer.as_bytes()).await.expect("answered");
    });
    let chunks = (0..CHUNKS).map(|_| Ok::<_, std::io::Error>(vec![0_u8; 64 << 10]));
    let body = Body::from_stream(futures_util::stream::iter(chunks));
    let request = inside(&id, 49983, Method::POST, "/files").body(body).expect("a request");
    assert_eq!(bench.send(request).await.text, (CHUNKS * (64 << 10)).to_string());
}

#[tokio::test]
async fn protocols_switch_and_a_kill_cuts_the_tunnel() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    bench.serve_inside(|mut far, head| async move {
        assert!(head.to_lowercase().contains("upgrade: websocket"), "{head}");
        let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        far.write_all(answer.as_bytes()).await.expect("switched");
        let mut byte = [0];
        while far.read_exact(&mut byte).await.is_ok() {
            far.write_all(&byte.map(|b| b.to_ascii_uppercase())).await.expect("echoed");
        }
    });
    let (address, _server) = bench.listen().await;
    let rest = "GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket";
    let mut stream = knock(address, &id, rest).await;
    let head = read_head(&mut stream).await.to_lowercase();
    assert!(head.starts_with("http/1.1 101") && head.contains("upgrade: websocket"), "{head}");
    stream.write_all(b"ping").await.expect("sent");
    assert_eq!(read_until(&mut stream, "G").await, "PING");

    bench.lab.engine.kill(&bench.lab.team, &id).await.expect("killed");
    let mut rest = Vec::new();
    drop(stream.read_to_end(&mut rest).await);
    assert!(rest.is_empty());
}

#[tokio::test]
async fn an_answer_that_comes_early_does_not_break_the_upload() {
    let bench = Bench::new();
    let (address, _server) = bench.listen().await;
    let rest = "POST /files?path=a HTTP/1.1\r\nContent-Length: 8000000";
    let mut stream = knock(address, "inobody0000000000000", rest).await;
    assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 502"));
    // More than the buffers between the two hold.
    for _ in 0..8 {
        stream.write_all(&vec![b'x'; 1_000_000]).await.expect("the whole upload is taken");
    }
    assert!(read_until(&mut stream, "}").await.contains("was not found"));
}
