//! What a client asks for: create, connect, timeout.

use std::collections::BTreeMap;
use std::time::Duration;

use hood_engine::{AtDeadline, Bytes, MilliCpu, MountAsk, ResourceAsk, RootMode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::reply::Reply;
use crate::wire::{Network, Notes, mint_traffic_token, policy};

/// The body of a create call, v1 and v2 together; `secure` and whatever else is unknown is ignored, as E2B does.
#[derive(Debug, Deserialize)]
pub(crate) struct NewSandbox {
    #[serde(rename = "templateID")]
    pub(crate) template_id: String,
    timeout: Option<i64>,
    #[serde(rename = "autoPause")]
    auto_pause: Option<bool>,
    #[serde(rename = "autoPauseMemory")]
    auto_pause_memory: Option<bool>,
    #[serde(rename = "autoResume")]
    auto_resume: Option<AutoResume>,
    allow_internet_access: Option<bool>,
    network: Option<Network>,
    metadata: Option<BTreeMap<String, String>>,
    #[serde(rename = "envVars")]
    env_vars: Option<BTreeMap<String, String>>,
    iam: Option<Value>,
    #[serde(rename = "volumeMounts")]
    volume_mounts: Option<Vec<VolumeMount>>,
    /// Our extension.
    pub(crate) hood: Option<Hood>,
}

/// A volume, by name or id, and where it shall lie.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct VolumeMount {
    name: String,
    path: String,
}

#[derive(Debug, Deserialize)]
struct AutoResume {
    enabled: Option<bool>,
}

/// What E2B's create call has no words for. Being ours, unknown names in it are mistakes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Hood {
    #[serde(rename = "memoryMB")]
    memory_mib: Option<u64>,
    cpus: Option<f64>,
    #[serde(rename = "diskMB")]
    disk_mib: Option<u64>,
    pids: Option<u32>,
    #[serde(default)]
    pub(crate) read_only_root: bool,
}

/// The body of our call to change a sandbox that lives.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changes {
    metadata: Option<BTreeMap<String, String>>,
    hood: Option<Ceilings>,
}

/// Those that can be changed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ceilings {
    #[serde(rename = "memoryMB")]
    memory_mib: Option<u64>,
    cpus: Option<f64>,
}

/// The body of connect, resume and set-timeout.
#[derive(Debug, Deserialize)]
pub(crate) struct WithTimeout {
    pub(crate) timeout: Option<i64>,
}

/// Whether zero seconds make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timeout {
    /// Set-timeout: zero ends the sandbox now.
    MayBeZero,
    /// Create: it would never have lived.
    Positive,
}

/// A duration from a client's number of seconds; the upper bound is the engine's.
pub(crate) fn seconds(field: &str, given: i64, zero: Timeout) -> Result<Duration, Reply> {
    let least = match zero {
        Timeout::MayBeZero => 0,
        Timeout::Positive => 1,
    };
    match u64::try_from(given) {
        Ok(secs) if given >= least => Ok(Duration::from_secs(secs)),
        _ => Err(Reply::invalid(format!("`{field}` must be at least {least} s, not {given}"))),
    }
}

// === impl NewSandbox ===

impl NewSandbox {
    /// In the engine's words. `default_timeout_secs` differs between the generations of the call.
    pub(crate) fn into_engine(
        self,
        default_timeout_secs: i64,
        root_mode: RootMode,
    ) -> Result<hood_engine::NewSandbox, Reply> {
        self.refuse_what_is_not_here()?;
        let timeout = seconds("timeout", self.timeout.unwrap_or(default_timeout_secs), Timeout::Positive)?;
        let pauses = self.auto_pause.unwrap_or(false);
        let auto_resume = self.auto_resume.and_then(|ask| ask.enabled).unwrap_or(false);
        let egress = self.network.as_ref().map(|network| network.egress.clone()).unwrap_or_default();
        let policy = policy(&egress, self.allow_internet_access)?;
        let mounts = self.volume_mounts.unwrap_or_default();
        let ask = |mount: &VolumeMount| MountAsk { volume: mount.name.clone(), path: mount.path.clone() };
        let volumes = mounts.iter().map(ask).collect();
        let notes = Notes {
            mounts,
            traffic_token: self.network.as_ref().filter(|n| n.is_private()).map(|_| mint_traffic_token()),
            network: self.network,
        };
        if self.auto_pause_memory == Some(false) && !pauses {
            return Err(Reply::invalid("`autoPauseMemory: false` needs `autoPause: true`"));
        }
        if self.auto_pause_memory == Some(false) && auto_resume {
            return Err(Reply::invalid("`autoPauseMemory: false` excludes `autoResume.enabled: true`"));
        }
        Ok(hood_engine::NewSandbox {
            template: self.template_id,
            timeout,
            metadata: self.metadata.unwrap_or_default(),
            envs: self.env_vars.unwrap_or_default(),
            resources: self.hood.as_ref().map(Hood::resources).transpose()?,
            root_mode,
            volumes,
            policy: Box::new(policy),
            at_deadline: match (pauses, self.auto_pause_memory) {
                (false, _) => AtDeadline::End,
                (true, Some(false)) => AtDeadline::PauseFiles,
                (true, _) => AtDeadline::Pause,
            },
            auto_resume,
            internet: self.allow_internet_access,
            notes: notes.into_map()?,
        })
    }

