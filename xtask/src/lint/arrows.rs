//! The arrows between rooms (`ARCHITECTURE.md`, invariants 1 and 2), read from `cargo metadata`.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Outcome;
use crate::process::{cargo, read};

const LIMIT: Duration = Duration::from_secs(300);

/// Crates of ours, and those of ours that each may depend on. One that is not here may know nobody.
const MAY_KNOW: [(&str, &[&str]); 10] = [
    ("hood-driver-api", &["hood-wire"]),
    ("hood-beneath", &["hood-driver-api"]),
    ("hood-driver-native", &["hood-beneath", "hood-driver-api", "hood-wire"]),
    ("hood-engine", &["hood-driver-api", "hood-policy", "hood-wire"]),
    ("hood-gate", &["hood-driver-api", "hood-policy"]),
    ("hood-store", &["hood-engine"]),
    ("hood-dialect-e2b", &["hood-engine", "hood-policy", "hood-wire"]),
    ("hood-guest", &["hood-wire"]),
    ("hood-testkit", &["hood-engine", "hood-driver-api", "hood-wire"]),
    (
        "hood",
        &[
            "hood-agent",
            "hood-client",
            "hood-dialect-e2b",
            "hood-driver-api",
            "hood-driver-native",
            "hood-engine",
            "hood-gate",
            "hood-images",
            "hood-policy",
            "hood-store",
            "hood-wire",
        ],
    ),
];

/// How ceilings are declared: a macro without a thought of its own, which everybody may use.
const FOR_ALL: &str = "hood-limits";

/// Crates of others that only these of ours may depend on, and why.
const ONLY: [(&str, &[&str], &str); 9] = [
    ("axum", &["hood", "hood-dialect-e2b", "hood-guest"], "HTTP belongs to dialects and the guest"),
    (
        "hyper",
        &["hood", "hood-dialect-e2b", "hood-gate", "hood-guest"],
        "HTTP belongs to dialects, gate and guest",
    ),
    ("tower", &["hood", "hood-dialect-e2b", "hood-guest"], "HTTP belongs to dialects and the guest"),
    ("libc", &["hood-driver-native", "hood-guest"], "only a `sys` module needs what rustix lacks"),
    ("rusqlite", &["hood-store"], "the store is behind the engine's port"),
    (
        "rustix",
        &["hood", "hood-beneath", "hood-driver-native", "hood-gate", "hood-guest", "hood-images"],
        "the engine and the dialects know no Linux",
    ),
    ("reqwest", &["hood", "hood-agent", "hood-client"], "only clients call out"),
    ("anyhow", &["hood", "xtask"], "libraries have error enums"),
    ("tracing-subscriber", &["hood"], "a library writes events and leaves their display to the program"),
];

/// A dependency as declared.
struct Arrow {
    from: String,
    to: String,
    /// Only for tests and examples.
    is_dev: bool,
}

pub(super) fn check() -> Result<Outcome> {
    let metadata = read(cargo(LIMIT).args(["metadata", "--format-version", "1", "--no-deps", "--locked"]))?;
    let metadata = serde_json::from_str(&metadata).context("cargo metadata is no JSON")?;
    Ok(arrows(&metadata)
        .context("cargo metadata has another shape")?
        .iter()
        .filter_map(wrong)
        .collect::<Vec<_>>()
        .into())
}

fn arrows(metadata: &Value) -> Option<Vec<Arrow>> {
    let mut arrows = Vec::new();
    for package in metadata["packages"].as_array()? {
        for dependency in package["dependencies"].as_array()? {
            arrows.push(Arrow {
                from: package["name"].as_str()?.to_owned(),
                to: dependency["name"].as_str()?.to_owned(),
                is_dev: dependency["kind"] == "dev",
            });
        }
    }
    Some(arrows)
}

fn wrong(arrow: &Arrow) -> Option<String> {
    let Arrow { from, to, is_dev } = arrow;
    let is_ours = to == "hood" || to.starts_with("hood-");
    let is_dialect = |name: &str| name.starts_with("hood-dialect-");
    if *is_dev {
        let forbidden = is_ours && is_dialect(from) && is_dialect(to);
        return forbidden.then(|| format!("{from} → {to}: dialects do not know one another, tests included"));
    }
    if to == FOR_ALL {
        return None;
    }
    if is_ours {
        let may = MAY_KNOW.iter().find(|(name, _)| name == from).map_or(&[][..], |(_, may)| may);
        let text = || format!("{from} → {to}: this arrow is not in `MAY_KNOW` (xtask/src/lint/arrows.rs)");
        return (!may.contains(&to.as_str())).then(text);
    }
    let (_, only, why) = ONLY.iter().find(|(name, ..)| name == to)?;
    (!only.contains(&from.as_str())).then(|| format!("{from} → {to}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, to: &str, is_dev: bool, is_wrong: bool) {
        let arrow = Arrow { from: from.to_owned(), to: to.to_owned(), is_dev };
        assert_eq!(wrong(&arrow).is_some(), is_wrong, "{from} → {to}");
    }

    #[test]
    fn the_invariants_hold() {
        check("hood-engine", "axum", false, true);
        check("hood-engine", "rustix", false, true);
        check("hood-engine", "hood-driver-native", false, true);
        check("hood-engine", "hood-testkit", true, false);
        check("hood-dialect-modal", "hood-dialect-e2b", true, true);
        check("hood-dialect-e2b", "hood-driver-native", false, true);
        check("hood-agent", "hood-engine", false, true);
        check("hood-agent", "hood-limits", false, false);
        check("hood", "hood-driver-native", false, false);
        check("hood", "hood-testkit", false, true);
    }
}
