//! The helper processes that put walls up.
//!
//! Joining and making user and mount namespaces needs a process with one thread, and the server has many. So the
//! server starts one **warden** when it starts: root of the host, single-threaded, with two verbs. It makes user
//! namespaces to map layers with, and it starts one **builder** for each template. A builder is PID 1 of the
//! template's pid namespace and root only in the template's user namespace U; it puts up the walls of one sandbox per
//! request. Both end when the server's end of their socket closes, and with a builder every sandbox of its template
//! ends: nothing can outlive the server.
//!
//! ```text
//! server ── warden (host root)
//!    └───── builder (root in U, PID 1 of pidns(U)) ── guest of each sandbox (root in S, child of U)
//! ```
//!
//! Reading order: [`messages`], [`serve`], [`builder`], [`init`] with [`tree`] and [`program`], [`idle`], [`nursery`].

mod builder;
mod idle;
mod init;
mod masks;
pub(crate) mod messages;
mod mounts;
mod nursery;
mod program;
mod serve;
mod tree;

pub(crate) use builder::{become_id, expect_byte};
pub(crate) use idle::NETWORKS_AHEAD;
pub use serve::run;