    /// A sandbox that lacked these silently would be a trap; `mcp` is not among them, for its gateway is started by
    /// the SDK itself, from the template.
    fn refuse_what_is_not_here(&self) -> Result<(), Reply> {
        let tokens = self.iam.as_ref().and_then(|iam| iam.get("tokens")).and_then(Value::as_object);
        if tokens.is_some_and(|tokens| !tokens.is_empty()) {
            return Err(Reply::invalid(
                "`iam` is not supported by this server yet; create the sandbox without it",
            ));
        }
        Ok(())
    }
}

// === impl Changes ===

impl Changes {
    /// What the engine shall replace.
    pub(crate) fn ask(self) -> Result<hood_engine::Change, Reply> {
        let Self { metadata, hood } = self;
        let hood = hood.unwrap_or_default();
        Ok(hood_engine::Change {
            metadata,
            memory: hood.memory_mib.map(|n| mib("hood.memoryMB", n)).transpose()?,
            cpu: hood.cpus.map(cpus).transpose()?,
        })
    }
}

// === impl Hood ===

impl Hood {
    fn resources(&self) -> Result<ResourceAsk, Reply> {
        Ok(ResourceAsk {
            memory: self.memory_mib.map(|n| mib("hood.memoryMB", n)).transpose()?,
            cpu: self.cpus.map(cpus).transpose()?,
            disk: self.disk_mib.map(|n| mib("hood.diskMB", n)).transpose()?,
            pids: self.pids,
        })
    }
}

fn mib(field: &str, given: u64) -> Result<Bytes, Reply> {
    given
        .checked_mul(1 << 20)
        .map(Bytes)
        .ok_or_else(|| Reply::invalid(format!("`{field}` is too large: {given}")))
}

fn cpus(given: f64) -> Result<MilliCpu, Reply> {
    /// Beyond any machine, and still exact in thousandths.
    const MOST: f64 = 1e6;
    if given > 0.0 && given <= MOST {
        Ok(MilliCpu((given * 1000.0).round() as u32))
    } else {
        Err(Reply::invalid(format!("`hood.cpus` must be a number of cores above 0, not {given}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(json: &str) -> Result<hood_engine::NewSandbox, Reply> {
        let parsed: NewSandbox = serde_json::from_str(json).expect("fits");
        parsed.into_engine(300, RootMode::Writable)
    }

    #[track_caller]
    fn refused(json: &str, expected: &str) {
        let message = ask(json).expect_err("refused").message;
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn what_the_sdks_send_is_understood() {
        let new = ask(r#"{"templateID":"base","metadata":{"k":"v"},"envVars":{},"secure":true,"autoPause":false,
            "autoResume":null,"mcp":{"a":{}},"iam":{"tokens":{}},"volumeMounts":[],"allow_internet_access":false}"#)
        .expect("accepted");
        assert_eq!(new.timeout, Duration::from_secs(300));
        assert_eq!(new.internet, Some(false));
        assert_eq!(new.metadata["k"], "v");
        assert!(new.resources.is_none());
    }

    #[test]
    fn our_extension_sets_resources() {
        let new =
            ask(r#"{"templateID":"t","hood":{"memoryMB":512,"cpus":0.5,"pids":64}}"#).expect("accepted");
        let asked = new.resources.expect("asked");
        assert_eq!(asked.memory, Some(Bytes::mib(512)));
        assert_eq!(asked.cpu, Some(MilliCpu(500)));
        assert_eq!((asked.disk, asked.pids), (None, Some(64)));
        refused(r#"{"templateID":"t","hood":{"cpus":-1}}"#, "`hood.cpus`");
        let unknown = serde_json::from_str::<NewSandbox>(r#"{"templateID":"t","hood":{"memory":1}}"#);
        assert!(unknown.expect_err("a typo").to_string().contains("unknown field `memory`"));
    }

    #[test]
    fn what_cannot_be_kept_is_refused_by_name() {
        refused(r#"{"templateID":"t","timeout":0}"#, "`timeout` must be at least 1 s, not 0");
        refused(r#"{"templateID":"t","timeout":-5}"#, "`timeout`");
        refused(r#"{"templateID":"t","iam":{"tokens":{"aws":{}}}}"#, "`iam`");
        refused(r#"{"templateID":"t","autoPauseMemory":false}"#, "needs `autoPause: true`");
    }
}
