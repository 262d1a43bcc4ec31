//! Arguments of `hood template`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    /// List the templates, built and not yet built
    List,
    /// Build a template from its recipe: one that `hood` carries, one in a file, or all that `hood` carries
    ///
    /// Example: sudo hood template build all
    ///
    /// A server uses templates that its own account has built: without sudo for one that runs without.
    ///
    /// Layers that are there already are not made again. What the template stands on is built first.
    Build(BuildArguments),
    /// Show what one template is made of
    Show {
        /// Its name
        name: String,
    },
    /// Remove the layers that no template needs; no server may run
    Gc,
    /// Forget a template; its layers go with `gc`
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct BuildArguments {
    /// Name of a template that `hood` carries, path of a recipe (ending in `.toml`), or `all`
    pub(crate) name: String,
    /// Where Debian packages come from [default: as in this host's apt sources]
    #[arg(long, value_name = "URL")]
    pub(crate) debian_mirror: Option<String>,
}
