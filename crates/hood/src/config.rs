//! The server's configuration file: `hood.toml` in the data directory, or what `--config` names. Everything in it has
//! a default; a server without the file is whole.
//!
//! ```toml
//! [gate]
//! profile = "packages"                  # which profile bounds sandboxes that name none
//! package_hosts = ["index.example.org"] # what the profile `packages` opens
//! dns_servers = ["192.0.2.53"]          # else those of the host
//! keep_audit_days = 30
//!
//! [gate.hosts]                          # names answered without asking anybody
//! "registry.corp.example" = ["10.1.2.3"]
//!
//! [gate.profiles.corp]                  # at most this, whatever a create call says
//! open = ["10.1.2.0/24"]
//! policy = { allow = [{ to = { name = "registry.corp.example" }, ports = [443] }] }
//! ```

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hood_policy::{Allow, Base, Ceiling, Pattern, Policy, Severity, Target, validate_ceiling};
use serde::Deserialize;

/// The file in the data directory.
const NAME: &str = "hood.toml";

/// The profile of a server that says nothing: everything public.
pub(crate) const OPEN: &str = "open";

/// The profile for installing packages.
const PACKAGES: &str = "packages";

/// Ports that package indexes are reached at.
const PACKAGE_PORTS: [u16; 2] = [443, 80];

/// All of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) gate: Gate,
}

/// What leaves sandboxes.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Gate {
    /// Which profile bounds sandboxes that name none.
    pub(crate) profile: String,
    /// Profiles by name, beside `open` and `packages`.
    pub(crate) profiles: BTreeMap<String, Ceiling>,
    /// Hosts that the profile `packages` opens.
    package_hosts: Vec<Pattern>,
    /// Name servers; the host's own when empty.
    pub(crate) dns_servers: Vec<IpAddr>,
    /// Names answered without asking anybody.
    pub(crate) hosts: BTreeMap<String, Vec<IpAddr>>,
    /// Certificates in PEM of further authorities that the gate believes where it opens TLS.
    pub(crate) extra_ca: Option<PathBuf>,
    keep_audit_days: u32,
}

// === impl Gate ===

impl Default for Gate {
    fn default() -> Self {
        Self {
            profile: OPEN.to_owned(),
            profiles: BTreeMap::new(),
            package_hosts: Vec::new(),
            dns_servers: Vec::new(),
            hosts: BTreeMap::new(),
            extra_ca: None,
            keep_audit_days: 30,
        }
    }
}

impl Gate {
    /// How long audit entries are kept.
    pub(crate) fn keep_audit(&self) -> Duration {
        Duration::from_secs(u64::from(self.keep_audit_days) * 24 * 60 * 60)
    }

    /// Every profile there is. A create call may name any of them, so the open one is there only where it is what
    /// sandboxes get anyway.
    pub(crate) fn ceilings(&self) -> BTreeMap<String, Ceiling> {
        let mut all = self.profiles.clone();
        if self.profile == OPEN {
            all.insert(OPEN.to_owned(), Ceiling::default());
        }
        if !self.package_hosts.is_empty() {
            all.insert(PACKAGES.to_owned(), Ceiling { policy: self.packages(), open: Vec::new() });
        }
        all
    }

    fn packages(&self) -> Policy {
        let allow = |host: &Pattern| Allow { to: Target::Name(host.clone()), ports: PACKAGE_PORTS.to_vec() };
        Policy {
            base: Base::Closed,
            allow: self.package_hosts.iter().map(allow).collect(),
            ..Policy::default()
        }
    }

