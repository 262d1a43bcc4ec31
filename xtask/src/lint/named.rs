//! The tests that `SECURITY.md` names as proofs are there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Outcome;
use crate::repo;

const PAGE: &str = "SECURITY.md";

/// Endings of the files that prove something, or that the page sends a reader to.
const ENDINGS: [&str; 4] = [".py", ".rs", ".toml", ".txt"];

/// Where a name without a folder lies.
const USUAL: &str = "tests/hostile";

/// A page that names fewer has lost its table.
const AT_LEAST: usize = 40;

pub(super) fn check() -> Result<Outcome> {
    let text = repo::text(Path::new(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let named: Vec<_> = names(&text).collect();
    let mut wrong: Vec<_> = named
        .iter()
        .filter(|name| !candidates(name).iter().any(|path| repo::root().join(path).is_file()))
        .map(|name| format!("{PAGE} names `{name}`, which is neither in {USUAL} nor beneath the root"))
        .collect();
    if named.len() < AT_LEAST {
        wrong.push(format!("{PAGE} names {} files, fewer than {AT_LEAST}", named.len()));
    }
    Ok(wrong.into())
}

/// Words in backticks that end as files do.
fn names(text: &str) -> impl Iterator<Item = &str> {
    // Text between backticks is every second part.
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|word| {
        let is_one_word = !word.contains(|c: char| c.is_whitespace() || "*<>{}$".contains(c));
        is_one_word && !word.starts_with('/') && ENDINGS.iter().any(|ending| word.ends_with(ending))
    })
}

fn candidates(name: &str) -> [PathBuf; 2] {
    [PathBuf::from(name), Path::new(USUAL).join(name)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_other_words() {
        let text = "see `test_a01.py` and `tests/x.py`, `hood serve`, `/etc/x.toml`, `tests/*.py`, `os.py x`";
        assert_eq!(names(text).collect::<Vec<_>>(), ["test_a01.py", "tests/x.py"]);
    }
}
