//! Variables and files through which the processes of a step reach registries as the host does.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

/// Where a step sees the lent files: on its tmpfs `/run`.
pub(crate) const LENT: &str = "/run/hood-build";

/// Variables passed on as they are: how to reach registries, and nothing about who runs the build.
const PASSED: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "PIP_NO_INDEX",
    "PIP_PROXY",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_RETRIES",
    "npm_config_registry",
];

/// Variables that name a bundle of certificates, in order of preference.
const CERTIFICATES: &[&str] = &["PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];
/// Where Debian keeps the bundle.
const SYSTEM_CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// Variables that the programs of a step read for the lent bundle.
const CERTIFICATES_INSIDE: &[&str] = &[
    "PIP_CERT",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
];

/// What is lent to one build.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loans {
    /// Variables for the processes of a step.
    pub(crate) env: BTreeMap<String, String>,
    /// Files of the host, each with its name beneath [`LENT`].
    pub(crate) files: Vec<(PathBuf, String)>,
    /// Folders of the host with packages (`PIP_FIND_LINKS`), each with its name beneath [`LENT`].
    pub(crate) folders: Vec<(PathBuf, String)>,
}

// === impl Loans ===

impl Loans {
    /// Reads the environment and configuration of this process's host.
    pub(crate) fn of_this_host() -> Self {
        Self::collect(
            |name| env::var(name).ok().filter(|value| !value.is_empty()),
            Path::is_file,
            Path::is_dir,
        )
    }

    fn collect(
        var: impl Fn(&str) -> Option<String>,
        is_file: impl Fn(&Path) -> bool,
        is_dir: impl Fn(&Path) -> bool,
    ) -> Self {
        let mut loans = Self::default();
        for name in PASSED {
            if let Some(value) = var(name) {
                loans.env.insert((*name).to_owned(), value);
            }
        }
        loans.lend_certificates(&var, &is_file);
        loans.lend_pip_configuration(&var, &is_file);
        loans.lend_packages(&var, &is_dir);
        loans
    }

    fn lend_certificates(&mut self, var: &impl Fn(&str) -> Option<String>, is_file: &impl Fn(&Path) -> bool) {
        let named = CERTIFICATES.iter().filter_map(|name| var(name));
        let bundle =
            named.chain([SYSTEM_CERTIFICATES.to_owned()]).map(PathBuf::from).find(|path| is_file(path));
        if let Some(bundle) = bundle {
            self.files.push((bundle, "certificates.pem".to_owned()));
            for name in CERTIFICATES_INSIDE {
                self.env.insert((*name).to_owned(), format!("{LENT}/certificates.pem"));
            }
        }
    }

    /// pip reads three levels; each is lent in the place of its level, because merging the files is pip's business.
    fn lend_pip_configuration(
        &mut self,
        var: &impl Fn(&str) -> Option<String>,
        is_file: &impl Fn(&Path) -> bool,
    ) {
        let home = var("HOME").map(PathBuf::from);
        let own =
            var("XDG_CONFIG_HOME").map(PathBuf::from).or(home.as_ref().map(|home| home.join(".config")));
        let levels = [
            ("XDG_CONFIG_DIRS", "pip-global", Some(PathBuf::from("/etc/pip.conf"))),
            ("XDG_CONFIG_HOME", "pip-user", own.map(|dir| dir.join("pip/pip.conf"))),
            ("PIP_CONFIG_FILE", "pip-file", var("PIP_CONFIG_FILE").map(PathBuf::from)),
        ];
        for (name, folder, file) in levels {
            let Some(file) = file.filter(|file| is_file(file)) else { continue };
            self.files.push((file, format!("{folder}/pip/pip.conf")));
            let value = match name {
                "PIP_CONFIG_FILE" => format!("{LENT}/{folder}/pip/pip.conf"),
                _ => format!("{LENT}/{folder}"),
            };
            self.env.insert(name.to_owned(), value);
        }
    }

    fn lend_packages(&mut self, var: &impl Fn(&str) -> Option<String>, is_dir: &impl Fn(&Path) -> bool) {
        let Some(links) = var("PIP_FIND_LINKS") else { return };
        let mut inside = Vec::new();
        for (n, link) in links.split_whitespace().enumerate() {
            if !link.starts_with('/') {
                inside.push(link.to_owned());
            } else if is_dir(Path::new(link)) {
                self.folders.push((PathBuf::from(link), format!("packages-{n}")));
                inside.push(format!("{LENT}/packages-{n}"));
            }
        }
        if !inside.is_empty() {
            self.env.insert("PIP_FIND_LINKS".to_owned(), inside.join(" "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loans(vars: &[(&str, &str)], files: &[&str], dirs: &[&str]) -> Loans {
        let find =
            |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let among = |list: &[&str], path: &Path| list.iter().any(|known| Path::new(known) == path);
        Loans::collect(find, |path| among(files, path), |path| among(dirs, path))
    }

    #[test]
    fn only_what_leads_to_registries_is_passed_on() {
        let lent = loans(
            &[("HTTPS_PROXY", "http://proxy.example"), ("AWS_SECRET_ACCESS_KEY", "s"), ("USER", "me")],
            &[],
            &[],
        );
        assert_eq!(
            lent.env.into_iter().collect::<Vec<_>>(),
            [("HTTPS_PROXY".to_owned(), "http://proxy.example".to_owned())]
        );
    }

    #[test]
    fn certificates_and_pip_files_are_seen_at_other_paths() {
        let lent =
            loans(&[("SSL_CERT_FILE", "/ca.pem"), ("HOME", "/root")], &["/ca.pem", "/etc/pip.conf"], &[]);
        assert_eq!(lent.env["PIP_CERT"], "/run/hood-build/certificates.pem");
        assert_eq!(lent.env["XDG_CONFIG_DIRS"], "/run/hood-build/pip-global");
        assert!(!lent.env.contains_key("XDG_CONFIG_HOME"));
        assert_eq!(lent.files[0].0, Path::new("/ca.pem"));
    }

    #[test]
    fn folders_with_packages_are_lent_if_they_exist() {
        let lent = loans(&[("PIP_FIND_LINKS", "/here /gone https://links.example")], &[], &["/here"]);
        assert_eq!(lent.env["PIP_FIND_LINKS"], "/run/hood-build/packages-0 https://links.example");
        assert_eq!(lent.folders, [(PathBuf::from("/here"), "packages-0".to_owned())]);
    }
}
