//! Snapshots and forks.

use std::time::Duration;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::{Client, json as read_json};
use crate::error::ClientError;
use crate::limits;

/// A sandbox's files at one moment, kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// What sandboxes are created from.
    #[serde(rename = "snapshotID")]
    pub id: String,
    /// Its names with their tags; they do as well.
    #[serde(default)]
    pub names: Vec<String>,
    /// The sandbox that it was made of.
    #[serde(rename = "sandboxID", default)]
    pub source: String,
    /// That sandbox's template.
    #[serde(default)]
    pub alias: String,
    /// RFC 3339.
    #[serde(default)]
    pub created_at: String,
    /// What was written, in bytes.
    #[serde(default)]
    pub size_bytes: u64,
}

/// A child of a fork, or why there is none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Child {
    /// The child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<ChildSandbox>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ChildError>,
}

/// A sandbox that a fork made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChildSandbox {
    /// Its id.
    #[serde(rename = "sandboxID")]
    pub id: String,
}

/// Why a child of a fork is not there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChildError {
    /// As a status of HTTP.
    pub code: u16,
    /// In words.
    pub message: String,
}

impl Client {
    /// Keeps a sandbox's files as they are now.
    pub async fn snapshot(&self, id: &str, name: Option<&str>) -> Result<Snapshot, ClientError> {
        const DOING: &str = "make the snapshot";
        let request =
            self.request(Method::POST, &["sandboxes", id, "snapshots"]).json(&json!({ "name": name }));
        read_json(DOING, self.send(DOING, request.timeout(limits::CAPTURE)).await?).await
    }

    /// All snapshots, newest first.
    pub async fn snapshots(&self) -> Result<Vec<Snapshot>, ClientError> {
        const DOING: &str = "list the snapshots";
        let mut all = Vec::new();
        let mut next = None::<String>;
        loop {
            let mut request = self.request(Method::GET, &["snapshots"]).timeout(limits::CALL);
            if let Some(token) = &next {
                request = request.query(&[("nextToken", token)]);
            }
            let answer = self.send(DOING, request).await?;
            next = answer.headers().get("x-next-token").and_then(|v| v.to_str().ok()).map(str::to_owned);
            all.extend(read_json::<Vec<Snapshot>>(DOING, answer).await?);
            if next.is_none() {
                return Ok(all);
            }
        }
    }

    /// Forgets a snapshot, by id or name.
    pub async fn delete_snapshot(&self, reference: &str) -> Result<(), ClientError> {
        let request = self.request(Method::DELETE, &["templates", reference]);
        self.send("delete the snapshot", request.timeout(limits::CAPTURE)).await.map(drop)
    }

    /// Puts a sandbox back to a snapshot.
    pub async fn rollback(&self, id: &str, snapshot: &str) -> Result<(), ClientError> {
        let body = json!({ "snapshotID": snapshot });
        let request = self.request(Method::POST, &["sandboxes", id, "rollback"]).json(&body);
        self.send("put the sandbox back", request.timeout(limits::CAPTURE)).await.map(drop)
    }

    /// Makes copies of a sandbox.
    pub async fn fork(&self, id: &str, count: u32, timeout: Duration) -> Result<Vec<Child>, ClientError> {
        const DOING: &str = "fork the sandbox";
        let body = json!({ "count": count, "timeout": timeout.as_secs() });
        let request = self.request(Method::POST, &["sandboxes", id, "fork"]).json(&body);
        read_json(DOING, self.send(DOING, request.timeout(limits::CAPTURE)).await?).await
    }
}
