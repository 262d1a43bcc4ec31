//! Files beneath a handle, of trees that somebody else writes, and may be writing at this moment.
//!
//! Nothing here takes a path of the host: every name is looked up beneath the handle, by the kernel, in one step with the
//! act or by a handle that was opened so. Links inside the tree lead to places inside the tree.
//!
//! May not know: whose tree it is, HTTP, sandboxes. Start at [`Folder`].
#![forbid(unsafe_code)]

mod entry; // what is told of a file
mod folder;
mod remove; // whole trees
mod upload; // a file that is there whole or not at all

pub use folder::Folder;
pub use remove::remove;
