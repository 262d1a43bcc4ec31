//! Values with their units, for people.

use std::time::Duration;

/// A value that knows its unit.
pub trait Show {
    /// As a person would write it.
    fn show(&self) -> String;
}

macro_rules! numbers {
    ($($kind:ty),*) => {$(
        impl Show for $kind {
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

numbers!(u16, u32, u64, usize, i64);

impl Show for Duration {
    fn show(&self) -> String {
        let whole = self.subsec_nanos() == 0;
        match self.as_secs() {
            secs if whole && secs >= 3600 && secs.is_multiple_of(3600) => format!("{} h", secs / 3600),
            secs if whole && secs >= 120 && secs.is_multiple_of(60) => format!("{} min", secs / 60),
            secs if whole => format!("{secs} s"),
            _ => format!("{} ms", self.as_millis()),
        }
    }
}

/// A number of bytes.
pub fn bytes(n: impl TryInto<u64>) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let n = n.try_into().unwrap_or(u64::MAX);
    match UNITS.iter().find(|(unit, _)| n >= *unit && n.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", n / unit),
        None => format!("{n} bytes"),
    }
}

/// A number of seconds.
pub fn secs(n: impl TryInto<u64>) -> String {
    Duration::from_secs(n.try_into().unwrap_or(u64::MAX)).show()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_read_as_a_person_writes_them() {
        let times = [250, 1000, 90_000, 120_000, 3_600_000, 86_400_000].map(Duration::from_millis);
        assert_eq!(times.map(|time| time.show()), ["250 ms", "1 s", "90 s", "2 min", "1 h", "24 h"]);
        let sizes = [246_u64, 4096, 67_174_400, 3 << 30];
        assert_eq!(sizes.map(bytes), ["246 bytes", "4 KiB", "65600 KiB", "3 GiB"]);
        assert_eq!(secs(15_i64), "15 s");
    }
}
