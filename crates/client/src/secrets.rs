//! Secrets: set, listed, forgotten; never read.

use std::collections::BTreeMap;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::{Client, json as read_json};
use crate::error::ClientError;
use crate::limits;

/// What may be known of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Secret {
    /// Its id.
    #[serde(rename = "secretID")]
    pub id: String,
    /// In lower case.
    pub name: String,
    /// How many values it has had.
    pub current_version: u64,
    /// Its owner's labels.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
}

impl Client {
    /// All secrets, by name.
    pub async fn secrets(&self) -> Result<Vec<Secret>, ClientError> {
        const DOING: &str = "list the secrets";
        let mut all = Vec::new();
        let mut next = None::<String>;
        loop {
            let mut request = self.request(Method::GET, &["secrets"]).timeout(limits::CALL);
            if let Some(token) = &next {
                request = request.query(&[("nextToken", token)]);
            }
            let answer = self.send(DOING, request).await?;
            next = answer.headers().get("x-next-token").and_then(|v| v.to_str().ok()).map(str::to_owned);
            let page: Vec<Secret> = read_json(DOING, answer).await?;
            let is_last = page.is_empty() || next.is_none();
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Gives a secret a value, and labels where they are given; makes it if there is none of that name.
    pub async fn set_secret(
        &self,
        name: &str,
        value: &str,
        metadata: Option<&BTreeMap<String, String>>,
    ) -> Result<Secret, ClientError> {
        const DOING: &str = "set the secret";
        let mut body = json!({ "value": value });
        if let Some(metadata) = metadata {
            body["metadata"] = json!(metadata);
        }
        let request = self.request(Method::POST, &["secrets", name]).json(&body);
        match self.send(DOING, request.timeout(limits::CALL)).await {
            Ok(answer) => return read_json(DOING, answer).await,
            Err(ClientError::Refused { status: 404, .. }) => {}
            Err(error) => return Err(error),
        }
        body["name"] = json!(name);
        let request = self.request(Method::POST, &["secrets"]).json(&body);
        read_json(DOING, self.send(DOING, request.timeout(limits::CALL)).await?).await
    }

    /// Forgets a secret.
    pub async fn delete_secret(&self, name: &str) -> Result<(), ClientError> {
        const DOING: &str = "delete the secret";
        let request = self.request(Method::DELETE, &["secrets", name]).timeout(limits::CALL);
        self.send(DOING, request).await.map(drop)
    }
}
