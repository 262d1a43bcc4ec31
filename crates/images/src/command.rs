//! A child process whose output and time are bounded.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{BuildError, StoreError};
use crate::limits::{LINE_BYTES, LINES_WAITING, OUTPUT_LINES};
use crate::progress::Progress;

/// Where programs of root are looked for.
pub(crate) const ROOT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What a command belongs to, for errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purpose<'a> {
    /// Title of the step.
    pub(crate) step: &'a str,
    /// The program, as a person would call it.
    pub(crate) program: &'a str,
    /// How long it may take.
    pub(crate) limit: Duration,
}

/// Finds `tool` on the host.
pub(crate) fn find_tool(tool: &'static str, package: &'static str) -> Result<PathBuf, BuildError> {
    ROOT_PATH
        .split(':')
        .map(|dir| Path::new(dir).join(tool))
        .find(|path| path.is_file())
        .ok_or(BuildError::MissingTool { tool, package })
}

/// Runs `command` to its end and passes its lines on.
pub(crate) fn run(
    mut command: Command,
    purpose: Purpose<'_>,
    progress: &dyn Progress,
) -> Result<(), BuildError> {
    let io = |operation| StoreError::io::<io::Error>(operation, Path::new(purpose.program));
    let (reader, writer) = io::pipe().map_err(io("make a pipe for"))?;
    let both = writer.try_clone().map_err(io("make a pipe for"))?;
    let mut child = command.stdin(Stdio::null()).stdout(writer).stderr(both).spawn().map_err(io("start"))?;
    // The command holds the writing ends; the reader would wait for itself.
    drop(command);

    let (sender, lines) = mpsc::sync_channel(LINES_WAITING);
    thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        while let Ok(Some(line)) = read_line(&mut reader) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });

    let mut tail = VecDeque::with_capacity(OUTPUT_LINES);
    let ended = follow(&lines, Instant::now() + purpose.limit, |line| {
        progress.line(&line);
        if tail.len() == OUTPUT_LINES {
            tail.pop_front();
        }
        tail.push_back(line);
    });
    let (step, program) = (purpose.step.to_owned(), purpose.program.to_owned());
    if let Output::Endless = ended {
        kill(&mut child).map_err(io("kill"))?;
        return Err(BuildError::TimedOut {
            step,
            command: program,
            limit: purpose.limit,
            output: tail.into(),
        });
    }
    let status = child.wait().map_err(io("wait for"))?;
    if status.success() {
        return Ok(());
    }
    Err(BuildError::Command { step, command: program, code: status.code(), output: tail.into() })
}

enum Output {
    Ended,
    Endless,
}

fn follow(lines: &Receiver<String>, deadline: Instant, mut each: impl FnMut(String)) -> Output {
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => each(line),
            Err(RecvTimeoutError::Disconnected) => return Output::Ended,
            Err(RecvTimeoutError::Timeout) => return Output::Endless,
        }
    }
}

/// The child is the outermost of a chain in which each dies with its parent, down to the first process of the step's pid
/// namespace, which takes all others with it.
fn kill(child: &mut Child) -> io::Result<()> {
    child.kill()?;
    child.wait().map(drop)
}

/// A line without its end, cut at [`LINE_BYTES`]; a carriage return ends a line too, because progress bars use it.
fn read_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut is_cut = false;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() && line.is_empty() {
            return Ok(None);
        }
        let end = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let room = LINE_BYTES - line.len();
        is_cut |= part.len() > room;
        line.extend_from_slice(&part[..part.len().min(room)]);
        let (used, is_last) = (end.map_or(chunk.len(), |at| at + 1), end.is_some() || chunk.is_empty());
        reader.consume(used);
        if is_last && (!line.is_empty() || end.is_none()) {
            let mut text = String::from_utf8_lossy(&line).into_owned();
            if is_cut {
                text.push('…');
            }
            return Ok(Some(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    struct Lines(RefCell<Vec<String>>);

    impl Progress for Lines {
        fn step(&self, _n: usize, _of: usize, _title: &str) {}
        fn line(&self, text: &str) {
            self.0.borrow_mut().push(text.to_owned());
        }
    }

    fn shell(script: &str, limit: Duration) -> (Result<(), BuildError>, Vec<String>) {
        let lines = Lines(RefCell::new(Vec::new()));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let result = run(command, Purpose { step: "test", program: "sh", limit }, &lines);
        (result, lines.0.into_inner())
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn lines_of_both_outputs_arrive_in_order() {
        let (result, lines) = shell("echo a; echo b >&2; printf 'c\\rd\\n\\ne'", LONG);
        assert!(result.is_ok());
        assert_eq!(lines, ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn a_failure_keeps_its_code_and_its_last_lines() {
        let (result, lines) = shell("seq 1000; exit 7", LONG);
        assert_eq!(lines.len(), 1000);
        let Err(BuildError::Command { code, output, .. }) = result else { panic!("{result:?}") };
        assert_eq!((code, output.len()), (Some(7), OUTPUT_LINES));
        assert_eq!(output.last().map(String::as_str), Some("1000"));
    }

    #[test]
    fn an_endless_line_is_cut() {
        let (result, lines) = shell("head -c 100000 /dev/zero | tr '\\0' x", LONG);
        assert!(result.is_ok());
        assert_eq!((lines.len(), lines[0].len()), (1, LINE_BYTES + '…'.len_utf8()));
    }

    #[test]
    fn a_command_that_hangs_is_killed() {
        let (result, lines) = shell("echo begun; exec sleep 1000", Duration::from_millis(300));
        assert_eq!(lines, ["begun"]);
        assert!(matches!(result, Err(BuildError::TimedOut { .. })), "{result:?}");
    }
}
