//! What a sandbox calls a file is not what the host calls it: names from a sandbox are hostile until they have
//! been through here.

use std::collections::HashSet;

use crate::{
    limits::{NAME_BYTES, NAME_DEPTH},
    text::boundary,
    workbench::HOME,
};

/// Names that the run itself writes into its directory.
const OWN: [&str; 4] = ["answer.md", "run.json", "charts", "files"];

/// Hands out names beneath the run's directory, each once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    given: HashSet<String>,
}

impl Names {
    /// The name for a file of the sandbox: what lies in `output` goes to the top, everything else beneath
    /// `files`. The result is relative, has no `..`, no empty, hidden or overlong component and no control
    /// characters; `None` for what nobody wants: caches and hidden files.
    pub(crate) fn for_path(&mut self, path: &str) -> Option<String> {
        let inside = path.strip_prefix(HOME).filter(|rest| rest.starts_with('/')).unwrap_or(path);
        let mut parts: Vec<&str> =
            inside.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
        if parts.iter().any(|part| part.starts_with('.') || *part == "__pycache__") {
            return None;
        }
        let is_output = parts.len() > 1 && parts[0] == "output";
        if is_output {
            parts.remove(0);
        }
        let mut clean: Vec<String> = parts.iter().map(|part| component(part)).collect();
        if clean.len() > NAME_DEPTH {
            let file = clean.pop()?;
            let folded = clean.split_off(NAME_DEPTH - 2).join("_");
            clean.extend([shorten(&folded), file]);
        }
        let first = clean.first_mut()?;
        if !is_output {
            return Some(self.unique(&format!("files/{}", clean.join("/"))));
        }
        if OWN.contains(&first.to_lowercase().as_str()) {
            *first = numbered(first, 2);
        }
        Some(self.unique(&clean.join("/")))
    }

    /// The name in the sandbox for an uploaded file: its last component, and a number when it is taken.
    pub(crate) fn for_upload(&mut self, given: &str) -> String {
        let last = given.rsplit(['/', '\\']).find(|part| !matches!(*part, "" | "." | ".."));
        let name = component(last.unwrap_or("file"));
        // The folder for results is there already.
        self.unique(&if name == "output" { numbered(&name, 2) } else { name })
    }

    fn unique(&mut self, name: &str) -> String {
        let mut candidate = name.to_owned();
        let mut n = 1;
        // Compared without case: the directory may lie on a file system that does not tell `A` from `a`.
        while !self.given.insert(candidate.to_lowercase()) {
            n += 1;
            candidate = numbered(name, n);
        }
        candidate
    }
}

/// `a/report.pdf` as `a/report-2.pdf`.
fn numbered(name: &str, n: u32) -> String {
    let file_at = name.rfind('/').map_or(0, |at| at + 1);
    match name[file_at..].rfind('.').filter(|at| *at > 0) {
        Some(dot) => format!("{}-{n}{}", &name[..file_at + dot], &name[file_at + dot..]),
        None => format!("{name}-{n}"),
    }
}

/// One component without anything that a file system, a terminal or a shell trips over.
fn component(part: &str) -> String {
    let clean: String = part
        .chars()
        .map(|char| {
            // Marks that turn the direction of text make `gpj.exe` look like `exe.jpg`.
            let turns =
                matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            if char.is_control() || turns || matches!(char, '\\' | '/') { '_' } else { char }
        })
        .collect();
    let clean = clean.trim();
    if matches!(clean, "" | "." | "..") { "_".to_owned() } else { shorten(clean) }
}

fn shorten(name: &str) -> String {
    if name.len() <= NAME_BYTES {
        return name.to_owned();
    }
    let ending = name.rfind('.').map(|at| &name[at..]).filter(|ending| ending.len() <= 16).unwrap_or("");
    format!("{}{ending}", &name[..boundary(name, NAME_BYTES - ending.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        assert_eq!(Names::default().for_path(path).as_deref(), expected, "{path:?}");
    }

    #[test]
    fn what_is_in_output_goes_to_the_top() {
        check("/home/user/output/report.pdf", Some("report.pdf"));
        check("/home/user/output/tables/a.csv", Some("tables/a.csv"));
        check("/home/user/clean.csv", Some("files/clean.csv"));
        check("/home/user/output", Some("files/output"));
        check("/tmp/x", Some("files/tmp/x"));
        check("/home/user2/x", Some("files/home/user2/x"));
    }

    #[test]
    fn no_name_leads_out_of_the_directory() {
        check("/home/user/output/../../../etc/passwd", Some("etc/passwd"));
        check("../../etc/passwd", Some("files/etc/passwd"));
        check("/home/user/output//etc//passwd", Some("etc/passwd"));
        check("/home/user/output/..\\..\\x", None);
        check("/home/user/output/a\\b", Some("a_b"));
        check("/home/user/output/a\0b\nc", Some("a_b_c"));
        check("/home/user/output/\u{202e}gpj.exe", Some("_gpj.exe"));
        check("/home/user/output/ ", Some("_"));
        check("/", None);
        check("..", None);
    }

    #[test]
    fn hidden_files_and_caches_are_left() {
        check("/home/user/.cache/matplotlib/fontlist.json", None);
        check("/home/user/__pycache__/a.pyc", None);
    }

    #[test]
    fn names_of_our_own_are_not_given_away() {
        check("/home/user/output/run.json", Some("run-2.json"));
        check("/home/user/output/Answer.md", Some("Answer-2.md"));
        check("/home/user/output/charts/chart-1.png", Some("charts-2/chart-1.png"));
        check("/home/user/output/files/x", Some("files-2/x"));
        check("/home/user/output/charts", Some("charts-2"));
    }

    #[test]
    fn no_name_is_given_twice() {
        let mut names = Names::default();
        let paths =
            ["/home/user/output/a.b/R.txt", "/home/user/output/a.b/r.txt", "/home/user/output/a.b//R.txt"];
        let given = paths.map(|path| names.for_path(path).unwrap());
        assert_eq!(given, ["a.b/R.txt", "a.b/r-2.txt", "a.b/R-3.txt"]);
    }

    #[test]
    fn long_and_deep_names_are_shortened() {
        let mut names = Names::default();
        let long = names.for_path(&format!("/home/user/output/{}.xlsx", "ы".repeat(300))).unwrap();
        assert!(long.len() <= NAME_BYTES && long.ends_with("ы.xlsx"));
        let deep = names.for_path(&format!("/home/user/output/{}f.txt", "d/".repeat(1000))).unwrap();
        assert_eq!(deep.split('/').count(), NAME_DEPTH);
        assert!(deep.ends_with("/f.txt") && deep.len() < 400);
    }

    #[test]
    fn uploads_keep_their_last_component() {
        let mut names = Names::default();
        let given =
            ["data/sales.csv", "../sales.csv", "C:\\x\\Отчёт 1.csv", ".."].map(|n| names.for_upload(n));
        assert_eq!(given, ["sales.csv", "sales-2.csv", "Отчёт 1.csv", "file"]);
    }
}
