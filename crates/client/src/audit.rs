//! What the gate recorded.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::{Client, json};
use crate::error::ClientError;
use crate::limits;

/// Which entries are wanted.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AuditQuery {
    /// Only those of this sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Only what was, or would have been, refused.
    pub denied: bool,
    /// Only those after this place.
    pub after: i64,
}

/// A part of the audit, oldest first.
#[derive(Debug, Clone, Deserialize)]
pub struct AuditPage {
    /// Its entries, as the server writes them.
    pub entries: Vec<Value>,
    /// Where the next part begins.
    pub next: i64,
}

impl Client {
    /// Entries of the audit after a place; empty when there are no more for now.
    pub async fn audit(&self, query: &AuditQuery) -> Result<AuditPage, ClientError> {
        const DOING: &str = "read the audit";
        let request = self.request(Method::GET, &["audit"]).query(query).timeout(limits::CALL);
        json(DOING, self.send(DOING, request).await?).await
    }
}
