//! A file is one idea: beyond 400 lines it is named, beyond 700 it fails.

use std::path::Path;

use anyhow::Result;

use super::Outcome;
use crate::repo;

const THINK_TWICE: usize = 400;
const TOO_LONG: usize = 700;

pub(super) fn check() -> Result<Outcome> {
    let mut wrong = Vec::new();
    for file in repo::files()?.iter().filter(|file| is_counted(file)) {
        let lines = repo::text(file).unwrap_or_default().lines().count();
        if lines > TOO_LONG {
            wrong.push(format!("{}: {lines} lines, at most {TOO_LONG}; split it", file.display()));
        } else if lines > THINK_TWICE {
            println!("         note: {} has {lines} lines", file.display());
        }
    }
    Ok(wrong.into())
}

/// Rust and Python, without tests and what programs wrote.
fn is_counted(file: &Path) -> bool {
    let is_code = file.extension().is_some_and(|ending| ending == "rs" || ending == "py");
    let is_left_out = file.components().any(|part| {
        let part = part.as_os_str();
        part == "tests" || part == "tests.rs" || part == "generated"
    });
    is_code && !is_left_out
}
