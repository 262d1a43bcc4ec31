//! Calls of the control plane: sandboxes, their deadlines, logs and metrics; templates.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::client::{Client, json};
use crate::error::ClientError;
use crate::limits;
use crate::sandbox::Sandbox;

/// What a sandbox shall be.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NewSandbox {
    /// Name, `name:tag` or id of the template.
    #[serde(rename = "templateID")]
    pub template: String,
    /// How long it may live, in seconds.
    pub timeout: u64,
    /// Shown in listings.
    pub metadata: BTreeMap<String, String>,
    /// Environment of everything in it.
    #[serde(rename = "envVars")]
    pub envs: BTreeMap<String, String>,
    /// Whether it may reach the internet.
    #[serde(rename = "allow_internet_access")]
    pub internet: bool,
    /// Volumes in it.
    #[serde(rename = "volumeMounts", skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<VolumeMount>,
    /// What only our server knows.
    pub hood: Hood,
}

/// What shall be another; what is not named stays.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Change {
    /// Shown in listings, all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// What it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hood: Option<Ceilings>,
}

/// Ceilings of a sandbox that lives.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Ceilings {
    /// Memory in MiB.
    #[serde(rename = "memoryMB", skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
}

impl Change {
    /// Of these.
    pub fn new(
        metadata: Option<BTreeMap<String, String>>,
        memory_mib: Option<u64>,
        cpus: Option<f64>,
    ) -> Self {
        let any = memory_mib.is_some() || cpus.is_some();
        Self { metadata, hood: any.then_some(Ceilings { memory_mib, cpus }) }
    }

    /// Whether all stays.
    pub fn is_nothing(&self) -> bool {
        self.metadata.is_none() && self.hood.is_none()
    }
}

/// A volume in a sandbox.
#[derive(Debug, Clone, Serialize)]
pub struct VolumeMount {
    /// Its name or id.
    pub name: String,
    /// Where it lies.
    pub path: String,
}

/// Our extension of the create call.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hood {
    /// Memory in MiB; otherwise the template's.
    #[serde(rename = "memoryMB", skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Cores; otherwise the template's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// Size of the writable layer in MiB; otherwise the server's default.
    #[serde(rename = "diskMB", skip_serializing_if = "Option::is_none")]
    pub disk_mib: Option<u64>,
    /// Nothing but the working directory and the places for temporary files may be written.
    pub read_only_root: bool,
}

/// A sandbox in a listing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSandbox {
    /// Its id.
    #[serde(rename = "sandboxID")]
    pub id: String,
    /// Id of its template.
    #[serde(rename = "templateID")]
    pub template_id: String,
    /// Name of its template.
    #[serde(default)]
    pub alias: String,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339.
    pub end_at: String,
    /// Cores, rounded up.
    pub cpu_count: u32,
    /// MiB.
    #[serde(rename = "memoryMB")]
    pub memory_mib: u64,
    /// MiB.
    #[serde(rename = "diskSizeMB")]
    pub disk_mib: u64,
    /// `running` or `paused`.
    pub state: String,
    /// As given at creation.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

/// One sandbox, as its server shows it. Its secrets are left out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShownSandbox {
    /// As in a listing.
    #[serde(flatten)]
    pub listed: ListedSandbox,
    /// Which walls stand; a server that is not ours says nothing about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
}

/// Which walls stand around a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// What has built them.
    pub driver: String,
    /// With which rights: `root`.
    pub mode: String,
    /// What reaches out of it and into it: `none`.
    pub network: String,
    /// Each wall with how it stands: `full`, `partial` or `missing`.
    pub walls: BTreeMap<String, String>,
}

/// A line of a sandbox's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// RFC 3339.
    pub timestamp: String,
    /// `debug`, `info`, `warn` or `error`.
    pub level: String,
    /// Text of the server or of the sandbox: escape it before it meets a terminal.
    pub message: String,
    /// Everything else; `logger` says who speaks.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
}

/// What a sandbox used at one moment; sizes in bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the protocol's names say it")]
pub struct Metric {
    pub timestamp: String,
    pub cpu_count: u32,
    pub cpu_used_pct: f64,
    pub mem_used: u64,
    pub mem_total: u64,
    pub mem_cache: u64,
    pub disk_used: u64,
    pub disk_total: u64,
}

/// A template in a listing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    /// Its id.
    #[serde(rename = "templateID")]
    pub id: String,
    /// Its names.
    #[serde(default)]
    pub names: Vec<String>,
    /// Cores of a sandbox.
    pub cpu_count: u32,
    /// Memory of a sandbox, MiB.
    #[serde(rename = "memoryMB")]
    pub memory_mib: u64,
}

/// What the create and connect calls answer, as far as the way in needs it.
#[derive(Deserialize)]
pub(crate) struct Created {
    #[serde(rename = "sandboxID")]
    id: String,
    #[serde(rename = "envdAccessToken")]
    token: Option<String>,
}

#[derive(Deserialize)]
struct Detail {
    #[serde(flatten)]
    created: Created,
}

#[derive(Deserialize)]
struct Logs {
    logs: Vec<LogEntry>,
}

// === impl Client ===

impl Client {
    /// Makes a sandbox; it runs when the answer is there.
    pub async fn create(&self, new: &NewSandbox) -> Result<Sandbox, ClientError> {
        const DOING: &str = "create a sandbox";
        let request = self.request(Method::POST, &["v2", "sandboxes"]).json(new).timeout(limits::CALL);
        let created: Created = json(DOING, self.send(DOING, request).await?).await?;
        Ok(self.way_into(created))
    }

