//! What a client is told about a sandbox.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hood_engine::{AtDeadline, Isolation, Keep, Record};
use serde::Serialize;
use serde_json::{Value, json};

use crate::reply::Reply;
use crate::wire::when::span;
use crate::wire::{CLIENT_ID, ENVD_VERSION, Network, VolumeMount, When};

/// Random bytes of a traffic token.
const TRAFFIC_TOKEN_BYTES: usize = 24;

/// The answer to create and connect.
#[expect(clippy::struct_field_names, reason = "the protocol's own names")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Sandbox {
    #[serde(rename = "templateID")]
    template_id: String,
    alias: String,
    #[serde(rename = "sandboxID")]
    pub(crate) sandbox_id: String,
    #[serde(rename = "clientID")]
    client_id: &'static str,
    #[serde(rename = "envdVersion")]
    envd_version: &'static str,
    #[serde(rename = "envdAccessToken")]
    envd_access_token: String,
    #[serde(rename = "trafficAccessToken")]
    traffic_access_token: Option<String>,
    domain: Option<String>,
}

/// One sandbox of a listing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedSandbox {
    #[serde(rename = "templateID")]
    template_id: String,
    alias: String,
    #[serde(rename = "sandboxID")]
    sandbox_id: String,
    #[serde(rename = "clientID")]
    client_id: &'static str,
    started_at: When,
    end_at: When,
    cpu_count: u32,
    #[serde(rename = "memoryMB")]
    memory_mib: u64,
    #[serde(rename = "diskSizeMB")]
    disk_mib: u64,
    state: &'static str,
    envd_version: &'static str,
    metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    volume_mounts: Vec<VolumeMount>,
}

/// Everything about one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SandboxDetail {
    #[serde(flatten)]
    listed: ListedSandbox,
    envd_access_token: String,
    allow_internet_access: Option<bool>,
    domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<Network>,
    lifecycle: Lifecycle,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_mode: Option<&'static str>,
    /// Ours: which walls stand. Clients of the protocol pass over fields they do not know.
    isolation: Isolation,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Lifecycle {
    auto_resume: bool,
    on_timeout: &'static str,
}

/// What this dialect notes with a record, beyond what the engine knows.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) network: Option<Network>,
    pub(crate) mounts: Vec<VolumeMount>,
    /// Set when public traffic is off.
    pub(crate) traffic_token: Option<String>,
}

/// Names of the notes.
const NETWORK: &str = "e2b.network";
const MOUNTS: &str = "e2b.volumeMounts";
const TRAFFIC_TOKEN: &str = "e2b.trafficToken";

/// A secret that nobody can guess.
pub(crate) fn mint_traffic_token() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; TRAFFIC_TOKEN_BYTES]>())
}

// === impl Notes ===

impl Notes {
    pub(crate) fn of(record: &Record) -> Self {
        let network = record.notes.get(NETWORK).cloned();
        Self {
            network: network.and_then(|value| serde_json::from_value(value).ok()),
            mounts: Self::mounts(record),
            traffic_token: Self::traffic_token(record).map(str::to_owned),
        }
    }

    fn mounts(record: &Record) -> Vec<VolumeMount> {
        let mounts = record.notes.get(MOUNTS).cloned();
        mounts.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }

    /// The one note that the data path looks at for every request.
    pub(crate) fn traffic_token(record: &Record) -> Option<&str> {
        record.notes.get(TRAFFIC_TOKEN).and_then(Value::as_str)
    }

    /// The Host that services inside shall see.
    pub(crate) fn host_mask(record: &Record) -> Option<&str> {
        record.notes.get(NETWORK)?.get("maskRequestHost")?.as_str()
    }

    /// For a copy of the sandbox, with secrets of its own.
    pub(crate) fn for_child(parent: &Record) -> BTreeMap<String, Value> {
        let mut map = parent.notes.clone();
        if let Some(token) = map.get_mut(TRAFFIC_TOKEN) {
            *token = json!(mint_traffic_token());
        }
        map
    }

    pub(crate) fn into_map(self) -> Result<BTreeMap<String, Value>, Reply> {
        let mut map = BTreeMap::new();
        if let Some(network) = self.network {
            let value = serde_json::to_value(network)
                .map_err(|error| Reply::internal("noting the network policy", &error))?;
            map.insert(NETWORK.to_owned(), value);
        }
        if !self.mounts.is_empty() {
            map.insert(MOUNTS.to_owned(), json!(self.mounts));
        }
        if let Some(token) = self.traffic_token {
            map.insert(TRAFFIC_TOKEN.to_owned(), json!(token));
        }
        Ok(map)
    }
}

// === impl Sandbox ===

impl Sandbox {
    pub(crate) fn of(record: &Record, domain: &str) -> Self {
        Self {
            template_id: record.template_id.clone(),
            alias: record.template_name.clone(),
            sandbox_id: record.id.to_string(),
            client_id: CLIENT_ID,
            envd_version: ENVD_VERSION,
            envd_access_token: record.access_token.0.clone(),
            traffic_access_token: Notes::traffic_token(record).map(str::to_owned),
            domain: shown_domain(domain),
        }
    }

    #[cfg(test)]
    pub(crate) fn for_test(id: &str) -> Self {
        Self {
            template_id: String::new(),
            alias: String::new(),
            sandbox_id: id.to_owned(),
            client_id: CLIENT_ID,
            envd_version: ENVD_VERSION,
            envd_access_token: String::new(),
            traffic_access_token: None,
            domain: None,
        }
    }
}

// === impl ListedSandbox ===

impl ListedSandbox {
    pub(crate) fn of(record: &Record) -> Self {
        let (started_at, end_at) = span(record);
        Self {
            template_id: record.template_id.clone(),
            alias: record.template_name.clone(),
            sandbox_id: record.id.to_string(),
            client_id: CLIENT_ID,
            started_at,
            end_at,
            cpu_count: record.resources.cpu.as_cores_ceil(),
            memory_mib: record.resources.memory.as_mib(),
            disk_mib: record.resources.disk.as_mib(),
            // One being built answers its create call when it runs, and ended ones are not listed.
            state: if record.is_paused() { "paused" } else { "running" },
            envd_version: ENVD_VERSION,
            metadata: record.metadata.clone(),
            volume_mounts: Notes::mounts(record),
        }
    }
}

// === impl SandboxDetail ===

impl SandboxDetail {
    pub(crate) fn of(record: &Record, domain: &str, isolation: Isolation) -> Self {
        let notes = Notes::of(record);
        Self {
            listed: ListedSandbox::of(record),
            envd_access_token: record.access_token.0.clone(),
            allow_internet_access: record.internet,
            domain: shown_domain(domain),
            network: notes.network.map(Network::shown),
            lifecycle: Lifecycle {
                auto_resume: record.auto_resume,
                on_timeout: match record.at_deadline {
                    AtDeadline::End => "kill",
                    AtDeadline::Pause | AtDeadline::PauseFiles => "pause",
                },
            },
            pause_mode: record.paused().map(|keep| match keep {
                Keep::Memory => "full",
                Keep::Files => "filesystem",
            }),
            isolation,
        }
    }
}

fn shown_domain(domain: &str) -> Option<String> {
    Some(domain.to_owned()).filter(|domain| !domain.is_empty())
}
