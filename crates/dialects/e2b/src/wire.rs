//! E2B's JSON, in its own names. Validation is where these become the engine's words, and nowhere else.

mod ask;
mod log;
mod metric;
mod network;
mod policy;
mod sandbox;
mod secret;
mod snapshot;
mod template;
mod volume;
mod when;

pub(crate) use ask::{Changes, Hood, NewSandbox, Timeout, VolumeMount, WithTimeout, seconds};
pub(crate) use log::{LogEntry, LogLineV1, Logs, LogsV2, level};
pub(crate) use metric::{Metric, Metrics};
pub(crate) use network::{Network, NetworkUpdate};
pub(crate) use policy::policy;
pub(crate) use sandbox::{ListedSandbox, Notes, Sandbox, SandboxDetail, mint_traffic_token};
pub(crate) use secret::Secret;
pub(crate) use snapshot::{Child, Snapshot};
pub(crate) use template::{Alias, Template, TemplateWithBuilds};
pub(crate) use volume::{Stat, Volume, VolumeAndToken};
pub(crate) use when::{When, parse_time};

/// The envd version that the guest's services are compatible with; clients switch features by it (reference 3.5).
pub const ENVD_VERSION: &str = "0.6.13";

/// A legacy field without meaning that clients still require.
pub(crate) const CLIENT_ID: &str = "hood";
