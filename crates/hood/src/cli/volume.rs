//! Arguments of `hood volume`.

use clap::{Args, Subcommand};

use super::Memory;

#[derive(Debug, Subcommand)]
pub(crate) enum VolumeCommand {
    /// List the volumes, oldest first
    List,
    /// Make an empty volume and print its id
    ///
    /// Example: hood volume create datasets --size 20G
    Create(CreateVolumeArguments),
    /// Remove volumes with all that is in them
    Delete(DeleteVolumeArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CreateVolumeArguments {
    /// Letters, digits, `-` and `_`
    pub(crate) name: String,
    /// How much fits in, as in 500M, 20G [default: the server's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Memory>,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteVolumeArguments {
    /// The volumes: names or ids
    #[arg(required = true, value_name = "VOLUME")]
    pub(crate) volumes: Vec<String>,
}
