//! What the machine lends to a build: its Debian mirror, its way to package registries, its certificates. All of it is
//! seen by the processes of a step while they run, through variables and a tmpfs, and none of it is in a layer, with
//! one exception: `/etc/apt/sources.list` of a template names the mirror, without credentials, or `apt` would be useless.

mod apt;
mod loans;

pub(crate) use apt::read_sources;
pub(crate) use loans::Loans;
