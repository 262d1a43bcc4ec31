//! From a recipe to a root filesystem in layers, stored once under the hash of what it was made from.
//!
//! A [`Recipe`] is data (`templates/*.toml`); each of its steps makes one layer. A layer is a plain directory
//! `layers/<key>/` with the ids of the template (0-based), meant as a lower directory of an overlay that the host's root
//! mounts: it may hold overlay whiteouts (character devices 0:0) and `trusted.overlay.*` attributes, because a step runs
//! on an overlay over the layers beneath it and its upper directory *becomes* the layer. The key is a hash of the key
//! beneath, the step and everything the step reads from `hood` itself, so an unchanged step is never run again.
//!
//! Steps run in mount and pid namespaces of their own ([`chroot`]): nothing stays mounted on the host however the build
//! ends, and what the host lends them (resolver, certificates, pip configuration) is never in a layer.
//!
//! May not know: the engine, drivers, HTTP, terminals. Start at [`Store::build`].
#![forbid(unsafe_code)]

mod build; // the loop over the steps
mod chroot; // how it is run
mod command; // a child process with bounded output and time
mod error; // what can go wrong
mod host; // what the machine lends to a build
mod job; // what one step does, decided
mod kernels; // the folder that the binary carries
mod key; // what a layer is called
pub mod limits;
mod progress; // what is told meanwhile
mod recipe; // what a template is made of
mod store; // the directory: layers, manifests, the lock

pub use build::BuildOptions;
pub use error::{BuildError, StoreError};
pub use key::LayerKey;
pub use progress::{Progress, Silent};
pub use recipe::{Nursery, Recipe, RecipeError, Resources, Step, Tree, Walls, is_template_name, shipped};
pub use store::{Freed, Manifest, Store, Template};
