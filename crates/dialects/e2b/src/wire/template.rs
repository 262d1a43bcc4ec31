//! Templates, as listings show them.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::wire::{ENVD_VERSION, When};

/// One template of a listing.
#[expect(clippy::struct_field_names, reason = "the protocol's own names")]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Template {
    #[serde(rename = "templateID")]
    template_id: String,
    #[serde(rename = "buildID")]
    build_id: String,
    cpu_count: u32,
    #[serde(rename = "memoryMB")]
    memory_mib: u64,
    #[serde(rename = "diskSizeMB")]
    disk_mib: u64,
    public: bool,
    aliases: Vec<String>,
    names: Vec<String>,
    created_at: When,
    updated_at: When,
    created_by: Option<()>,
    last_spawned_at: Option<()>,
    spawn_count: u64,
    build_count: u32,
    envd_version: &'static str,
    build_status: &'static str,
}

/// One template with its builds; here it has exactly one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TemplateWithBuilds {
    #[serde(rename = "templateID")]
    template_id: String,
    public: bool,
    aliases: Vec<String>,
    names: Vec<String>,
    created_at: When,
    updated_at: When,
    last_spawned_at: Option<()>,
    spawn_count: u64,
    builds: Vec<Build>,
}

/// What made a template.
#[expect(clippy::struct_field_names, reason = "the protocol's own names")]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Build {
    #[serde(rename = "buildID")]
    build_id: String,
    status: &'static str,
    created_at: When,
    updated_at: When,
    finished_at: When,
    cpu_count: u32,
    #[serde(rename = "memoryMB")]
    memory_mib: u64,
    #[serde(rename = "diskSizeMB")]
    disk_mib: u64,
    envd_version: &'static str,
}

/// The answer to "does this name exist".
#[derive(Debug, Serialize)]
pub(crate) struct Alias {
    #[serde(rename = "templateID")]
    pub(crate) template_id: String,
    pub(crate) public: bool,
}

/// Every team may use every template here.
const PUBLIC: bool = true;

impl From<&hood_engine::Template> for Template {
    fn from(template: &hood_engine::Template) -> Self {
        Self {
            template_id: template.id.clone(),
            build_id: build_id(template),
            cpu_count: template.resources.cpu.as_cores_ceil(),
            memory_mib: template.resources.memory.as_mib(),
            disk_mib: template.resources.disk.as_mib(),
            public: PUBLIC,
            aliases: vec![template.name.clone()],
            names: vec![template.name.clone()],
            created_at: When(template.created_at),
            updated_at: When(template.created_at),
            created_by: None,
            last_spawned_at: None,
            spawn_count: 0,
            build_count: 1,
            envd_version: ENVD_VERSION,
            build_status: "ready",
        }
    }
}

impl From<&hood_engine::Template> for TemplateWithBuilds {
    fn from(template: &hood_engine::Template) -> Self {
        Self {
            template_id: template.id.clone(),
            public: PUBLIC,
            aliases: vec![template.name.clone()],
            names: vec![template.name.clone()],
            created_at: When(template.created_at),
            updated_at: When(template.created_at),
            last_spawned_at: None,
            spawn_count: 0,
            builds: vec![Build {
                build_id: build_id(template),
                status: "ready",
                created_at: When(template.created_at),
                updated_at: When(template.created_at),
                finished_at: When(template.created_at),
                cpu_count: template.resources.cpu.as_cores_ceil(),
                memory_mib: template.resources.memory.as_mib(),
                disk_mib: template.resources.disk.as_mib(),
                envd_version: ENVD_VERSION,
            }],
        }
    }
}

/// Clients parse a build id as a UUID, so one is made from the contents' identity (RFC 9562, version 8).
fn build_id(template: &hood_engine::Template) -> String {
    let digest = Sha256::digest(template.root.key.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
