//! How a crate declares its ceilings: once, as constants and as the table that `LIMITS.md` is printed from.
//!
//! ```ignore
//! hood_limits::limits! {
//!     MAX_READERS: usize = 16, "readers of one process", "one more is refused";
//!     /// Why it is this number, where the number does not say so.
//!     MAX_MESSAGE: usize = 16 << 20, bytes, "one message", "it is refused";
//!     LIFE: Duration = Duration::from_secs(300), "time a sandbox lives", "it ends", "create call (`timeout`)";
//! }
//! ```
//!
//! A row is a name, type and value; a unit for bare numbers ([`bytes`], [`secs`]); what is bounded; what happens when
//! the ceiling is met; and who may change it, where that is not "nobody". May know nothing of ours.
#![forbid(unsafe_code)]

mod show;

pub use show::{Show, bytes, secs};

/// Who may change a ceiling of whose row says nothing.
pub const NOBODY: &str = "nobody";

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
    /// Who may change it.
    pub who: &'static str,
}

/// Declares the ceilings of a crate, and `inventory()`, which lists them in the order of the source.
#[macro_export]
macro_rules! limits {
    ($(
        $(#[$why:meta])*
        $name:ident: $kind:ty = $value:expr $(, $unit:ident)?, $what:literal, $when_met:literal $(, $who:literal)?;
    )*) => {
        $(
            #[doc = concat!("Ceiling: ", $what, ". When met: ", $when_met, ".")]
            #[doc = ""]
            $(#[$why])*
            pub const $name: $kind = $value;
        )*

        /// All of them, in the order of the source.
        pub fn inventory() -> Vec<$crate::Limit> {
            vec![$($crate::Limit {
                name: stringify!($name),
                value: $crate::shown!($name $(, $unit)?),
                what: $what,
                when_met: $when_met,
                who: $crate::who!($($who)?),
            }),*]
        }
    };
}

/// A value as text: by its unit, or by its type.
#[doc(hidden)]
#[macro_export]
macro_rules! shown {
    ($name:ident) => {
        $crate::Show::show(&$name)
    };
    ($name:ident, $unit:ident) => {
        $crate::$unit($name)
    };
}

/// Who is named, or nobody.
#[doc(hidden)]
#[macro_export]
macro_rules! who {
    () => {
        $crate::NOBODY
    };
    ($who:literal) => {
        $who
    };
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "a crate's table is its own module, which others see")]
mod tests {
    use std::time::Duration;

    use super::Limit;

    crate::limits! {
        READERS: usize = 16, "readers", "one more is refused";
        /// A reason.
        MESSAGE: u64 = 16 << 20, bytes, "a message", "it is refused";
        LIFE: Duration = Duration::from_secs(300), "a life", "it ends", "create call";
    }

    #[test]
    fn a_row_is_a_constant_and_a_line() {
        let readers = Limit {
            name: "READERS",
            value: "16".to_owned(),
            what: "readers",
            when_met: "one more is refused",
            who: "nobody",
        };
        let all = inventory();
        assert_eq!(all[0], readers);
        assert_eq!(
            (all[1].value.as_str(), all[2].value.as_str(), all[2].who),
            ("16 MiB", "5 min", "create call")
        );
        assert_eq!((READERS, MESSAGE, LIFE.as_secs()), (16, 16_777_216, 300));
    }
}
