//! The directory that a run fills. Only this file writes on the host.

use std::{
    io,
    path::{Path, PathBuf},
};

use tokio::{fs, io::AsyncWriteExt};

/// An empty directory of the user's, to be filled with the answer, the charts and the files of one run.
#[derive(Debug)]
pub struct Out {
    dir: PathBuf,
}

/// Why a run's directory cannot be used, or a file not be written into it.
#[derive(Debug, thiserror::Error)]
pub enum OutError {
    /// Something is in it already.
    #[error("`{}` is not empty", dir.display())]
    NotEmpty {
        /// The directory.
        dir: PathBuf,
    },
    /// It is a file, or may not be made or read.
    #[error("cannot use `{}` as the directory for the results", dir.display())]
    Unusable {
        /// The directory.
        dir: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl OutError {
    /// What the user can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NotEmpty { .. } => {
                "name a new directory with `--out`: results are never mixed with older ones"
            }
            Self::Unusable { .. } => "name another directory with `--out`",
            Self::Write { .. } => "look at the space and the permissions there",
        }
        .to_owned()
    }
}

impl Out {
    /// Makes `dir`, or takes it when it is empty. Done before a model is asked, so that nothing is spent in vain.
    pub async fn create(dir: &Path) -> Result<Self, OutError> {
        let unusable = |source| OutError::Unusable { dir: dir.to_owned(), source };
        fs::create_dir_all(dir).await.map_err(unusable)?;
        let mut entries = fs::read_dir(dir).await.map_err(unusable)?;
        if entries.next_entry().await.map_err(unusable)?.is_some() {
            return Err(OutError::NotEmpty { dir: dir.to_owned() });
        }
        Ok(Self { dir: dir.to_owned() })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a new file beneath the directory. `name` is one of ours or has been through [`crate::names`]; a
    /// file that is there already is an error, never overwritten, and a link is not followed.
    pub(crate) async fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutError> {
        let path = self.dir.join(name);
        self.write_new(&path, bytes).await.map_err(|source| OutError::Write { path, source })
    }

    async fn write_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).await?;
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path).await?;
        file.write_all(bytes).await?;
        file.flush().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_with_something_in_it_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine"), "").unwrap();
        assert!(matches!(Out::create(dir.path()).await, Err(OutError::NotEmpty { .. })));
        assert!(matches!(Out::create(&dir.path().join("mine")).await, Err(OutError::Unusable { .. })));
    }

    #[tokio::test]
    async fn nothing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let out = Out::create(&dir.path().join("new")).await.unwrap();
        out.write("charts/a", b"1").await.unwrap();
        assert!(matches!(out.write("charts/a", b"2").await, Err(OutError::Write { .. })));
        assert_eq!(std::fs::read(out.dir().join("charts/a")).unwrap(), b"1");
    }
}
