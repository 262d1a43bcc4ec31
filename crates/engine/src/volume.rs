//! Volumes: files that a team's sandboxes share and that outlive them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hood_driver_api::{Bytes, VolumeId};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::table::lock;
use crate::{LookupError, TeamId, Token, limits};

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Its id.
    pub id: VolumeId,
    /// Whose it is.
    pub team: TeamId,
    /// What its team calls it; no two of a team have the same.
    pub name: String,
    /// Opens its files.
    pub token: Token,
    /// When it was made.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// How much fits in.
    pub size: Bytes,
}

/// All volumes of this node.
#[derive(Default)]
pub(crate) struct Volumes {
    all: Mutex<BTreeMap<VolumeId, Arc<Volume>>>,
    /// Who holds it may change which there are, or take one into a new sandbox.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

// === impl Volumes ===

impl Volumes {
    pub(crate) fn put(&self, volumes: impl IntoIterator<Item = Volume>) {
        let new = volumes.into_iter().map(|volume| (volume.id.clone(), Arc::new(volume)));
        lock(&self.all).extend(new);
    }

    pub(crate) fn remove(&self, id: &VolumeId) {
        lock(&self.all).remove(id);
    }

    pub(crate) fn get(&self, id: &VolumeId) -> Option<Arc<Volume>> {
        lock(&self.all).get(id).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.all).len()
    }

    /// By id or by name.
    pub(crate) fn find(&self, team: &TeamId, reference: &str) -> Option<Arc<Volume>> {
        let all = lock(&self.all);
        let mut own = all.values().filter(|volume| volume.team == *team);
        own.find(|volume| volume.id.as_str() == reference || volume.name == reference).cloned()
    }

    /// A team's, oldest first.
    pub(crate) fn of(&self, team: &TeamId) -> Vec<Arc<Volume>> {
        let mut own: Vec<_> =
            lock(&self.all).values().filter(|volume| volume.team == *team).cloned().collect();
        own.sort_by_key(|volume| (volume.created_at, volume.id.clone()));
        own
    }
}

/// Whether a volume can be called so.
pub(crate) fn check_name(name: &str) -> Result<(), LookupError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=limits::VOLUME_NAME).contains(&name.len()) && name.bytes().all(plain) {
        return Ok(());
    }
    Err(LookupError::OutOfBounds {
        field: "name",
        bounds: format!("1 to {} letters, digits, `-` and `_`", limits::VOLUME_NAME),
        given: format!("{:?}", name.chars().take(limits::VOLUME_NAME).collect::<String>()),
    })
}

/// Where nothing can be mounted: what the server itself puts there would be hidden, or would hide the volume.
const RESERVED: [&str; 5] = ["/proc", "/sys", "/dev", "/run", "/tmp"];

/// Whether volumes can lie at these places of one tree; otherwise why not.
pub(crate) fn check_paths(paths: &[&str]) -> Result<(), String> {
    let within = |path: &str, folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if paths.len() > limits::VOLUMES_EACH {
        return Err(format!("one sandbox may have {} of them", limits::VOLUMES_EACH));
    }
    for (n, path) in paths.iter().enumerate() {
        let parts = path.strip_prefix('/').map(|rest| rest.split('/'));
        let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        if !parts.is_some_and(|mut parts| parts.all(is_plain)) || path.len() > limits::MOUNT_PATH {
            return Err(format!(
                "`{}` is no absolute path of at most {} bytes without `.`, `..` and a `/` at its end",
                path.chars().take(64).collect::<String>(),
                limits::MOUNT_PATH
            ));
        }
        if let Some(reserved) = RESERVED.iter().find(|reserved| within(path, reserved)) {
            return Err(format!("`{path}` lies in `{reserved}`, which is the server's"));
        }
        if let Some(other) = paths.iter().enumerate().find(|(m, other)| *m != n && within(path, other)) {
            return Err(format!("`{path}` lies in `{}`, where another is", other.1));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_absolute_plain_and_apart() {
        for good in
            [vec!["/data"], vec!["/home/user/a", "/home/user/b"], vec!["/data", "/data2"], vec!["/procs"]]
        {
            assert_eq!(check_paths(&good), Ok(()), "{good:?}");
        }
        for bad in [
            vec!["/"],
            vec![""],
            vec!["data"],
            vec!["/data/"],
            vec!["/a//b"],
            vec!["/a/../b"],
            vec!["/a/./b"],
            vec!["/proc"],
            vec!["/proc/self"],
            vec!["/tmp/x"],
            vec!["/a\0b"],
            vec!["/data", "/data"],
            vec!["/data", "/data/sub"],
            vec!["/data/sub", "/data"],
        ] {
            assert!(check_paths(&bad).is_err(), "{bad:?}");
        }
        let many: Vec<_> = (0..=limits::VOLUMES_EACH).map(|n| format!("/v{n}")).collect();
        assert!(check_paths(&many.iter().map(String::as_str).collect::<Vec<_>>()).is_err());
        assert!(check_paths(&[&format!("/{}", "x".repeat(limits::MOUNT_PATH))]).is_err());
    }

    #[test]
    fn names_are_e2b_s() {
        assert!(check_name("Data_1-x").is_ok());
        for bad in ["", "a/b", "..", "a b", "a.b", &"x".repeat(limits::VOLUME_NAME + 1)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
