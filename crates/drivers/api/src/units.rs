//! Quantities with their unit in the type.

use std::fmt;

use hood_limits::Show;
use serde::{Deserialize, Serialize};

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` kibibytes.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` mebibytes.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` gibibytes.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }

    /// Whole mebibytes, rounded down: what protocols call `MB`.
    pub const fn as_mib(self) -> u64 {
        self.0 >> 20
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match UNITS.iter().find(|(unit, _)| self.0 >= *unit) {
            Some((unit, name)) if self.0.is_multiple_of(*unit) => write!(f, "{} {name}", self.0 / unit),
            Some((unit, name)) => write!(f, "{:.1} {name}", self.0 as f64 / *unit as f64),
            None => write!(f, "{} B", self.0),
        }
    }
}

/// CPU time per wall time, in thousandths of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MilliCpu(pub u32);

impl MilliCpu {
    /// `n` whole cores.
    pub const fn cores(n: u32) -> Self {
        Self(n * 1000)
    }

    /// Cores, rounded up: what protocols that count whole ones are told.
    pub const fn as_cores_ceil(self) -> u32 {
        self.0.div_ceil(1000)
    }
}

impl fmt::Display for MilliCpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cores", f64::from(self.0) / 1000.0)
    }
}

impl Show for Bytes {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Show for MilliCpu {
    fn show(&self) -> String {
        self.to_string()
    }
}

/// What one sandbox may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Memory, page cache, tmpfs and kernel objects included.
    pub memory: Bytes,
    /// CPU quota.
    pub cpu: MilliCpu,
    /// Processes and threads.
    pub pids: u32,
    /// The writable layer, metadata included.
    pub disk: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_a_person_writes_them() {
        assert_eq!(Bytes::mib(512).to_string(), "512 MiB");
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
        assert_eq!(Bytes(12).to_string(), "12 B");
    }
}
