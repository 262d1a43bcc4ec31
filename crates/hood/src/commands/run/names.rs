//! What a sandbox calls a file is not what the host calls it: names are hostile until they have been through here.

use std::collections::HashSet;
use std::path::{Component, Path};

use crate::limits::{RUN_LEVELS, RUN_NAME};
use crate::terminal::is_dangerous;

/// Hands out names beneath a directory of the host, each once.
#[derive(Debug, Default)]
pub(super) struct Names {
    given: HashSet<String>,
}

impl Names {
    /// The name for the file at `path` in the sandbox, relative to `workspace`. `None` for what lies elsewhere, and for
    /// what nobody wants: hidden files and Python's caches.
    pub(super) fn for_path(&mut self, workspace: &str, path: &str) -> Option<String> {
        let inside = path.strip_prefix(workspace)?.strip_prefix('/')?;
        let parts: Vec<&str> = inside.split('/').collect();
        if parts.len() > RUN_LEVELS as usize
            || parts.iter().any(|part| part.starts_with('.') || *part == "__pycache__")
        {
            return None;
        }
        let name = parts.into_iter().map(component).collect::<Option<Vec<_>>>()?.join("/");
        Some(self.unique(&name))
    }

    fn unique(&mut self, name: &str) -> String {
        let mut candidate = name.to_owned();
        let mut n = 1;
        // Without case: the directory may lie on a file system that does not tell `A` from `a`.
        while !self.given.insert(candidate.to_lowercase()) {
            n += 1;
            candidate = format!("{name}-{n}");
        }
        candidate
    }
}

fn component(part: &str) -> Option<String> {
    let mut clean: String =
        part.chars().map(|char| if is_dangerous(char) || char == '\\' { '_' } else { char }).collect();
    while clean.len() > RUN_NAME {
        clean.pop();
    }
    // Whatever the rules above let through must be one plain name to the host.
    let mut components = Path::new(&clean).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == clean.as_str() => Some(clean),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        assert_eq!(Names::default().for_path("/home/user", path).as_deref(), expected, "{path:?}");
    }

    #[test]
    fn files_keep_their_place_in_the_workspace() {
        check("/home/user/a.csv", Some("a.csv"));
        check("/home/user/plots/Отчёт 1.png", Some("plots/Отчёт 1.png"));
    }

    #[test]
    fn no_name_leads_out_of_the_directory() {
        for path in [
            "/home/user/../../etc/passwd",
            "/home/user/a/../../b",
            "/home/user//etc/passwd",
            "/home/user/",
            "/home/user",
            "/home/user2/a",
            "/etc/passwd",
            "etc/passwd",
            "/home/user/..",
            "/home/user/./a",
        ] {
            check(path, None);
        }
        check("/home/user/a\\..\\b", Some("a_.._b"));
        check("/home/user/a\0b\u{1b}[2J", Some("a_b_[2J"));
        check("/home/user/\u{202e}gpj.exe", Some("_gpj.exe"));
    }

    #[test]
    fn hidden_files_and_caches_are_left() {
        check("/home/user/.bashrc", None);
        check("/home/user/a/.git/config", None);
        check("/home/user/__pycache__/a.pyc", None);
    }

    #[test]
    fn no_name_is_given_twice_and_none_is_endless() {
        let mut names = Names::default();
        let mut given = |path: &str| names.for_path("/w", path).unwrap();
        assert_eq!([given("/w/A"), given("/w/a"), given("/w/a")], ["A", "a-2", "a-3"]);
        assert!(given(&format!("/w/{}", "ы".repeat(300))).len() <= RUN_NAME);
        check(&format!("/home/user/{}f", "d/".repeat(100)), None);
    }
}
