//! The Debian mirror of this host, for another suite.

use std::path::Path;
use std::{fs, io};

use crate::error::{BuildError, StoreError};

/// The component that packages come from.
const COMPONENT: &str = "main";
/// Ends of the suites of one release: the release itself, its point updates and its security updates.
const POCKETS: [&str; 3] = ["", "-updates", "-security"];

/// `deb` lines for a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sources(Vec<String>);

/// One archive of the host's configuration.
#[derive(Debug, PartialEq, Eq)]
struct Archive {
    uri: String,
    suite: String,
    signed_by: Option<String>,
}

/// Derives the sources of `suite` from `mirror`, or from the apt configuration of this host.
pub(crate) fn read_sources(suite: &str, mirror: Option<&str>) -> Result<Sources, BuildError> {
    match mirror {
        Some(uri) if is_address(uri) => Ok(Sources(vec![format!("deb {uri} {suite} {COMPONENT}")])),
        Some(uri) => Err(BuildError::BadMirror(uri.to_owned())),
        None => {
            let release = fs::read_to_string("/etc/os-release").map_err(read("/etc/os-release"))?;
            Sources::derive(&host_archives()?, codename(&release).unwrap_or("stable"), suite)
        }
    }
}

// === impl Sources ===

impl Sources {
    fn derive(archives: &[Archive], own: &str, suite: &str) -> Result<Self, BuildError> {
        let mut lines = Vec::new();
        for archive in archives.iter().filter(|archive| archive.is_debian()) {
            for pocket in POCKETS {
                let names = [format!("{own}{pocket}"), format!("stable{pocket}")];
                let line = format!("deb {} {suite}{pocket} {COMPONENT}", archive.uri);
                if names.contains(&archive.suite) && !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        // Updates alone are no archive.
        let base = format!(" {suite} {COMPONENT}");
        if lines.iter().any(|line| line.ends_with(&base)) {
            Ok(Self(lines))
        } else {
            Err(BuildError::NoMirror)
        }
    }

    /// As arguments of `mmdebstrap`.
    pub(crate) fn lines(&self) -> &[String] {
        &self.0
    }

    /// As a `sources.list` that may be shown to everybody: without credentials.
    pub(crate) fn public_list(&self) -> String {
        self.0.iter().map(|line| without_credentials(line) + "\n").collect()
    }
}

// === impl Archive ===

impl Archive {
    /// Other vendors name their suites after Debian's releases too, so the name alone does not tell: what counts is the
    /// key that signs it, and where none is named, the customary path.
    fn is_debian(&self) -> bool {
        match &self.signed_by {
            Some(key) => key.contains("debian-archive"),
            None => {
                self.uri.trim_end_matches('/').rsplit('/').next().is_some_and(|end| end.starts_with("debian"))
            }
        }
    }
}

fn host_archives() -> Result<Vec<Archive>, BuildError> {
    let mut archives = Vec::new();
    let list = Path::new("/etc/apt/sources.list");
    if list.exists() {
        archives.extend(one_line_style(&fs::read_to_string(list).map_err(read(list))?));
    }
    let dir = Path::new("/etc/apt/sources.list.d");
    let mut files = match fs::read_dir(dir) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>(),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(source),
    }
    .map_err(read(dir))?;
    files.sort();
    for file in files {
        let parse: fn(&str) -> Vec<Archive> = match file.extension().and_then(|end| end.to_str()) {
            Some("list") => one_line_style,
            Some("sources") => deb822_style,
            _ => continue,
        };
        archives.extend(parse(&fs::read_to_string(&file).map_err(read(&file))?));
    }
    Ok(archives)
}

/// `deb [signed-by=KEY] URI SUITE COMPONENT…`
fn one_line_style(text: &str) -> Vec<Archive> {
    text.lines().filter_map(one_line).collect()
}

fn one_line(line: &str) -> Option<Archive> {
    let rest = line.split('#').next()?.trim().strip_prefix("deb ")?.trim();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?, words.next()?);
    (is_address(uri) && words.any(|word| word == COMPONENT)).then(|| Archive {
        uri: uri.to_owned(),
        suite: suite.to_owned(),
        signed_by: signed_by.map(str::to_owned),
    })
}

