//! Invariant 3: `unsafe` lives in two `sys` modules, and every other crate forbids it.

use std::path::Path;

use anyhow::Result;

use super::Outcome;
use crate::repo;

/// Crates that are nothing but raw system calls.
const ALL_SYS: [&str; 1] = ["crates/drivers/native/joiner/src"];

/// Crates with a `sys` module.
const WITH_SYS: [&str; 2] = ["crates/drivers/native", "crates/guest"];

/// How unsafe code begins.
const OPENINGS: [&str; 5] = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe trait"];

pub(super) fn check() -> Result<Outcome> {
    let mut wrong = Vec::new();
    for file in repo::files()?.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
        let text = repo::text(file).unwrap_or_default();
        if !may_be_unsafe(file) {
            let uses = text.lines().enumerate().filter(|(_, line)| is_unsafe(line));
            wrong.extend(
                uses.map(|(at, _)| format!("{}:{}: unsafe outside of `sys`", file.display(), at + 1)),
            );
        }
        if is_crate_root(file) && !declares(file, &text) {
            wrong.push(format!("{}: must say `#![forbid(unsafe_code)]`", file.display()));
        }
    }
    Ok(wrong.into())
}

fn may_be_unsafe(file: &Path) -> bool {
    let is_all_sys = ALL_SYS.iter().any(|of| file.starts_with(of));
    is_all_sys
        || WITH_SYS.iter().any(|of| {
            let source = Path::new(of).join("src");
            file.starts_with(source.join("sys")) || file == source.join("sys.rs")
        })
}

fn is_unsafe(line: &str) -> bool {
    let line = line.trim_start();
    !line.starts_with("//") && !line.contains('"') && OPENINGS.iter().any(|opening| line.contains(opening))
}

fn is_crate_root(file: &Path) -> bool {
    let is_source = file.parent().is_some_and(|folder| folder.ends_with("src"));
    is_source && file.file_name().is_some_and(|name| name == "lib.rs" || name == "main.rs")
}

fn declares(file: &Path, text: &str) -> bool {
    let has_sys = WITH_SYS.iter().any(|of| file.starts_with(of));
    let is_all_sys = ALL_SYS.iter().any(|of| file.starts_with(of));
    is_all_sys
        || text.contains("#![forbid(unsafe_code)]")
        || has_sys && text.contains("#![deny(unsafe_code)]")
}
