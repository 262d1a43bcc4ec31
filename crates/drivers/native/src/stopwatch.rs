//! How long each step of a creation took, for one line in the log: `HOOD_LOG=hood_driver_native=debug`.

use std::fmt;
use std::time::{Duration, Instant};

/// Laps since the last one.
pub(crate) struct Stopwatch {
    last: Instant,
    laps: Vec<(&'static str, Duration)>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { last: Instant::now(), laps: Vec::with_capacity(16) }
    }

    /// The step that ends now.
    pub(crate) fn lap(&mut self, step: &'static str) {
        let now = Instant::now();
        self.laps.push((step, now - self.last));
        self.last = now;
    }
}

impl fmt::Display for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (step, took)) in self.laps.iter().enumerate() {
            let gap = if i == 0 { "" } else { " · " };
            write!(f, "{gap}{step} {}", took.as_micros())?;
        }
        f.write_str(" µs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laps_are_told_in_their_order() {
        let laps = vec![("layer", Duration::from_micros(70)), ("overlay", Duration::from_micros(131))];
        let watch = Stopwatch { last: Instant::now(), laps };
        assert_eq!(watch.to_string(), "layer 70 · overlay 131 µs");
    }
}
