//! What the fuzz targets (`fuzz/` at the root of the repository) reach of this crate, compiled under `cfg(fuzzing)`
//! alone.

pub use crate::dns::fuzz::exchange as dns_exchange;
pub use crate::first::fuzz::{client_hello, http_head};
