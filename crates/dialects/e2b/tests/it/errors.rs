//! Bad requests: each answered in the protocol's shape, with the thing, the rule and the next step.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use hood_testkit::{Call, Fault};

use crate::support::{Answer, Bench, KEY};

#[track_caller]
fn says(answer: &Answer, status: StatusCode, part: &str) {
    let json = answer.expect(status);
    let message = json["message"].as_str().expect("a message");
    assert!(message.contains(part), "{message}");
}

#[tokio::test]
async fn keys_are_asked_for() {
    let bench = Bench::new();
    let request = |key: Option<&str>| {
        let request = Request::get("/v2/sandboxes");
        let request = if let Some(key) = key { request.header("x-api-key", key) } else { request };
        request.body(Body::empty()).expect("a request")
    };
    says(&bench.send(request(None)).await, StatusCode::UNAUTHORIZED, "no API key came with the request");
    says(&bench.send(request(Some("wrong"))).await, StatusCode::UNAUTHORIZED, "is not known here");
}

#[tokio::test]
async fn another_teams_sandbox_looks_like_none() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    let request = Request::get(format!("/sandboxes/{id}")).header("x-api-key", "other");
    let answer = bench.send(request.body(Body::empty()).expect("a request")).await;
    says(&answer, StatusCode::NOT_FOUND, &id);
}

#[tokio::test]
async fn bad_bodies_are_named() {
    let bench = Bench::new();
    for (body, part) in [
        ("{", "the request body is not JSON: EOF while parsing an object at line 1 column 1"),
        ("{\"templateID\":\n \"base\",}", "line 2 column"),
        ("", "missing field `templateID`"),
        (r#"{"templateID":7}"#, "invalid type: integer `7`, expected a string at line 1 column 15"),
        (r#"{"templateID":"base","timeout":"soon"}"#, "invalid type: string \"soon\", expected i64"),
        (r#"{"templateID":"base","timeout":0}"#, "`timeout` must be at least 1 s, not 0"),
        (r#"{"templateID":"base","timeout":99999999}"#, "`timeout` must be"),
        (r#"{"templateID":"base","hood":{"memory":1}}"#, "unknown field `memory`"),
        (r#"{"templateID":"base","hood":{"memoryMB":1}}"#, "`memory` must be"),
        (r#"{"templateID":"base","volumeMounts":[{"name":"v","path":"/v"}]}"#, "volume `v` not found"),
        (r#"{"templateID":"base","volumeMounts":[{"name":"v","path":"/proc"}]}"#, "lies in `/proc`"),
        (r#"{"templateID":"base","volumeMounts":[{"name":"v"}]}"#, "missing field `path`"),
        (r#"{"templateID":"base","iam":{"tokens":{"a":{}}}}"#, "`iam`"),
        (r#"{"templateID":"base","envVars":{"A=B":"1"}}"#, "`envs` must be"),
    ] {
        says(&bench.post("/v2/sandboxes", body).await, StatusCode::BAD_REQUEST, part);
    }
    let large = format!(r#"{{"templateID":"{}"}}"#, "x".repeat(2 << 20));
    says(
        &bench.post("/v2/sandboxes", &large).await,
        StatusCode::PAYLOAD_TOO_LARGE,
        "larger than 1048576 bytes",
    );
    assert_eq!(bench.lab.engine.counts().running, 0);
}

#[tokio::test]
async fn an_unknown_template_is_not_found() {
    let bench = Bench::new();
    let answer = bench.post("/v2/sandboxes", r#"{"templateID":"no-such"}"#).await;
    says(&answer, StatusCode::NOT_FOUND, "template `no-such` not found");
}

#[tokio::test]
async fn paths_and_methods_are_answered_in_shape() {
    let bench = Bench::new();
    says(&bench.get("/nowhere").await, StatusCode::NOT_FOUND, "there is no `/nowhere` here");
    says(&bench.ask(Method::PATCH, "/v2/sandboxes", "").await, StatusCode::METHOD_NOT_ALLOWED, "PATCH");
    for lost in ["/files?path=x", "/execute", "/process.Process/Start"] {
        says(&bench.post(lost, "").await, StatusCode::BAD_REQUEST, "send `E2b-Sandbox-Id`");
    }
    assert_eq!(bench.get("/health").await.status, StatusCode::OK);
}

#[tokio::test]
async fn what_is_not_here_says_so() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    for (method, uri, part) in [
        (Method::POST, "/v3/templates".to_owned(), "`hood template build`"),
        (Method::DELETE, "/templates/base%3Adefault".to_owned(), "template"),
    ] {
        says(&bench.ask(method, &uri, "{}").await, StatusCode::NOT_IMPLEMENTED, part);
    }
    bench.get(&format!("/sandboxes/{id}")).await.expect(StatusCode::OK);
}

#[tokio::test]
async fn a_failing_driver_is_an_internal_error_with_an_id() {
    let bench = Bench::new();
    bench.lab.driver.breaks(Call::Create, Fault::Fail);
    let answer = bench.post("/v2/sandboxes", r#"{"templateID":"base"}"#).await;
    says(&answer, StatusCode::INTERNAL_SERVER_ERROR, "internal error while creating a sandbox (err_");
    assert!(!answer.text.contains("told to fail"), "{}", answer.text);
    assert_eq!(answer.expect(StatusCode::INTERNAL_SERVER_ERROR)["error_code"], "sandbox_create_failed");
}

#[tokio::test]
async fn a_full_node_asks_to_come_again() {
    let bench = Bench::new();
    while bench.post("/v2/sandboxes", r#"{"templateID":"base"}"#).await.status == StatusCode::CREATED {}
    let answer = bench.post("/v2/sandboxes", r#"{"templateID":"base"}"#).await;
    says(&answer, StatusCode::TOO_MANY_REQUESTS, "256 of 256 sandboxes are running");
    assert!(answer.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn chunked_bodies_are_read() {
    let bench = Bench::new();
    let parts = ["{\"templateID\":", "\"base\"}"].map(Ok::<_, std::io::Error>);
    let body = Body::from_stream(futures_util::stream::iter(parts));
    let request = Request::post("/v2/sandboxes").header("x-api-key", KEY).body(body).expect("a request");
    bench.send(request).await.expect(StatusCode::CREATED);
}
