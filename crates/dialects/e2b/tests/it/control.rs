//! The everyday use of the control plane.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use hood_driver_api::{Bytes, MilliCpu, RootMode};
use serde_json::json;

use crate::support::{Bench, DOMAIN, KEY, inside};

#[tokio::test]
async fn create_answers_what_the_sdks_need() {
    let bench = Bench::new();
    let made = bench.post("/v2/sandboxes", r#"{"templateID":"base","metadata":{},"envVars":{}}"#).await;
    let made = made.expect(StatusCode::CREATED);
    for required in ["templateID", "sandboxID", "clientID", "envdVersion", "envdAccessToken"] {
        assert!(made[required].is_string(), "{required}: {made}");
    }
    assert_eq!(made["domain"], DOMAIN);
    assert_eq!(made["trafficAccessToken"], json!(null));
    assert_eq!(made["envdVersion"], "0.6.13");
}

#[tokio::test]
async fn the_generations_differ_in_their_default_timeout() {
    let bench = Bench::new();
    for (path, secs) in [("/v2/sandboxes", 300), ("/sandboxes", 15)] {
        let body = r#"{"templateID":"base","secure":true,"allow_internet_access":true}"#;
        let made = bench.post(path, body).await.expect(StatusCode::CREATED);
        let id = made["sandboxID"].as_str().expect("an id");
        let record = bench.lab.engine.get(&bench.lab.team, id).expect("running");
        assert_eq!((record.deadline - record.started_at).whole_seconds(), secs, "{path}");
    }
}

#[tokio::test]
async fn a_sandbox_is_shown_listed_and_killed() {
    let bench = Bench::new();
    let (id, token) =
        bench.create_with(r#"{"templateID":"base","metadata":{"a b":"c&d"},"autoPause":true}"#).await;
    bench.create().await;

    let shown = bench.get(&format!("/sandboxes/{id}")).await.expect(StatusCode::OK);
    assert_eq!((&shown["state"], &shown["envdAccessToken"]), (&json!("running"), &json!(token)));
    assert_eq!(shown["lifecycle"], json!({"autoResume": false, "onTimeout": "pause"}));
    assert_eq!(shown["allowInternetAccess"], json!(null));
    let isolation = &shown["isolation"];
    assert_eq!((&isolation["driver"], &isolation["mode"]), (&json!("fake"), &json!("root")));
    assert_eq!((&isolation["walls"]["disk"], &isolation["network"]), (&json!("missing"), &json!("none")));
    for required in ["startedAt", "endAt", "cpuCount", "memoryMB", "diskSizeMB", "clientID", "templateID"] {
        assert!(!shown[required].is_null(), "{required}: {shown}");
    }

    let listed =
        bench.get("/v2/sandboxes?metadata=a%252520b%3Dc%252526d&state=running,paused&limit=10").await;
    assert_eq!(listed.headers["x-total-running"], "2");
    assert!(!listed.headers.contains_key("x-next-token"));
    let listed = listed.expect(StatusCode::OK);
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    assert_eq!(listed[0]["sandboxID"], json!(id));
    assert_eq!(listed[0]["metadata"], json!({"a b": "c&d"}));

    assert_eq!(
        bench.ask(Method::DELETE, &format!("/sandboxes/{id}"), "").await.status,
        StatusCode::NO_CONTENT
    );
    let gone = bench.ask(Method::DELETE, &format!("/sandboxes/{id}"), "").await.expect(StatusCode::NOT_FOUND);
    assert!(gone["message"].as_str().expect("text").contains("it was killed"), "{gone}");
    bench.get(&format!("/sandboxes/{id}")).await.expect(StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn listings_come_in_pages() {
    let bench = Bench::new();
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(bench.create().await.0);
        bench.lab.clock.advance(std::time::Duration::from_secs(1));
    }
    let mut seen = Vec::new();
    let mut uri = "/v2/sandboxes?limit=1&order=asc".to_owned();
    loop {
        let page = bench.get(&uri).await;
        let next = page.headers.get("x-next-token").map(|token| token.to_str().expect("text").to_owned());
        let page = page.expect(StatusCode::OK);
        assert_eq!(page.as_array().map(Vec::len), Some(1));
        seen.push(page[0]["sandboxID"].as_str().expect("an id").to_owned());
        let Some(next) = next else { break };
        uri = format!("/v2/sandboxes?limit=1&order=asc&nextToken={next}");
    }
    assert_eq!(seen, made);

    let started =
        bench.get(&format!("/sandboxes/{}", made[2])).await.expect(StatusCode::OK)["startedAt"].clone();
    let since = format!("/v2/sandboxes?startedAfter={}", started.as_str().expect("a time"));
    assert_eq!(bench.get(&since).await.expect(StatusCode::OK)[0]["sandboxID"], json!(made[2]));
    assert_eq!(bench.get("/v2/sandboxes?state=paused").await.expect(StatusCode::OK), json!([]));
    assert_eq!(bench.get("/v2/sandboxes?template=none").await.expect(StatusCode::OK), json!([]));
    assert_eq!(bench.get("/sandboxes").await.expect(StatusCode::OK).as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn connect_extends_and_never_shortens() {
    let bench = Bench::new();
    let (id, token) = bench.create().await;
    let end = async |bench: &Bench| {
        let shown = bench.get(&format!("/sandboxes/{id}")).await.expect(StatusCode::OK);
        shown["endAt"].as_str().expect("a time").to_owned()
    };
    let before = end(&bench).await;
    let connected = bench.post(&format!("/v2/sandboxes/{id}/connect"), r#"{"timeout":10}"#).await;
    assert_eq!(connected.expect(StatusCode::OK)["envdAccessToken"], json!(token));
    assert_eq!(end(&bench).await, before, "byte for byte");
    bench.post(&format!("/v2/sandboxes/{id}/connect"), "").await.expect(StatusCode::OK);
    assert_eq!(end(&bench).await, before);
    bench.post(&format!("/sandboxes/{id}/connect"), r#"{"timeout":600}"#).await.expect(StatusCode::OK);
    assert!(end(&bench).await > before);
    bench.post(&format!("/sandboxes/{id}/connect"), "{}").await.expect(StatusCode::BAD_REQUEST);
    bench.post("/v2/sandboxes/nonexistingsandbox/connect", "{}").await.expect(StatusCode::NOT_FOUND);
    bench.post(&format!("/sandboxes/{id}/resume"), "{}").await.expect(StatusCode::CONFLICT);
    bench.post("/sandboxes/nonexistingsandbox/resume", "{}").await.expect(StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_timeout_moves_both_ways_and_zero_ends() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    let uri = format!("/sandboxes/{id}/timeout");
    assert_eq!(bench.post(&uri, r#"{"timeout":5}"#).await.status, StatusCode::NO_CONTENT);
    let record = bench.lab.engine.get(&bench.lab.team, &id).expect("running");
    assert_eq!((record.deadline - record.started_at).whole_seconds(), 5);
    let refreshed = bench.post(&format!("/sandboxes/{id}/refreshes"), r#"{"duration":60}"#).await;
    assert_eq!(refreshed.status, StatusCode::NO_CONTENT);
    bench
        .post(&format!("/sandboxes/{id}/refreshes"), r#"{"duration":3601}"#)
        .await
        .expect(StatusCode::BAD_REQUEST);
    bench.post(&uri, r#"{"timeout":-1}"#).await.expect(StatusCode::BAD_REQUEST);
    bench.post(&uri, "{}").await.expect(StatusCode::BAD_REQUEST);
    assert_eq!(bench.post(&uri, r#"{"timeout":0}"#).await.status, StatusCode::NO_CONTENT);
    bench.post(&uri, r#"{"timeout":5}"#).await.expect(StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn our_extension_reaches_the_driver() {
    let bench = Bench::new();
    let hood = r#"{"memoryMB":512,"cpus":0.5,"diskMB":256,"pids":64,"readOnlyRoot":true}"#;
    let (id, _) = bench.create_with(&format!(r#"{{"templateID":"base","hood":{hood}}}"#)).await;
    let spec = bench.lab.driver.spec(&id.parse().expect("an id")).expect("built");
    assert_eq!((spec.resources.memory, spec.resources.cpu), (Bytes::mib(512), MilliCpu(500)));
    assert_eq!((spec.resources.disk, spec.resources.pids), (Bytes::mib(256), 64));
    assert!(matches!(spec.root_mode, RootMode::ReadOnlyExcept(dir) if dir.starts_with('/')));
}

#[tokio::test]
async fn the_same_idempotency_key_makes_one_sandbox() {
    let bench = Bench::new();
    let ask = |key: &'static str, body: &'static str| {
        let request = Request::post("/v2/sandboxes").header("x-api-key", KEY).header("idempotency-key", key);
        bench.send(request.body(Body::from(body)).expect("a request"))
    };
    let first = ask("k-1", r#"{"templateID":"base"}"#).await.expect(StatusCode::CREATED);
    let again = ask("k-1", r#"{"templateID":"base"}"#).await.expect(StatusCode::CREATED);
    assert_eq!(first, again);
    let other =
        ask("k-1", r#"{"templateID":"base","timeout":9}"#).await.expect(StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(other["error_code"], "idempotency_request_mismatch");
    ask("NOT A KEY", r#"{"templateID":"base"}"#).await.expect(StatusCode::BAD_REQUEST);
    assert_eq!(bench.lab.engine.counts().running, 1);
}

#[tokio::test]
async fn a_replaced_policy_counts_is_shown_and_stands_in_the_log() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    let update = r#"{"allowOut":["1.1.1.1"],"denyOut":["0.0.0.0/0"],"allow_internet_access":false}"#;
    let updated = bench.ask(Method::PUT, &format!("/sandboxes/{id}/network"), update).await;
    assert_eq!(updated.status, StatusCode::NO_CONTENT, "{}", updated.text);

    let shown = bench.get(&format!("/sandboxes/{id}")).await.expect(StatusCode::OK);
    assert_eq!(shown["network"], json!({"allowOut": ["1.1.1.1"], "denyOut": ["0.0.0.0/0"]}));
    assert_eq!(shown["allowInternetAccess"], json!(false));
    let policy = bench.lab.gate.policy(&id.parse().expect("an id")).expect("its gate is open");
    assert_eq!((policy.base, policy.allow.len()), (hood_policy::Base::Closed, 1));

    let logs = bench.get(&format!("/sandboxes/{id}/logs?start=0&limit=100")).await.expect(StatusCode::OK);
    let lines: Vec<serde_json::Value> = logs["logs"]
        .as_array()
        .expect("lines")
        .iter()
        .map(|line| serde_json::from_str(line["line"].as_str().expect("text")).expect("a line is JSON"))
        .collect();
    assert!(lines.iter().all(|line| line["level"].is_string() && line["logger"].is_string()), "{lines:?}");
    let says =
        |part: &str| lines.iter().any(|line| line["message"].as_str().is_some_and(|m| m.contains(part)));
    assert!(says("network policy was replaced"), "{lines:?}");
    assert_eq!(logs["logEntries"].as_array().map(Vec::len), Some(lines.len()));

    let uri = format!("/v2/sandboxes/{id}/logs?level=info&direction=backward&search=replaced");
    let found = bench.get(&uri).await.expect(StatusCode::OK);
    assert_eq!(found["logs"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["logs"][0]["level"], "info");
}

#[tokio::test]
async fn metrics_have_a_first_point_and_empty_ranges() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    bench.lab.settle().await;
    let uri = format!("/sandboxes/{id}/metrics");
    let mut points = json!([]);
    for _ in 0..1000 {
        points = bench.get(&uri).await.expect(StatusCode::OK);
        if points != json!([]) {
            break;
        }
        tokio::task::yield_now().await;
    }
    for required in [
        "timestamp",
        "timestampUnix",
        "cpuCount",
        "cpuUsedPct",
        "memUsed",
        "memTotal",
        "memCache",
        "diskUsed",
        "diskTotal",
    ] {
        assert!(!points[0][required].is_null(), "{required}: {points}");
    }
    assert_eq!(bench.get(&format!("{uri}?start=1&end=2")).await.expect(StatusCode::OK), json!([]));
    bench.get("/sandboxes/nonexistingsandbox/metrics").await.expect(StatusCode::NOT_FOUND);
    let many = bench.get(&format!("/sandboxes/metrics?sandbox_ids={id},gone")).await.expect(StatusCode::OK);
    assert_eq!(many["sandboxes"].as_object().map(serde_json::Map::len), Some(1));
}

#[tokio::test]
async fn templates_are_found_by_name_and_id() {
    let bench = Bench::new();
    for uri in ["/templates?teamID=x", "/v2/templates"] {
        let listed = bench.get(uri).await.expect(StatusCode::OK);
        let build = listed[0]["buildID"].as_str().expect("a build");
        assert_eq!((build.len(), build.matches('-').count()), (36, 4), "{build}");
    }
    let alias = bench.get("/templates/aliases/base").await.expect(StatusCode::OK);
    let id = alias["templateID"].as_str().expect("an id");
    assert_eq!(
        bench.get(&format!("/templates/{id}")).await.expect(StatusCode::OK)["templateID"],
        alias["templateID"]
    );
    let none = bench.get("/templates/aliases/no%2Fsuch").await.expect(StatusCode::NOT_FOUND);
    assert!(none["message"].as_str().expect("text").contains("`no/such`"), "{none}");
}

#[tokio::test]
async fn pause_connect_and_resume_answer_as_the_protocol_says() {
    let bench = Bench::new();
    let (id, _) = bench.create().await;
    let path = |what: &str| format!("/sandboxes/{id}/{what}");
    let body = r#"{"timeout":60}"#;
    assert_eq!(bench.post(&path("resume"), body).await.status, StatusCode::CONFLICT, "it runs");
    assert_eq!(bench.post(&path("connect"), body).await.status, StatusCode::OK);

    assert_eq!(bench.post(&path("pause"), "").await.status, StatusCode::NO_CONTENT, "a body may be absent");
    assert_eq!(bench.post(&path("pause"), "{}").await.status, StatusCode::CONFLICT, "paused already");
    let shown = bench.get(&format!("/sandboxes/{id}")).await.expect(StatusCode::OK);
    assert_eq!((&shown["state"], &shown["pauseMode"]), (&json!("paused"), &json!("full")));
    let listed = async |query: &str| {
        let all = bench.get(&format!("/v2/sandboxes?{query}")).await.expect(StatusCode::OK);
        all.as_array().map(Vec::len)
    };
    assert_eq!(listed("state=paused").await, Some(1));
    assert_eq!(listed("state=running").await, Some(0));
    assert_eq!(listed("").await, Some(1));

    let dead = bench.send(inside(&id, 8080, Method::GET, "/").body(Body::empty()).expect("a request")).await;
    assert_eq!(dead.status, StatusCode::BAD_GATEWAY, "{}", dead.text);
    assert_eq!(bench.post(&path("resume"), body).await.status, StatusCode::CREATED);
    assert_eq!(bench.post(&path("pause"), r#"{"memory":true}"#).await.status, StatusCode::NO_CONTENT);
    assert_eq!(bench.post(&format!("/v2/sandboxes/{id}/connect"), "{}").await.status, StatusCode::CREATED);
    assert_eq!(bench.post(&path("pause"), r#"{"memory":false}"#).await.status, StatusCode::NO_CONTENT);
    let shown = bench.get(&format!("/sandboxes/{id}")).await.expect(StatusCode::OK);
    assert_eq!((&shown["state"], &shown["pauseMode"]), (&json!("paused"), &json!("filesystem")));
}
