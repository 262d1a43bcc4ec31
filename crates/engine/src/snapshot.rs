//! Snapshots: a sandbox's files at one moment, kept as a template of its team's own.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use hood_driver_api::{Bytes, Origin, Resources, SandboxId, SnapshotId};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::table::lock;
use crate::{Blueprint, LookupError, TeamId, Template, limits};

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its id.
    pub id: SnapshotId,
    /// Whose it is.
    pub team: TeamId,
    /// What it is called; the newest of a name has it.
    pub name: Option<SnapshotName>,
    /// The sandbox that it was made of.
    pub source: SandboxId,
    /// That sandbox's template, by name.
    pub template_name: String,
    /// When it was made.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// What its sandboxes get unless the create call says otherwise.
    pub resources: Resources,
    /// What its sandboxes are built from, beside what was written.
    pub blueprint: Arc<Blueprint>,
    /// The size of what was written.
    pub bytes: Bytes,
}

/// The name of a snapshot, with its tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SnapshotName {
    name: String,
    tag: String,
}

/// The tag of a name without one.
const DEFAULT_TAG: &str = "default";

/// Which snapshots a listing wants.
#[derive(Debug, Clone, Default)]
pub struct SnapshotFilter {
    /// Only those made of this sandbox.
    pub source: Option<String>,
    /// Only those of this name; of every tag where it has none.
    pub name: Option<String>,
    /// Only those after this one, in the order of a listing: newest first.
    pub after: Option<SnapshotId>,
    /// At most this many.
    pub limit: usize,
}

// === impl Snapshot ===

impl Snapshot {
    /// As what sandboxes are made from.
    pub fn template(&self) -> Template {
        let Blueprint { root, envs, account, .. } = Blueprint::clone(&self.blueprint);
        Template {
            id: self.id.to_string(),
            name: self.name.as_ref().map_or_else(|| self.template_name.clone(), |name| name.name.clone()),
            created_at: self.created_at,
            root,
            origin: Origin::Snapshot { id: self.id.clone(), bytes: self.bytes },
            resources: self.resources,
            envs,
            account,
        }
    }
}

// === impl SnapshotName ===

impl SnapshotName {
    /// The name without its tag.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for SnapshotName {
    type Err = LookupError;

    /// Upper case is read as lower case, as E2B does.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.to_ascii_lowercase();
        let (name, tag) = lower.split_once(':').unwrap_or((&lower, DEFAULT_TAG));
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        let good = !name.is_empty()
            && !tag.is_empty()
            && lower.len() <= limits::SNAPSHOT_NAME
            && name.bytes().all(plain)
            && tag.bytes().all(|byte| plain(byte) || byte == b'.');
        if !good {
            return Err(LookupError::OutOfBounds {
                field: "name",
                bounds: format!(
                    "a name of letters, digits, `-` and `_`, and if wanted `:` and a tag, where `.` may stand, too; at most {} characters",
                    limits::SNAPSHOT_NAME
                ),
                given: format!("{:?}", text.chars().take(limits::SNAPSHOT_NAME).collect::<String>()),
            });
        }
        Ok(Self { name: name.to_owned(), tag: tag.to_owned() })
    }
}

impl TryFrom<String> for SnapshotName {
    type Error = LookupError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SnapshotName> for String {
    fn from(name: SnapshotName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for SnapshotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.tag)
    }
}

/// All snapshots of this node.
#[derive(Default)]
pub(crate) struct Snapshots {
    all: Mutex<BTreeMap<SnapshotId, Arc<Snapshot>>>,
    /// Who holds it may change which there are and who has which name, in the store and here.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

// === impl Snapshots ===

impl Snapshots {
    pub(crate) fn put(&self, snapshots: impl IntoIterator<Item = Snapshot>) {
        let new = snapshots.into_iter().map(|snapshot| (snapshot.id.clone(), Arc::new(snapshot)));
        lock(&self.all).extend(new);
    }

    pub(crate) fn remove(&self, id: &SnapshotId) {
        lock(&self.all).remove(id);
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.all).len()
    }

    pub(crate) fn knows(&self, id: &SnapshotId) -> bool {
        lock(&self.all).contains_key(id)
    }

    /// By id, or by name and tag.
    pub(crate) fn find(&self, team: &TeamId, reference: &str) -> Option<Arc<Snapshot>> {
        let all = lock(&self.all);
        let found = if let Ok(id) = reference.parse::<SnapshotId>() {
            all.get(&id)
        } else {
            let name: SnapshotName = reference.parse().ok()?;
            all.values().find(|snapshot| snapshot.team == *team && snapshot.name.as_ref() == Some(&name))
        };
        found.filter(|snapshot| snapshot.team == *team).cloned()
    }

    /// Newest first, with whether there are more.
    pub(crate) fn page(&self, team: &TeamId, filter: &SnapshotFilter) -> (Vec<Arc<Snapshot>>, bool) {
        let all = lock(&self.all);
        let position = |snapshot: &Snapshot| std::cmp::Reverse((snapshot.created_at, snapshot.id.clone()));
        let after = filter.after.as_ref().map(|id| all.get(id).map(|snapshot| position(snapshot)));
        let wanted = |snapshot: &&Arc<Snapshot>| {
            snapshot.team == *team
                && filter.source.as_ref().is_none_or(|source| snapshot.source.as_str() == source)
                && filter.name.as_ref().is_none_or(|name| is_called(snapshot, name))
                // What follows one that is gone nobody knows.
                && after.as_ref().is_none_or(|after| after.as_ref().is_some_and(|after| position(snapshot) > *after))
        };
        let mut page: Vec<_> = all.values().filter(wanted).cloned().collect();
        page.sort_by_cached_key(|snapshot| position(snapshot));
        let more = page.len() > filter.limit;
        page.truncate(filter.limit);
        (page, more)
    }
}

fn is_called(snapshot: &Snapshot, name: &str) -> bool {
    let Some(own) = &snapshot.name else { return false };
    let name = name.to_ascii_lowercase();
    if name.contains(':') { own.to_string() == name } else { own.name == name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_e2b_reads_them() {
        let name = |text: &str| text.parse::<SnapshotName>().map(|name| name.to_string());
        assert_eq!(name("Work").expect("good"), "work:default");
        assert_eq!(name("a_b-1:v1.2").expect("good"), "a_b-1:v1.2");
        for bad in ["", ":", "a:", ":v1", "a/b", "a b", "../x", "a.b", "a:b:c", "ü", &"x".repeat(500)] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}
