//! How long each part took, and the table of it.

use std::time::{Duration, Instant};

use anyhow::Result;

/// The parts so far.
#[derive(Debug, Default)]
pub(crate) struct Timing {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    name: String,
    took: Duration,
    outcome: String,
}

impl Timing {
    /// Does `work` under a heading, and notes how long it took. What it says is shown in the table.
    pub(crate) fn part<T>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<T>,
        outcome: impl FnOnce(&T) -> String,
    ) -> Result<T> {
        println!("\n== {name}");
        let began = Instant::now();
        let result = work();
        let outcome = match &result {
            Ok(value) => outcome(value),
            Err(error) => format!("failed: {error}"),
        };
        self.parts.push(Part { name: name.to_owned(), took: began.elapsed(), outcome });
        result
    }

    /// The same for work that has nothing to say.
    pub(crate) fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.part(name, work, |_| "done".to_owned())
    }

    /// All parts, for people.
    pub(crate) fn print(&self) {
        let width = self.parts.iter().map(|part| part.name.len()).max().unwrap_or_default();
        println!();
        for part in &self.parts {
            println!("{:width$}  {:>7.1} s  {}", part.name, part.took.as_secs_f64(), part.outcome);
        }
        let whole: Duration = self.parts.iter().map(|part| part.took).sum();
        println!("{:width$}  {:>7.1} s", "together", whole.as_secs_f64());
    }
}
