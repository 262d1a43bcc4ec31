//! What the fuzz targets (`fuzz/` at the root of the repository) reach of this crate, compiled under `cfg(fuzzing)`
//! alone.

pub use crate::control::fuzz::{create, listing};
pub use crate::data::fuzz::{address, inside, is_signed};
