//! What no file of the repository may say: hosts of package registries, and paths of the machine it was written on.

use anyhow::Result;

use super::Outcome;
use crate::repo;

/// In two halves, or this file would say them. Cargo's lock names its registry by itself.
const HOSTS: [(&str, &str); 9] = [
    ("crates", ".io"),
    ("pypi", ".org"),
    ("python", "hosted.org"),
    ("npm", "js.org"),
    ("npm", "js.com"),
    ("deb.", "debian.org"),
    ("security.", "debian.org"),
    ("node", "source.com"),
    ("proxy.golang", ".org"),
];

/// Folders of one machine.
const FOLDERS: [(&str, &str); 2] = [("/wo", "rk/"), ("/fa", "rm/")];

/// Made by a program that always names its source.
const LEFT_OUT: [&str; 1] = ["Cargo.lock"];

pub(super) fn check() -> Result<Outcome> {
    let mut wrong = Vec::new();
    for file in repo::files()?.iter().filter(|file| LEFT_OUT.iter().all(|name| !file.ends_with(name))) {
        let text = repo::text(file).unwrap_or_default();
        for (at, line) in text.lines().enumerate() {
            if let Some(word) = said(line) {
                wrong.push(format!("{}:{}: says `{word}`", file.display(), at + 1));
            }
        }
    }
    Ok(wrong.into())
}

fn said(line: &str) -> Option<String> {
    let joined = |(one, other): &(&str, &str)| format!("{one}{other}");
    let host = HOSTS.iter().map(joined).find(|host| line.contains(host));
    host.or_else(|| FOLDERS.iter().map(joined).find(|folder| begins_a_path(line, folder)))
}

/// Whether the folder stands where a path begins: in the middle of one it is somebody else's.
fn begins_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(|before| !before.is_alphanumeric() && !"._-$})*".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_the_end_of_another() {
        let folder = FOLDERS[0].0.to_owned() + FOLDERS[0].1;
        assert!(begins_a_path(&format!("see {folder}main"), &folder));
        assert!(!begins_a_path(&format!("$tmp{folder}upper"), &folder));
    }
}
