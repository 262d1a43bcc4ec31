//! Children that end with us, within a bound, and whose output can be read while it is shown.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// Bytes of a child's output that are kept: the last ones, where runners print their summary.
const KEPT: usize = 4 << 20;

/// How long a child that ignores SIGTERM may live on.
const GRACE: &str = "60";

/// A command whose process gets SIGTERM when we end, however that happens. `setpriv` is in every Debian, and spares us
/// a signal handler and unsafe code.
pub(crate) fn leashed(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--"]).arg(program).stdin(Stdio::null());
    command
}

/// The same, ended after `limit` with everything that it started.
pub(crate) fn bounded(limit: Duration, program: impl AsRef<OsStr>) -> Command {
    let mut command = leashed("timeout");
    command.args(["--kill-after", GRACE, &limit.as_secs().to_string()]).arg(program);
    command
}

/// Cargo, as the one that runs us.
pub(crate) fn cargo(limit: Duration) -> Command {
    let mut command = bounded(limit, std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::repo::root()).env("CARGO_TERM_COLOR", "never");
    command
}

/// Runs it with its output shown.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {}", shown(command)))?;
    ensure!(status.success(), "{} failed ({status})", shown(command));
    Ok(())
}

/// Runs it and hands back what it wrote to stdout.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {}", shown(command)))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed ({}): {}", shown(command), output.status, stderr.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs it with both its outputs shown, and hands back how it ended and the last of what it said.
pub(crate) fn follow(command: &mut Command) -> Result<(ExitStatus, String)> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    let again = writer.try_clone().context("cannot make a pipe")?;
    let mut child = command
        .stdout(writer)
        .stderr(again)
        .spawn()
        .with_context(|| format!("cannot run {}", shown(command)))?;
    // The command holds both ends for writing; the pipe ends when the child has the only ones.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut said = String::new();
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).context("cannot read a child's output")? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        said.push_str(&text);
        if said.len() > KEPT {
            let cut = said.char_indices().map(|(at, _)| at).find(|at| *at >= KEPT / 2).unwrap_or_default();
            said.drain(..cut);
        }
        line.clear();
    }
    Ok((child.wait().context("cannot wait for a child")?, said))
}

/// Whether a program of this name can be run; also looks where only root's path leads.
pub(crate) fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let root_only = ["/usr/sbin", "/sbin"].map(Into::into);
    std::env::split_paths(&path).chain(root_only).any(|folder| folder.join(program).is_file())
}

/// A command as a person would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    // What puts it on its leash is of no interest.
    let skipped = match words.iter().position(|word| *word == "--") {
        Some(at) if words.get(at + 1).is_some_and(|word| *word == "timeout") => at + 5,
        Some(at) => at + 1,
        None => 0,
    };
    let name = |word: &std::borrow::Cow<'_, str>| {
        Path::new(word.as_ref()).file_name().map_or(word.to_string(), |name| name.to_string_lossy().into())
    };
    let mut rest = words.iter().skip(skipped);
    let first = rest.next().map(name).unwrap_or_default();
    rest.fold(first, |all, word| format!("{all} {word}"))
}
