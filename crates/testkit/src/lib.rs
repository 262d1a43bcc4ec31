//! Everything the engine reaches the world through, as fakes: a driver without walls, a store without a disk, a clock
//! wound by hand, randomness that repeats, templates without files.
//!
//! For tests only. Start at [`Lab`], which wires them together.
#![forbid(unsafe_code)]

mod clock;
mod driver;
mod entropy;
mod gate;
mod lab;
mod store;
mod templates;
mod wait;

pub use clock::HandClock;
pub use driver::{Call, FakeDriver, Fault};
pub use entropy::FixedEntropy;
pub use gate::FakeGate;
pub use lab::Lab;
pub use store::MemoryStore;
pub use templates::{FakeTemplates, template};
pub use wait::eventually;
