//! The service as a client sees it, over its routes.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::task::AbortOnDropHandle;
use tower::ServiceExt;

use crate::app::App;
use crate::connect::Frames;
use crate::testing::{Reaping, test_app};

// === a small client ===

async fn post(app: &App, method: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Response {
    let mut request = Request::post(format!("/process.Process/{method}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let router = super::routes().with_state(app.clone());
    router.oneshot(request.body(Body::from(body)).unwrap()).await.unwrap()
}

async fn call(app: &App, method: &str, message: Value) -> (StatusCode, Value) {
    let json = [("content-type", "application/json")];
    let response = post(app, method, &json, message.to_string().into_bytes()).await;
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap())
}

fn frames(messages: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        let text = message.to_string();
        bytes.push(0);
        bytes.extend_from_slice(&(text.len() as u32).to_be_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// A server stream being read.
struct Events {
    body: axum::body::BodyDataStream,
    frames: Frames,
}

impl Events {
    async fn open(app: &App, method: &str, limit_ms: u64, message: Value) -> Self {
        let limit = limit_ms.to_string();
        let headers = [("content-type", "application/connect+json"), ("connect-timeout-ms", limit.as_str())];
        let response = post(app, method, &headers, frames(&[message])).await;
        assert_eq!(response.status(), StatusCode::OK);
        Self { body: response.into_body().into_data_stream(), frames: Frames::default() }
    }

    /// The next event, or what is in the end frame.
    async fn next(&mut self) -> Result<Value, Value> {
        let waiting = async {
            loop {
                if let Some((flags, payload)) = self.frames.next().unwrap() {
                    let value: Value = serde_json::from_slice(&payload).unwrap();
                    return if flags == 0 { Ok(value["event"].clone()) } else { Err(value) };
                }
                self.frames.push(&self.body.next().await.expect("an end frame").unwrap());
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("an event in time")
    }

    async fn pid(&mut self) -> u64 {
        self.next().await.unwrap()["start"]["pid"].as_u64().expect("start comes first")
    }

    /// Everything up to the end frame.
    async fn finish(mut self) -> Seen {
        let mut seen = Seen::default();
        loop {
            match self.next().await {
                Ok(event) if event["end"].is_object() => seen.end = event["end"].clone(),
                Ok(event) => {
                    for (name, text) in event["data"].as_object().expect("data") {
                        let bytes = STANDARD.decode(text.as_str().unwrap()).unwrap();
                        seen.pieces.push(bytes.len());
                        if name == "stderr" { &mut seen.err } else { &mut seen.out }.extend(bytes);
                    }
                }
                Err(frame) => {
                    seen.frame = frame;
                    return seen;
                }
            }
        }
    }
}

#[derive(Default, Debug)]
struct Seen {
    out: Vec<u8>,
    err: Vec<u8>,
    pieces: Vec<usize>,
    end: Value,
    frame: Value,
}

impl Seen {
    fn out(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }
}

fn shell(script: &str) -> Value {
    json!({"process": {"cmd": "/bin/sh", "args": ["-c", script]}, "stdin": false})
}

async fn run(app: &App, message: Value) -> Seen {
    let mut events = Events::open(app, "Start", 0, message).await;
    events.pid().await;
    events.finish().await
}

fn by_pid(pid: u64) -> Value {
    json!({"process": {"pid": pid}})
}

fn alive(pid: &str) -> bool {
    // A zombie that nobody has reaped yet is dead.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < Duration::from_secs(10), "{what} did not come to hold");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn error(frame: &Value) -> &str {
    frame["error"]["code"].as_str().unwrap_or_default()
}

// === start and end ===

#[tokio::test]
async fn a_command_prints_and_ends() {
    let guest = Reaping::new().await;
    let seen = run(&guest.app, shell("echo out; echo err >&2; exit 3")).await;
    assert_eq!((seen.out.as_slice(), seen.err.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    let expected =
        json!({"exitCode": 3, "exited": true, "status": "exit status 3", "error": "exit status 3"});
    assert_eq!((seen.end, seen.frame), (expected, json!({})));
}

#[tokio::test]
async fn environment_and_directory_are_the_requests() {
    let guest = Reaping::new().await;
    let mut message = shell("echo $A $E2B_SANDBOX $PWD");
    message["process"]["envs"] = json!({"A": "ü x"});
    message["process"]["cwd"] = json!("/");
    assert_eq!(run(&guest.app, message).await.out(), "ü x true /\n");
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let guest = Reaping::new().await;
    let mut message = shell("true");
    message["process"]["cwd"] = json!("/nowhere");
    let mut events = Events::open(&guest.app, "Start", 0, message).await;
    let expected = json!({"code": "invalid_argument", "message": "cwd '/nowhere' does not exist"});
    assert_eq!(events.next().await, Err(json!({ "error": expected })));
    let missing = json!({"process": {"cmd": "no-such-program"}});
    let mut events = Events::open(&guest.app, "Start", 0, missing).await;
    assert_eq!(error(&events.next().await.unwrap_err()), "not_found");
    let mut events = Events::open(&guest.app, "Start", 0, json!({})).await;
    assert_eq!(error(&events.next().await.unwrap_err()), "invalid_argument");
}

#[tokio::test]
async fn a_background_child_that_holds_the_pipe_does_not_hold_the_command() {
    let guest = Reaping::new().await;
    let start = Instant::now();
    // The child prints after the end too, and must not die of it.
    let seen = run(&guest.app, shell("(sleep 1; echo late; echo late; exec sleep 60) & echo $!")).await;
    assert!(start.elapsed() < Duration::from_millis(900), "took {:?}", start.elapsed());
    assert_eq!(seen.end["exitCode"], 0);
    let child = seen.out().trim().to_owned();
    tokio::time::sleep(Duration::from_millis(1300)).await;
    assert!(alive(&child), "it was ended by its own output");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

#[tokio::test]
async fn a_child_that_floods_the_pipe_does_not_hold_the_command() {
    let guest = Reaping::new().await;
    let start = Instant::now();
    let seen = run(&guest.app, shell("yes & echo $! >&2; sleep 0.05")).await;
    assert!(start.elapsed() < Duration::from_secs(2), "took {:?}", start.elapsed());
    assert_eq!(seen.end["exitCode"], 0);
    let pid = std::str::from_utf8(&seen.err).unwrap().trim().parse().unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

#[tokio::test]
async fn a_timeout_kills_the_whole_group() {
    let guest = Reaping::new().await;
    let script = shell("sleep 60 & echo $!; sleep 60");
    let mut events = Events::open(&guest.app, "Start", 300, script).await;
    let pid = events.pid().await.to_string();
    let start = Instant::now();
    let seen = events.finish().await;
    assert!(start.elapsed() < Duration::from_secs(2), "took {:?}", start.elapsed());
    assert_eq!(error(&seen.frame), "deadline_exceeded");
    assert_eq!(seen.end, Value::Null);
    let child = seen.out().trim().to_owned();
    until("both are gone", async || !alive(&pid) && !alive(&child)).await;
}

// === output ===

#[tokio::test]
async fn a_character_is_never_cut() {
    let guest = Reaping::new().await;
    let seen = run(&guest.app, shell(r"printf 'a\342'; sleep 0.1; printf '\202\254'; printf '\342'")).await;
    assert_eq!(seen.out, b"a\xE2\x82\xAC\xE2");
    let mut end = 0;
    for piece in seen.pieces {
        end += piece;
        // The last byte is the start of a character that never came.
        assert!([1, 4, 5].contains(&end), "cut at {end}");
    }
}

#[tokio::test]
async fn many_small_writes_become_few_events() {
    let guest = Reaping::new().await;
    let seen = run(&guest.app, shell("dd if=/dev/zero bs=1 count=100000 2>/dev/null")).await;
    assert_eq!(seen.out.len(), 100_000);
    assert!(seen.pieces.len() < 500, "{} events", seen.pieces.len());
}

#[tokio::test]
async fn much_output_costs_little_memory_and_a_slow_client_loses_nothing() {
    const BYTES: usize = 50_000_000;
    fn resident() -> usize {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }
    let guest = Reaping::new().await;
    let script = shell(&format!("head -c {BYTES} /dev/zero"));
    let mut events = Events::open(&guest.app, "Start", 0, script).await;
    events.pid().await;
    let before = resident();
    // A client that takes its time: the program is held up, nothing is piled up.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 << 20, "grew by {grown} bytes while nobody read");
    let (mut bytes, mut peak) = (0, 0);
    while let Ok(event) = events.next().await {
        if let Some(text) = event["data"]["stdout"].as_str() {
            let piece = STANDARD.decode(text).unwrap().len();
            assert!(piece <= crate::limits::PIPE_PIECE);
            bytes += piece;
            peak = peak.max(resident().saturating_sub(before));
        }
    }
    assert_eq!(bytes, BYTES);
    assert!(peak < 24 << 20, "grew by {peak} bytes while it was read");
}

#[tokio::test]
async fn without_a_client_a_process_goes_on_and_its_end_is_kept() {
    let guest = Reaping::new().await;
    let mut events = Events::open(&guest.app, "Start", 0, shell("yes | head -c 1000000; exit 5")).await;
    let pid = events.pid().await;
    drop(events);
    until("the process has ended", async || {
        call(&guest.app, "List", json!({})).await.1["processes"] == json!([])
    })
    .await;
    let mut events = Events::open(&guest.app, "Connect", 0, by_pid(pid)).await;
    assert_eq!(events.pid().await, pid);
    assert_eq!(events.finish().await.end["exitCode"], 5);
    // Nothing but its end is left of it.
    let (status, error) = call(&guest.app, "SendSignal", json!({"process": {"pid": pid}, "signal": 9})).await;
    assert_eq!((status, &error["code"]), (StatusCode::NOT_FOUND, &json!("not_found")));
}

#[tokio::test]
async fn two_clients_see_the_same() {
    let guest = Reaping::new().await;
    let mut message = shell("read line; echo $line");
    message["stdin"] = json!(true);
    message["tag"] = json!("twin");
    let mut first = Events::open(&guest.app, "Start", 0, message).await;
    let pid = first.pid().await;
    let mut second = Events::open(&guest.app, "Connect", 0, json!({"process": {"tag": "twin"}})).await;
    assert_eq!(second.pid().await, pid);
    let input = json!({"process": {"pid": pid}, "input": {"stdin": STANDARD.encode("hello\n")}});
    assert_eq!(call(&guest.app, "SendInput", input).await, (StatusCode::OK, json!({})));
    let (first, second) = tokio::join!(first.finish(), second.finish());
    assert_eq!((first.out(), second.out()), ("hello\n", "hello\n"));
    assert_eq!(first.end, second.end);
}

#[tokio::test]
async fn a_client_that_stops_reading_and_then_leaves_frees_the_process() {
    let guest = Reaping::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = super::routes().with_state(guest.app.clone());
    let server =
        AbortOnDropHandle::new(tokio::task::spawn(async move { axum::serve(listener, router).await }));
    let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
    let mut message = shell("exec yes");
    message["tag"] = json!("yes");
    let body = frames(&[message]);
    let head =
        format!("POST /process.Process/Start HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    client.write_all(head.as_bytes()).await.unwrap();
    client.write_all(&body).await.unwrap();
    until("output has begun", async || client.read_u8().await.is_ok()).await;
    // Every buffer on the way fills up, and `yes` is held up.
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(client);
    let start = Instant::now();
    let mut events = Events::open(&guest.app, "Connect", 0, json!({"process": {"tag": "yes"}})).await;
    let pid = events.pid().await;
    assert!(events.next().await.unwrap()["data"].is_object());
    assert!(start.elapsed() < crate::limits::READER_PATIENCE, "took {:?}", start.elapsed());
    drop(events);
    let kill = json!({"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"});
    assert_eq!(call(&guest.app, "SendSignal", kill).await.0, StatusCode::OK);
    drop(server);
}

#[tokio::test]
async fn a_long_answer_is_whole_for_a_client_that_ends_its_request_late() {
    let guest = Reaping::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = super::routes().with_state(guest.app.clone());
    let _server =
        AbortOnDropHandle::new(tokio::task::spawn(async move { axum::serve(listener, router).await }));
    let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
    let body = frames(&[shell("head -c 200000 /dev/zero | tr '\\0' x")]);
    let head = "POST /process.Process/Start HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    client.write_all(format!("{head}{:x}\r\n", body.len()).as_bytes()).await.unwrap();
    client.write_all(&body).await.unwrap();
    // Meanwhile the answer ends, for the most part in the kernel's buffers.
    tokio::time::sleep(Duration::from_millis(500)).await;
    client.write_all(b"\r\n0\r\n\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    assert!(answer.ends_with(b"0\r\n\r\n"), "{} bytes, without an end", answer.len());
    assert!(answer.len() > 200_000 * 4 / 3);
}

// === input ===

#[tokio::test]
async fn input_reaches_a_process_until_it_is_closed() {
    let guest = Reaping::new().await;
    let cat = json!({"process": {"cmd": "cat"}});
    let mut events = Events::open(&guest.app, "Start", 0, cat).await;
    let pid = events.pid().await;
    for text in ["", "!@#$%^&*()_+\n", "ünï"] {
        let input = json!({"process": {"pid": pid}, "input": {"stdin": STANDARD.encode(text)}});
        assert_eq!(call(&guest.app, "SendInput", input).await.0, StatusCode::OK);
    }
    for _ in 0..2 {
        assert_eq!(call(&guest.app, "CloseStdin", by_pid(pid)).await.0, StatusCode::OK);
    }
    let seen = events.finish().await;
    assert_eq!((seen.out(), &seen.end["exitCode"]), ("!@#$%^&*()_+\nünï", &json!(0)));
}

#[tokio::test]
async fn input_may_come_as_a_stream() {
    let guest = Reaping::new().await;
    let mut events =
        Events::open(&guest.app, "Start", 0, json!({"process": {"cmd": "wc", "args": ["-c"]}})).await;
    let pid = events.pid().await;
    let piece = json!({"data": {"input": {"stdin": STANDARD.encode(vec![b'x'; 300_000])}}});
    let messages = [json!({"start": by_pid(pid)}), piece.clone(), json!({"keepalive": {}}), piece];
    let headers = [("content-type", "application/connect+json")];
    let response = post(&guest.app, "StreamInput", &headers, frames(&messages)).await;
    assert_eq!(response.headers()["content-type"], "application/connect+json");
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(bytes, &b"\0\0\0\0\x02{}\x02\0\0\0\x02{}"[..]);
    assert_eq!(call(&guest.app, "CloseStdin", by_pid(pid)).await.0, StatusCode::OK);
    assert_eq!(events.finish().await.out(), "600000\n");
}

#[tokio::test]
async fn input_that_cannot_arrive_is_an_error() {
    let guest = Reaping::new().await;
    assert_eq!(run(&guest.app, shell("cat; echo done")).await.out(), "done\n");
    let mut events = Events::open(&guest.app, "Start", 0, shell("exec sleep 60")).await;
    let pid = events.pid().await;
    let input = json!({"process": {"pid": pid}, "input": {"stdin": "eA=="}});
    let (status, error) = call(&guest.app, "SendInput", input).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(error["message"].as_str().unwrap().starts_with("error writing to stdin: "), "{error}");
    let (status, _) = call(&guest.app, "SendSignal", json!({"process": {"pid": pid}, "signal": 9})).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn a_process_that_does_not_read_costs_its_caller_only_time() {
    let guest = Reaping::new().await;
    let sleep = json!({"process": {"cmd": "sleep", "args": ["60"]}});
    let mut events = Events::open(&guest.app, "Start", 0, sleep).await;
    let pid = events.pid().await;
    let input = json!({"process": {"pid": pid}, "input": {"stdin": STANDARD.encode(vec![0; 1_000_000])}});
    let headers = [("content-type", "application/json"), ("connect-timeout-ms", "200")];
    let response = post(&guest.app, "SendInput", &headers, input.to_string().into_bytes()).await;
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(
        call(&guest.app, "SendSignal", json!({"process": {"pid": pid}, "signal": 9})).await.0,
        StatusCode::OK
    );
}

// === terminals ===

#[tokio::test]
async fn a_terminal_echoes_and_is_resized() {
    let guest = Reaping::new().await;
    let message = json!({
        "process": {"cmd": "/bin/sh", "args": ["-c", "read x; stty size; read y; stty size"]},
        "pty": {"size": {"cols": 80, "rows": 24}},
    });
    let mut events = Events::open(&guest.app, "Start", 0, message).await;
    let pid = events.pid().await;
    let enter = json!({"process": {"pid": pid}, "input": {"pty": STANDARD.encode("hi\n")}});
    assert_eq!(call(&guest.app, "SendInput", enter.clone()).await.0, StatusCode::OK);
    let mut out = Vec::new();
    while !String::from_utf8_lossy(&out).contains("24 80") {
        let event = events.next().await.unwrap();
        out.extend(STANDARD.decode(event["data"]["pty"].as_str().unwrap()).unwrap());
    }
    assert!(String::from_utf8_lossy(&out).starts_with("hi\r\n"), "it is echoed");
    let size = json!({"process": {"pid": pid}, "pty": {"size": {"cols": 100, "rows": 40}}});
    assert_eq!(call(&guest.app, "Update", size).await.0, StatusCode::OK);
    let (status, error) = call(&guest.app, "CloseStdin", by_pid(pid)).await;
    assert_eq!((status, &error["code"]), (StatusCode::BAD_REQUEST, &json!("failed_precondition")));
    assert_eq!(call(&guest.app, "SendInput", enter).await.0, StatusCode::OK);
    let seen = events.finish().await;
    assert!(seen.out().contains("40 100"), "{seen:?}");
    assert_eq!(seen.end["exitCode"], 0);
}

// === names and signals ===

#[tokio::test]
async fn processes_are_listed_and_signalled() {
    let guest = Reaping::new().await;
    let mut message = shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done");
    message["tag"] = json!("t");
    let mut events = Events::open(&guest.app, "Start", 0, message.clone()).await;
    let pid = events.pid().await;
    let mut config = message["process"].clone();
    config["envs"] = json!({});
    let (_, list) = call(&guest.app, "List", json!({})).await;
    assert_eq!(list, json!({"processes": [{"config": config, "pid": pid, "tag": "t"}]}));
    events.next().await.unwrap();
    let term = json!({"process": {"tag": "t"}, "signal": "SIGNAL_SIGTERM"});
    assert_eq!(call(&guest.app, "SendSignal", term).await.0, StatusCode::OK);
    let seen = events.finish().await;
    assert_eq!((seen.out(), &seen.end["exitCode"]), ("bye\n", &json!(7)));

    let mut events = Events::open(&guest.app, "Start", 0, shell("sleep 60; true")).await;
    let pid = events.pid().await;
    let kill = json!({"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"});
    assert_eq!(call(&guest.app, "SendSignal", kill).await.0, StatusCode::OK);
    // Whoever killed it sees it gone.
    assert_eq!(call(&guest.app, "List", json!({})).await.1, json!({"processes": []}));
    let end = events.finish().await.end;
    let killed = "signal: killed";
    assert_eq!(end, json!({"exitCode": -1, "exited": false, "status": killed, "error": killed}));
}

#[tokio::test]
async fn what_is_not_there_or_not_meant_is_refused() {
    let app = test_app();
    let expected = json!({"code": "not_found", "message": "process with pid 999999 not found"});
    for method in ["SendSignal", "SendInput", "CloseStdin", "Update"] {
        let message = json!({"process": {"pid": 999_999}, "signal": "SIGNAL_SIGKILL"});
        assert_eq!(call(&app, method, message).await, (StatusCode::NOT_FOUND, expected.clone()), "{method}");
    }
    let mut events = Events::open(&app, "Connect", 0, by_pid(999_999)).await;
    assert_eq!(events.next().await, Err(json!({ "error": expected })));
    assert_eq!(call(&app, "SendSignal", json!({"signal": 1})).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(call(&app, "SendInput", json!({})).await.0, StatusCode::BAD_REQUEST);
    let proto = [("content-type", "application/proto")];
    let response = post(&app, "List", &proto, Vec::new()).await;
    assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
}
