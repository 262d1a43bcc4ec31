//! Snapshots and the children of forks, as clients see them.

use hood_engine::{CreateError, Record};
use serde::Serialize;

use crate::reply::Reply;
use crate::wire::{Sandbox, When};

/// A snapshot.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Snapshot {
    #[serde(rename = "snapshotID")]
    id: String,
    names: Vec<String>,
    /// Ours, all below: what clients of the protocol do not know they pass over.
    memory: bool,
    #[serde(rename = "sandboxID")]
    sandbox_id: String,
    alias: String,
    created_at: When,
    size_bytes: u64,
}

/// A child of a fork, or why there is none.
#[derive(Debug, Serialize)]
pub(crate) struct Child {
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<Sandbox>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failed>,
    /// Ours: whether it goes on with its parent's processes.
    memory: bool,
}

#[derive(Debug, Serialize)]
struct Failed {
    code: u16,
    message: String,
}

/// Only files are kept: this driver cannot carry memory into another sandbox.
const MEMORY: bool = false;

// === impl Snapshot ===

impl Snapshot {
    pub(crate) fn of(snapshot: &hood_engine::Snapshot) -> Self {
        Self {
            id: snapshot.id.to_string(),
            names: snapshot.name.iter().map(ToString::to_string).collect(),
            memory: MEMORY,
            sandbox_id: snapshot.source.to_string(),
            alias: snapshot.template_name.clone(),
            created_at: When(snapshot.created_at),
            size_bytes: snapshot.bytes.0,
        }
    }
}

// === impl Child ===

impl Child {
    pub(crate) fn of(child: Result<Record, CreateError>, domain: &str) -> Self {
        match child {
            Ok(record) => Self { sandbox: Some(Sandbox::of(&record, domain)), error: None, memory: MEMORY },
            Err(error) => {
                let Reply { status, message, .. } = error.into();
                let error = Some(Failed { code: status.as_u16(), message });
                Self { sandbox: None, error, memory: MEMORY }
            }
        }
    }
}