    /// The way into a sandbox that runs.
    pub async fn attach(&self, id: &str) -> Result<Sandbox, ClientError> {
        const DOING: &str = "find the sandbox";
        let request = self.request(Method::GET, &["sandboxes", id]).timeout(limits::CALL);
        let detail: Detail = json(DOING, self.send(DOING, request).await?).await?;
        Ok(self.way_into(detail.created))
    }

    fn way_into(&self, created: Created) -> Sandbox {
        Sandbox::new(self.clone(), created.id, created.token.unwrap_or_default())
    }

    /// All running sandboxes, newest first.
    pub async fn list(&self) -> Result<Vec<ListedSandbox>, ClientError> {
        const DOING: &str = "list the sandboxes";
        let mut all = Vec::new();
        let mut page = String::new();
        for _ in 0..limits::PAGES {
            let mut request = self.request(Method::GET, &["v2", "sandboxes"]).query(&[("limit", "100")]);
            if !page.is_empty() {
                request = request.query(&[("nextToken", &page)]);
            }
            let response = self.send(DOING, request.timeout(limits::CALL)).await?;
            let next = response.headers().get("x-next-token").and_then(|token| token.to_str().ok());
            page = next.unwrap_or_default().to_owned();
            all.append(&mut json(DOING, response).await?);
            if page.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    /// The server's own words on one sandbox.
    pub async fn detail(&self, id: &str) -> Result<Value, ClientError> {
        const DOING: &str = "look at the sandbox";
        let request = self.request(Method::GET, &["sandboxes", id]).timeout(limits::CALL);
        json(DOING, self.send(DOING, request).await?).await
    }

    /// One sandbox that runs.
    pub async fn show(&self, id: &str) -> Result<ShownSandbox, ClientError> {
        const DOING: &str = "look at the sandbox";
        let request = self.request(Method::GET, &["sandboxes", id]).timeout(limits::CALL);
        json(DOING, self.send(DOING, request).await?).await
    }

    /// Ends a sandbox; false when there is none of this id.
    pub async fn kill(&self, id: &str) -> Result<bool, ClientError> {
        let request = self.request(Method::DELETE, &["sandboxes", id]).timeout(limits::CALL);
        match self.send("kill the sandbox", request).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Lets a sandbox live for this long from now, longer or shorter than before.
    pub async fn set_timeout(&self, id: &str, from_now: Duration) -> Result<(), ClientError> {
        let body = json!({ "timeout": from_now.as_secs() });
        let request = self.request(Method::POST, &["sandboxes", id, "timeout"]).json(&body);
        self.send("set the sandbox's timeout", request.timeout(limits::CALL)).await.map(drop)
    }

    /// Changes what a sandbox may use, and what listings show of it: all of it, or nothing.
    pub async fn change(&self, id: &str, change: &Change) -> Result<(), ClientError> {
        let request = self.request(Method::PATCH, &["sandboxes", id]).json(change);
        self.send("change the sandbox", request.timeout(limits::CALL)).await.map(drop)
    }

    /// Stops a sandbox where it is; without its memory its processes end, and it starts anew when it is resumed.
    pub async fn pause(&self, id: &str, keep_memory: bool) -> Result<(), ClientError> {
        let body = json!({ "memory": keep_memory });
        let request = self.request(Method::POST, &["sandboxes", id, "pause"]).json(&body);
        self.send("pause the sandbox", request.timeout(limits::CALL)).await.map(drop)
    }

    /// Lets a sandbox live for at least this long from now, and go on where it was paused; never shortens its life.
    pub async fn extend(&self, id: &str, from_now: Duration) -> Result<(), ClientError> {
        let body = json!({ "timeout": from_now.as_secs() });
        let request = self.request(Method::POST, &["v2", "sandboxes", id, "connect"]).json(&body);
        self.send("extend the sandbox's life", request.timeout(limits::CALL)).await.map(drop)
    }

    /// A sandbox's log from a moment on (milliseconds since 1970), oldest first; also of one that has ended.
    pub async fn logs(&self, id: &str, from_ms: u64) -> Result<Vec<LogEntry>, ClientError> {
        const DOING: &str = "read the sandbox's log";
        let request =
            self.request(Method::GET, &["v2", "sandboxes", id, "logs"]).query(&[("cursor", from_ms)]);
        let logs: Logs = json(DOING, self.send(DOING, request.timeout(limits::CALL)).await?).await?;
        Ok(logs.logs)
    }

    /// What a sandbox used, oldest sample first.
    pub async fn metrics(&self, id: &str) -> Result<Vec<Metric>, ClientError> {
        const DOING: &str = "read the sandbox's metrics";
        let request = self.request(Method::GET, &["sandboxes", id, "metrics"]).timeout(limits::CALL);
        json(DOING, self.send(DOING, request).await?).await
    }

    /// The templates that sandboxes can be made from.
    pub async fn templates(&self) -> Result<Vec<Template>, ClientError> {
        const DOING: &str = "list the templates";
        let request = self.request(Method::GET, &["templates"]).timeout(limits::CALL);
        json(DOING, self.send(DOING, request).await?).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_create_call_says_only_what_was_asked() {
        let new = NewSandbox {
            template: "base".into(),
            timeout: 60,
            hood: Hood { memory_mib: Some(512), cpus: Some(0.5), ..Hood::default() },
            ..NewSandbox::default()
        };
        assert_eq!(
            serde_json::to_string(&new).unwrap(),
            r#"{"templateID":"base","timeout":60,"metadata":{},"envVars":{},"allow_internet_access":false,"#
                .to_owned()
                + r#""hood":{"memoryMB":512,"cpus":0.5,"readOnlyRoot":false}}"#
        );
    }
}
