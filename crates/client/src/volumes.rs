//! Volumes.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::{Client, json as read_json};
use crate::error::ClientError;
use crate::limits;

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Its id.
    #[serde(rename = "volumeID")]
    pub id: String,
    /// Its name.
    pub name: String,
    /// RFC 3339.
    #[serde(default)]
    pub created_at: String,
    /// How much fits in.
    #[serde(rename = "sizeMB", default)]
    pub size_mib: u64,
}

impl Client {
    /// All volumes, oldest first.
    pub async fn volumes(&self) -> Result<Vec<Volume>, ClientError> {
        const DOING: &str = "list the volumes";
        let request = self.request(Method::GET, &["volumes"]).timeout(limits::CALL);
        read_json(DOING, self.send(DOING, request).await?).await
    }

    /// Makes an empty one.
    pub async fn create_volume(&self, name: &str, size_mib: Option<u64>) -> Result<Volume, ClientError> {
        const DOING: &str = "create the volume";
        let body = match size_mib {
            Some(size) => json!({ "name": name, "hood": { "sizeMB": size } }),
            None => json!({ "name": name }),
        };
        let request = self.request(Method::POST, &["volumes"]).json(&body);
        read_json(DOING, self.send(DOING, request.timeout(limits::CALL)).await?).await
    }

    /// Removes one with all that is in it, by id or name.
    pub async fn delete_volume(&self, reference: &str) -> Result<(), ClientError> {
        let request = self.request(Method::DELETE, &["volumes", reference]);
        self.send("delete the volume", request.timeout(limits::CALL)).await.map(drop)
    }
}
