//! Every ceiling of a build, declared once: the constants, and the table from which `LIMITS.md` is printed.

use std::time::Duration;

/// One ceiling, as a reader of `LIMITS.md` sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Its name in the source.
    pub name: &'static str,
    /// Its value with unit.
    pub value: String,
    /// What it bounds.
    pub what: &'static str,
    /// What happens when it is met.
    pub when_met: &'static str,
}

macro_rules! limits {
    ($($name:ident: $kind:ty = $value:expr, $shown:expr, $what:literal, $when_met:literal;)*) => {
        $(
            #[doc = concat!("Ceiling: ", $what, ". When met: ", $when_met, ".")]
            pub const $name: $kind = $value;
        )*

        /// All of them, in the order of the source.
        pub fn inventory() -> Vec<Limit> {
            vec![$(Limit {
                name: stringify!($name),
                value: $shown($name),
                what: $what,
                when_met: $when_met,
            }),*]
        }
    };
}

limits! {
    STEP_TIME: Duration = Duration::from_secs(45 * 60), minutes, "time for one step", "its processes are killed and the build fails";
    FREE_MIN: u64 = 3 << 30, gib, "least room on the data directory's filesystem for a build that would make a layer", "the build is refused";
    OUTPUT_LINES: usize = 20, count, "lines of a failed command that its error keeps", "the first ones are left out";
    LINE_BYTES: usize = 500, count, "bytes of one line of a command that are kept and shown", "the rest of the line is replaced by an ellipsis";
    LINES_WAITING: usize = 256, count, "lines of a command that wait for a slow progress display", "the command waits";
    MANIFEST_BYTES: u64 = 1 << 20, mib, "a manifest", "it is not read";
}

fn minutes(time: Duration) -> String {
    format!("{} min", time.as_secs() / 60)
}

fn gib(bytes: u64) -> String {
    format!("{} GiB", bytes >> 30)
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

fn count(n: usize) -> String {
    n.to_string()
}