/// Stanzas of `Key: value`; values may go on in lines that begin with a space.
fn deb822_style(text: &str) -> Vec<Archive> {
    text.split("\n\n").flat_map(stanza).collect()
}

fn stanza(text: &str) -> Vec<Archive> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':') {
            fields.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let field =
        |key: &str| fields.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value.as_str());
    let has = |key: &str, word: &str| field(key).split_whitespace().any(|value| value == word);
    if !has("types", "deb") || !has("components", COMPONENT) || field("enabled") == "no" {
        return Vec::new();
    }
    let signed_by = Some(field("signed-by")).filter(|key| !key.is_empty());
    let suites = || field("suites").split_whitespace();
    field("uris")
        .split_whitespace()
        .filter(|uri| is_address(uri))
        .flat_map(|uri| suites().map(move |suite| (uri, suite)))
        .map(|(uri, suite)| Archive {
            uri: uri.to_owned(),
            suite: suite.to_owned(),
            signed_by: signed_by.map(str::to_owned),
        })
        .collect()
}

fn codename(os_release: &str) -> Option<&str> {
    os_release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
        .map(|name| name.trim_matches('"'))
}

fn is_address(uri: &str) -> bool {
    (uri.starts_with("http://") || uri.starts_with("https://")) && !uri.contains([' ', '\t', '\n', '[', ']'])
}

fn without_credentials(line: &str) -> String {
    let Some((before, after)) = line.split_once("://") else { return line.to_owned() };
    let host_end = after.find(['/', ' ']).unwrap_or(after.len());
    let host_start = after[..host_end].rfind('@').map_or(0, |at| at + 1);
    format!("{before}://{}", &after[host_start..])
}

fn read<P: AsRef<Path>>(path: P) -> impl FnOnce(io::Error) -> StoreError + use<P> {
    let path = path.as_ref().to_owned();
    move |source| StoreError::Io { operation: "read", path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(archives: Vec<Archive>, expected: &[&str]) {
        assert_eq!(Sources::derive(&archives, "bookworm", "trixie").unwrap().lines(), expected);
    }

    #[test]
    fn a_deb822_file_gives_the_other_suite() {
        let text = "Types: deb\n# a remark\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\n\
                    Components: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n\
                    Types: deb\nURIs: http://mirror.example/debian-security\nSuites:\n bookworm-security\n\
                    Components: main contrib\n";
        check(
            deb822_style(text),
            &[
                "deb http://mirror.example/debian trixie main",
                "deb http://mirror.example/debian trixie-updates main",
                "deb http://mirror.example/debian-security trixie-security main",
            ],
        );
    }

    #[test]
    fn one_line_files_do_as_well_and_other_vendors_are_left_out() {
        let text = "# deb http://commented.example/debian bookworm main\n\
                    deb [arch=amd64 signed-by=/etc/vendor.gpg] https://vendor.example/debian bookworm main\n\
                    deb https://other.example/tools bookworm main\n\
                    deb-src http://mirror.example/debian bookworm main\n\
                    deb http://mirror.example/debian bookworm main contrib # here\n\
                    deb http://mirror.example/debian bookworm-backports main\n";
        check(one_line_style(text), &["deb http://mirror.example/debian trixie main"]);
    }

    #[test]
    fn a_host_without_debian_is_told_so() {
        let archives = one_line_style("deb http://mirror.example/ubuntu noble main\n");
        assert!(matches!(Sources::derive(&archives, "noble", "trixie"), Err(BuildError::NoMirror)));
        assert!(matches!(read_sources("trixie", Some("mirror.example")), Err(BuildError::BadMirror(_))));
    }

    #[test]
    fn credentials_of_the_mirror_stay_on_the_host() {
        let sources = Sources(vec!["deb https://me:s@cret@mirror.example/debian trixie main".to_owned()]);
        assert_eq!(sources.public_list(), "deb https://mirror.example/debian trixie main\n");
    }
}
