//! From the path in a request to a path in the sandbox.

use crate::accounts::Account;
use crate::app::App;
use crate::limits::MAX_PATH;

/// The path cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathError {
    #[error("the path is empty")]
    Empty,
    #[error("the path contains a NUL byte")]
    Nul,
    #[error("the path is {0} bytes long, at most {MAX_PATH} are possible")]
    TooLong(usize),
}

/// Makes `path` absolute: `~` is the account's home; a relative path starts at the template's working directory, else
/// at the home (reference `e2b.md` 3.3). `.` and `..` are resolved by name, so that answers show the path as meant;
/// what a symbolic link does is the sandbox's own affair.
pub(crate) fn absolute(app: &App, account: &Account, path: &str) -> Result<String, PathError> {
    let base = app.config.account.workdir.as_deref().unwrap_or(&account.home);
    resolve(base, &account.home, path)
}

pub(crate) fn resolve(base: &str, home: &str, path: &str) -> Result<String, PathError> {
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    let joined = match path.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => format!("{home}{rest}"),
        _ if path.starts_with('/') => path.to_owned(),
        _ => format!("{base}/{path}"),
    };
    // A home of the sandbox's own making may hold one too.
    if joined.contains('\0') {
        return Err(PathError::Nul);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    let clean = format!("/{}", parts.join("/"));
    if clean.len() >= MAX_PATH {
        return Err(PathError::TooLong(clean.len()));
    }
    Ok(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        assert_eq!(resolve("/home/user", "/home/user", path).as_deref(), Ok(expected));
    }

    #[test]
    fn paths_become_absolute() {
        check("a b/é.txt", "/home/user/a b/é.txt");
        check("/tmp/../etc//x/", "/etc/x");
        check("~/x", "/home/user/x");
        check("~x", "/home/user/~x");
        check("../../../../etc", "/etc");
        check("-rf\n", "/home/user/-rf\n");
    }

    #[test]
    fn what_is_not_a_path_is_refused() {
        assert_eq!(resolve("/", "/", "a\0b"), Err(PathError::Nul));
        assert_eq!(resolve("/", "/ho\0me", "~/a"), Err(PathError::Nul));
        assert_eq!(resolve("/", "/", ""), Err(PathError::Empty));
        assert!(matches!(resolve("/", "/", &"x/".repeat(3000)), Err(PathError::TooLong(_))));
    }
}
