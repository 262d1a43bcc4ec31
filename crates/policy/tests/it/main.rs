//! The decision from outside: hostile spellings, the table of `decide`, and what must hold for every input.

mod build;
mod closed;
mod names;
mod properties;
mod suggesting;
mod table;
