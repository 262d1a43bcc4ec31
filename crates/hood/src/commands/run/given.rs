//! What the user gives: the program and the files beside it.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use hood_client::Sandbox;
use tokio_util::io::ReaderStream;

use crate::cli::{Language, RunArguments};
use crate::exit::Hinted;
use crate::limits::RUN_PROGRAM;

/// Bytes of a file that are held while it is uploaded.
const CHUNK: usize = 64 << 10;
/// Stands for standard input.
const STDIN: &str = "-";

/// Everything for the sandbox, known to be readable.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) program: Item,
    language: Language,
    files: Vec<Item>,
}

/// One file.
#[derive(Debug)]
pub(super) struct Item {
    /// In the sandbox's workspace.
    pub(super) name: String,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Held(Bytes),
    At(PathBuf),
}

// === impl Given ===

impl Given {
    /// Looks at everything before a sandbox is made, so that nothing is done in vain.
    pub(super) fn read(arguments: &RunArguments) -> Result<Self> {
        let (program, language) = program(arguments)?;
        let files = arguments.files.iter().map(|path| Item::at(path)).collect::<Result<Vec<_>>>()?;
        let mut names = BTreeSet::from([program.name.as_str()]);
        for file in &files {
            if !names.insert(&file.name) {
                let message = format!("two of the files are called `{}`", file.name);
                return Err(Hinted::new(message, "they lie side by side in the sandbox: rename one").into());
            }
        }
        Ok(Self { program, language, files })
    }

    pub(super) fn interpreter(&self) -> &'static str {
        match self.language {
            Language::Python => "python3",
            Language::Bash => "bash",
        }
    }

    /// Puts everything into the working directory, and tells which that is.
    pub(super) async fn upload(&self, sandbox: &Sandbox) -> Result<String> {
        for file in &self.files {
            file.upload(sandbox).await?;
        }
        let path = self.program.upload(sandbox).await?;
        let workspace = path.strip_suffix(&self.program.name).unwrap_or(&path);
        Ok(workspace.trim_end_matches('/').to_owned())
    }
}

fn program(arguments: &RunArguments) -> Result<(Item, Language)> {
    if arguments.file == Path::new(STDIN) {
        if arguments.interactive {
            let hint = "read the program from a file, or leave out `--interactive`";
            return Err(Hinted::new("standard input cannot be both the program and its input", hint).into());
        }
        let language = arguments.language.unwrap_or(Language::Python);
        let name = match language {
            Language::Python => "main.py",
            Language::Bash => "main.sh",
        };
        let content = Content::Held(read_stdin()?);
        return Ok((Item { name: name.to_owned(), content }, language));
    }
    let item = Item::at(&arguments.file)?;
    let language = match (arguments.language, arguments.file.extension().and_then(|ending| ending.to_str())) {
        (Some(language), _) => language,
        (None, Some("py")) => Language::Python,
        (None, Some("sh" | "bash")) => Language::Bash,
        (None, _) => {
            let message = format!("the ending of `{}` tells no language", arguments.file.display());
            return Err(Hinted::new(message, "say it with `--language python` or `--language bash`").into());
        }
    };
    Ok((item, language))
}

fn read_stdin() -> Result<Bytes> {
    let mut text = Vec::new();
    std::io::stdin()
        .lock()
        .take(RUN_PROGRAM + 1)
        .read_to_end(&mut text)
        .context("cannot read the program from standard input")?;
    if text.len() as u64 > RUN_PROGRAM {
        let message = format!("the program on standard input is longer than {} MiB", RUN_PROGRAM >> 20);
        return Err(Hinted::new(message, "give data as files, with `--file`").into());
    }
    Ok(text.into())
}

// === impl Item ===

impl Item {
    fn at(path: &Path) -> Result<Self> {
        let shown = path.display();
        let found = std::fs::File::open(path).and_then(|file| file.metadata());
        let found = found.with_context(|| format!("cannot read `{shown}`"))?;
        if !found.is_file() {
            let message = format!("`{shown}` is not a regular file");
            return Err(Hinted::new(message, "give each file of a folder by itself").into());
        }
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.with_context(|| format!("the name of `{shown}` is not UTF-8"))?.to_owned();
        Ok(Self { name, content: Content::At(path.to_owned()) })
    }

    async fn upload(&self, sandbox: &Sandbox) -> Result<String> {
        let doing = || format!("`{}` was not uploaded", self.name);
        match &self.content {
            Content::Held(bytes) => sandbox.put(&self.name, bytes.clone()).await.with_context(doing),
            Content::At(path) => {
                let file = tokio::fs::File::open(path).await.with_context(doing)?;
                let stream = ReaderStream::with_capacity(file, CHUNK);
                sandbox.put_stream(&self.name, stream).await.with_context(doing)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn read(arguments: &[&str]) -> Result<Given> {
        let cli = Cli::try_parse_from([&["hood", "run"], arguments].concat()).unwrap();
        let Command::Run(arguments) = cli.command else { panic!("run") };
        Given::read(&arguments)
    }

    #[test]
    fn the_ending_tells_the_language() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, "").unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (py, sh, txt) = (make("a.py"), make("a.sh"), make("a.txt"));
        assert_eq!(read(&[&py]).unwrap().interpreter(), "python3");
        assert_eq!(read(&[&sh]).unwrap().interpreter(), "bash");
        assert!(read(&[&txt]).unwrap_err().to_string().contains("tells no language"));
        assert_eq!(read(&[&txt, "--language", "bash"]).unwrap().interpreter(), "bash");
    }

    #[test]
    fn what_cannot_be_given_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.py");
        std::fs::write(&path, "").unwrap();
        let (path, folder) = (path.to_str().unwrap(), dir.path().to_str().unwrap());
        assert!(read(&[path, "--file", path]).unwrap_err().to_string().contains("two of the files"));
        assert!(read(&[path, "--file", folder]).unwrap_err().to_string().contains("not a regular file"));
        assert!(read(&[path, "--file", "/none"]).unwrap_err().to_string().contains("cannot read `/none`"));
    }
}
