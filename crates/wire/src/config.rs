//! What the host tells a guest before its first instruction.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything a guest needs to know; sent once, as one JSON line, over the control socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestConfig {
    /// [`crate::PROTOCOL`] of the host.
    pub protocol: u32,
    /// The sandbox's id, as clients see it.
    pub sandbox_id: String,
    /// The template's id, as clients see it.
    pub template_id: String,
    /// Token that every request on either port must carry, except where the protocol says otherwise.
    pub access_token: String,
    /// Environment of every process: the image's, then the create call's, already merged.
    pub envs: BTreeMap<String, String>,
    /// Who runs commands and contexts when a request names nobody.
    pub account: Account,
    /// Ceilings the guest keeps itself.
    pub limits: GuestLimits,
    /// The language whose kernels the host can fork from a nursery, if any.
    #[serde(default)]
    pub nursery: Option<String>,
    /// The payload's seccomp program (`struct sock_filter` array, base64), loaded by the guest into every process
    /// that it starts. The guest itself runs under a slightly wider one.
    pub filter: String,
    /// Unix time in nanoseconds at which the host sent this.
    pub sent_at_ns: i128,
}

/// The template's default account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// A name from the template's `/etc/passwd`.
    pub user: String,
    /// Working directory; the account's home when absent.
    pub workdir: Option<String>,
}

/// Ceilings kept inside the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestLimits {
    /// Memory of the sandbox in bytes, for reports.
    pub memory_bytes: u64,
    /// CPU in thousandths of a core, for reports.
    pub cpu_milli: u32,
    /// Disk of the writable layer in bytes, for reports; 0 when the host cannot enforce one.
    pub disk_bytes: u64,
}
