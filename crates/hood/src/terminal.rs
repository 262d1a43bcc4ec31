//! The only way to the user's eyes: standard output is data, everything else goes to standard error.

mod escape;
mod hidden;
mod input;
mod printer;
mod raw;
mod table;

pub(crate) use escape::{escape, escape_lines, is_dangerous};
pub(crate) use hidden::read_hidden;
pub(crate) use input::standard_input;
pub(crate) use printer::{OutputClosed, Paint, Printer};
pub(crate) use raw::{RawMode, window_size};
pub(crate) use table::Table;