    fn check(&self) -> Result<()> {
        for reserved in [OPEN, PACKAGES] {
            if self.profiles.contains_key(reserved) {
                bail!("`gate.profiles.{reserved}` is built in; give yours another name");
            }
        }
        for (name, ceiling) in &self.profiles {
            if let Err(wrong) = validate_ceiling(ceiling) {
                let texts: Vec<_> = wrong
                    .iter()
                    .filter(|finding| finding.severity == Severity::Error)
                    .map(ToString::to_string)
                    .collect();
                bail!("`gate.profiles.{name}`: {}", texts.join("; "));
            }
        }
        if self.profile == PACKAGES && self.package_hosts.is_empty() {
            bail!(
                "`gate.profile` is `packages`, which opens what `gate.package_hosts` lists, and that is empty: list \
                 the hosts of your package indexes there"
            );
        }
        let known = self.ceilings();
        if !known.contains_key(&self.profile) {
            let names: Vec<_> = std::iter::once(OPEN).chain(known.keys().map(String::as_str)).collect();
            bail!("`gate.profile` names `{}`; there are {}", self.profile, names.join(", "));
        }
        Ok(())
    }
}

/// Reads the file that was named, or that of the data directory if it is there.
pub(crate) fn read(named: Option<&Path>, data_dir: &Path) -> Result<File> {
    let path = named.map_or_else(|| data_dir.join(NAME), Path::to_owned);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => {
            return Ok(File::default());
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read the configuration {}", path.display()));
        }
    };
    parse(&text).with_context(|| format!("the configuration {} does not fit", path.display()))
}

fn parse(text: &str) -> Result<File> {
    let file: File = toml::from_str(text)?;
    file.gate.check()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use hood_policy::{Attempt, FirstBytes, Protocol, Verdict, decide};

    use super::*;

    #[track_caller]
    fn refused(text: &str, part: &str) {
        let error = format!("{:#}", parse(text).expect_err("refused"));
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn nothing_said_is_everything_public() {
        let gate = parse("").expect("a file").gate;
        assert_eq!(gate.profile, OPEN);
        assert_eq!(gate.ceilings().keys().collect::<Vec<_>>(), [OPEN]);
        assert_eq!(gate.keep_audit(), Duration::from_secs(30 * 86_400));
    }

    #[test]
    fn where_the_owner_has_chosen_another_profile_no_call_can_name_the_open_one() {
        let text = "[gate]\nprofile = 'packages'\npackage_hosts = ['index.example.org']";
        let gate = parse(text).expect("a file").gate;
        assert_eq!(gate.ceilings().keys().collect::<Vec<_>>(), [PACKAGES]);
    }

    #[test]
    fn the_packages_profile_opens_what_is_listed_and_nothing_else() {
        let gate = parse("[gate]\npackage_hosts = ['index.example.org']").expect("a file").gate;
        let ceiling = &gate.ceilings()[PACKAGES];
        let open = Policy { base: Base::Open, ..Policy::default() };
        let verdict = |name: &str, port| {
            let name = name.parse().expect("a name");
            let to = SocketAddr::from(([93, 184, 216, 34], port));
            decide(
                &open,
                ceiling,
                &Attempt {
                    to,
                    name: Some(&name),
                    looked_up: true,
                    protocol: Protocol::Tls,
                    first_bytes: FirstBytes::Read,
                },
            )
        };
        assert!(matches!(verdict("index.example.org", 443), Verdict::Allow(_)));
        assert!(matches!(verdict("index.example.org", 22), Verdict::Deny(_)));
        assert!(matches!(verdict("example.net", 443), Verdict::Deny(_)));
    }

    #[test]
    fn mistakes_are_named() {
        refused("[gate]\nprofile = 'corp'", "names `corp`; there are open");
        refused("[gate]\nprofile = 'packages'", "`gate.package_hosts`");
        refused("[gate.profiles.open]", "built in");
        refused("[gate.profiles.a]\npolicy = { allow = [{ to = { name = '*.com' } }] }", "`gate.profiles.a`");
        refused("[gate]\nprofil = 'x'", "unknown field `profil`");
        refused("[gate.profiles.a]\nopen = ['10.0.0.0/33']", "no address and no range");
    }

    #[test]
    fn the_example_above_is_a_good_file() {
        let source = include_str!("config.rs");
        let lines = source.lines().skip_while(|line| !line.contains("```toml")).skip(1);
        let example: Vec<_> = lines
            .take_while(|line| !line.contains("```"))
            .map(|line| line.trim_start_matches("//!"))
            .collect();
        let file = parse(&example.join("\n")).expect("a good file");
        assert_eq!(file.gate.profiles.len(), 1);
    }
}
