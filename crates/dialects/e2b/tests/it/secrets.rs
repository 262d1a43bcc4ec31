//! `/secrets`, with a keeper in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use axum::http::{Method, StatusCode};
use hood_dialect_e2b::{Secret, Secrets, SecretsError};
use hood_engine::TeamId;
use time::OffsetDateTime;

use crate::support::Bench;

/// Keeps three, of one team.
#[derive(Default)]
struct Three(Mutex<Vec<(Secret, String)>>);

impl Three {
    fn kept(&self) -> MutexGuard<'_, Vec<(Secret, String)>> {
        self.0.lock().expect("no test panics in it")
    }
}

#[async_trait]
impl Secrets for Three {
    async fn list(&self, _: &TeamId, after: Option<&str>, limit: usize) -> Result<Vec<Secret>, SecretsError> {
        let mut all: Vec<_> = self.kept().iter().map(|(secret, _)| secret.clone()).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all
            .into_iter()
            .filter(|secret| after.is_none_or(|after| secret.name.as_str() > after))
            .take(limit)
            .collect())
    }

    async fn create(
        &self,
        _: &TeamId,
        name: &str,
        value: &str,
        metadata: BTreeMap<String, String>,
    ) -> Result<Secret, SecretsError> {
        let mut kept = self.kept();
        if kept.iter().any(|(secret, _)| secret.name == name) {
            return Err(SecretsError::Exists);
        }
        if kept.len() == 3 {
            return Err(SecretsError::TooMany(3));
        }
        let now = OffsetDateTime::UNIX_EPOCH;
        let id = format!("sec_{}", kept.len());
        let secret = Secret { id, name: name.to_owned(), version: 1, metadata, created: now, updated: now };
        kept.push((secret.clone(), value.to_owned()));
        Ok(secret)
    }

    async fn find(&self, _: &TeamId, reference: &str) -> Result<Option<Secret>, SecretsError> {
        let kept = self.kept();
        Ok(kept.iter().map(|(secret, _)| secret).find(|s| s.id == reference || s.name == reference).cloned())
    }

    async fn update(
        &self,
        _: &TeamId,
        reference: &str,
        value: &str,
        metadata: Option<BTreeMap<String, String>>,
    ) -> Result<Option<Secret>, SecretsError> {
        let mut kept = self.kept();
        Ok(kept.iter_mut().find(|(s, _)| s.id == reference || s.name == reference).map(|(secret, kept)| {
            secret.version += 1;
            secret.metadata = metadata.unwrap_or_else(|| secret.metadata.clone());
            value.clone_into(kept);
            secret.clone()
        }))
    }

    async fn delete(&self, _: &TeamId, reference: &str) -> Result<bool, SecretsError> {
        let mut kept = self.kept();
        let before = kept.len();
        kept.retain(|(secret, _)| secret.id != reference && secret.name != reference);
        Ok(kept.len() < before)
    }
}

fn bench() -> Bench {
    Bench::with_secrets(Arc::new(Three::default()))
}

#[tokio::test]
async fn a_secret_is_made_shown_changed_and_deleted_without_its_value() {
    let bench = bench();
    let answer = bench.post("/secrets", r#"{"name":"API_Key","value":"hunter2","metadata":{"a":"b"}}"#).await;
    assert!(!answer.text.contains("hunter2"));
    let made = answer.expect(StatusCode::CREATED);
    assert_eq!(
        (&made["name"], &made["currentVersion"], &made["metadata"]["a"]),
        (&"api_key".into(), &1.into(), &"b".into())
    );
    assert_eq!(made["createdAt"], "1970-01-01T00:00:00Z");
    let id = made["secretID"].as_str().unwrap().to_owned();
    for reference in [id.as_str(), "api_key", "API_KEY"] {
        let answer = bench.get(&format!("/secrets/{reference}")).await;
        assert!(!answer.text.contains("hunter2"));
        assert_eq!(answer.expect(StatusCode::OK)["secretID"], made["secretID"]);
    }
    let next = bench.post(&format!("/secrets/{id}"), r#"{"value":"hunter3"}"#).await;
    assert_eq!(next.expect(StatusCode::OK)["currentVersion"], 2);
    bench.ask(Method::DELETE, &format!("/secrets/{id}"), "").await.expect(StatusCode::NO_CONTENT);
    bench.ask(Method::DELETE, &format!("/secrets/{id}"), "").await.expect(StatusCode::NOT_FOUND);
    bench.get("/secrets/api_key").await.expect(StatusCode::NOT_FOUND);
    bench.post("/secrets/api_key", r#"{"value":"x"}"#).await.expect(StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_is_wrong_with_a_secret_is_said_without_its_value() {
    let bench = bench();
    let long = "x".repeat(64 * 1024 + 1);
    let labels: BTreeMap<_, _> = (0..33).map(|n| (n.to_string(), "x")).collect();
    for (body, said) in [
        (serde_json::json!({"name": "a b", "value": "hunter2"}), "`name` must be"),
        (serde_json::json!({"name": "", "value": "hunter2"}), "`name` must be"),
        (serde_json::json!({"name": "x".repeat(129), "value": "hunter2"}), "1 to 128"),
        (serde_json::json!({"name": "SEC_a", "value": "hunter2"}), "not begin with `sec_`"),
        (serde_json::json!({"name": "a", "value": ""}), "`value` must have"),
        (serde_json::json!({"name": "a", "value": long}), "not 65537"),
        (serde_json::json!({"name": "a", "value": "hunter2", "metadata": labels}), "32 entries"),
        (serde_json::json!({"name": "a"}), "missing field `value`"),
    ] {
        let answer = bench.post("/secrets", &body.to_string()).await;
        assert!(answer.text.contains(said) && !answer.text.contains("hunter2"), "{}", answer.text);
        answer.expect(StatusCode::BAD_REQUEST);
    }
    assert_eq!(bench.get("/secrets").await.expect(StatusCode::OK), serde_json::json!([]));
}

#[tokio::test]
async fn names_are_unique_and_their_number_bounded() {
    let bench = bench();
    for name in ["a", "b", "c"] {
        let body = format!(r#"{{"name":"{name}","value":"v"}}"#);
        bench.post("/secrets", &body).await.expect(StatusCode::CREATED);
    }
    bench.post("/secrets", r#"{"name":"A","value":"v"}"#).await.expect(StatusCode::CONFLICT);
    let refused = bench.post("/secrets", r#"{"name":"d","value":"v"}"#).await.expect(StatusCode::FORBIDDEN);
    assert_eq!(refused["error_code"], "secret_limit_reached");
}

#[tokio::test]
async fn a_listing_has_pages() {
    let bench = bench();
    for name in ["b", "a", "c"] {
        let body = format!(r#"{{"name":"{name}","value":"v"}}"#);
        bench.post("/secrets", &body).await.expect(StatusCode::CREATED);
    }
    let first = bench.get("/secrets?limit=2").await;
    assert_eq!(first.headers["x-next-token"], "b");
    assert_eq!(first.expect(StatusCode::OK)[1]["name"], "b");
    let second = bench.get("/secrets?limit=2&nextToken=b").await;
    assert!(!second.headers.contains_key("x-next-token"));
    assert_eq!(second.expect(StatusCode::OK)[0]["name"], "c");
    bench.get("/secrets?limit=101").await.expect(StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn without_a_keeper_there_are_none() {
    Bench::new().get("/secrets").await.expect(StatusCode::NOT_IMPLEMENTED);
}
