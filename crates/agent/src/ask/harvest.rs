//! Fetches what is new in the sandbox when the model is done.

use std::collections::HashMap;

use crate::{
    Event, Events, Out, Workbench,
    limits::{FILE_BYTES, FILES, FILES_BYTES},
    names::Names,
    record::{FileRecord, SkippedRecord},
    text::grouped,
    workbench::{Entry, HOME},
};

/// What was fetched, and what was not.
#[derive(Debug, Default)]
pub(super) struct Harvest {
    pub(super) files: Vec<FileRecord>,
    pub(super) skipped: Vec<SkippedRecord>,
}

impl Harvest {
    /// Fetches every file that was not there before or has changed since. One that cannot be had is skipped with
    /// its reason; the others are fetched all the same.
    pub(super) async fn fetch(&mut self, bench: &dyn Workbench, before: &[Entry], out: &Out, on: Events<'_>) {
        let mut after = match bench.list(HOME).await {
            Ok(after) => after,
            Err(error) => return self.skip(HOME, error.to_string()),
        };
        // Deliverables first: should a limit be met, it is met by something else. Then a fixed order.
        let output = format!("{HOME}/output/");
        after.sort_by(|a, b| {
            (!a.path.starts_with(&output), &a.path).cmp(&(!b.path.starts_with(&output), &b.path))
        });
        let known: HashMap<_, _> = before.iter().map(|entry| (&*entry.path, entry)).collect();
        let mut names = Names::default();
        let mut fetched = 0;
        for entry in after.iter().filter(|entry| known.get(&*entry.path) != Some(entry)) {
            let Some(name) = names.for_path(&entry.path) else { continue };
            match self.fetch_one(bench, entry, &name, fetched, out).await {
                Ok(bytes) => {
                    fetched += bytes;
                    on(Event::Saved { path: name.clone() });
                    self.files.push(FileRecord { name, path: entry.path.clone(), bytes });
                }
                Err(why) => self.skip(&entry.path, why),
            }
        }
    }

    async fn fetch_one(
        &self,
        bench: &dyn Workbench,
        entry: &Entry,
        name: &str,
        fetched: u64,
        out: &Out,
    ) -> Result<u64, String> {
        if self.files.len() >= FILES {
            return Err(format!("{FILES} files are the limit of a run"));
        }
        within(entry.size, fetched)?;
        let bytes = bench.get(&entry.path).await.map_err(|error| error.to_string())?;
        // The listing was the sandbox's word.
        within(bytes.len() as u64, fetched)?;
        out.write(name, &bytes).await.map_err(|error| error.to_string())?;
        Ok(bytes.len() as u64)
    }

    fn skip(&mut self, path: &str, why: String) {
        self.skipped.push(SkippedRecord { path: path.to_owned(), why });
    }
}

fn within(size: u64, fetched: u64) -> Result<(), String> {
    if size > FILE_BYTES {
        return Err(format!(
            "it has {} bytes, the limit of a file is {}",
            grouped(size),
            grouped(FILE_BYTES)
        ));
    }
    if fetched + size > FILES_BYTES {
        return Err(format!("all files together would have more than {} bytes", grouped(FILES_BYTES)));
    }
    Ok(())
}
