//! Arguments of `hood secret`, and those of the server's certificate.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::pair;

#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// List the secrets: names and versions, never values
    List,
    /// Make a secret, or give one a new value; the value is read from standard input
    ///
    /// Example: hood secret set openai < key.txt
    ///
    /// On a terminal it is asked for and not shown. A line end after it is left out. Rules of a sandbox's network policy
    /// name it as `${e2b.secrets.NAME}` in the value of a header.
    Set(SetSecretArguments),
    /// Forget secrets
    Delete(DeleteSecretArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SetSecretArguments {
    /// Its name: letters, digits, `_` and `-`; case does not count
    pub(crate) name: String,
    /// Shown in listings, replaces what was there; may be given several times
    #[arg(long, value_parser = pair, value_name = "NAME=VALUE")]
    pub(crate) metadata: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteSecretArguments {
    /// Their names
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// Where the server's certificate comes from.
#[derive(Debug, Args)]
pub(crate) struct CertificateArguments {
    /// Serve https, too, with a certificate of the server's own authority for the domain and all names below it; `hood
    /// ca` prints the authority. Clear text is then for this machine only
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) tls: bool,
    /// The same with this certificate chain in PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of that certificate in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// The same with a certificate that the server gets by ACME, for the domain and all names below it. The domain, or its
    /// `_acme-challenge`, must be delegated to the address of `--dns`; you agree to the authority's terms
    #[arg(long, value_name = "EMAIL", requires = "dns", conflicts_with_all = ["tls", "tls_cert"])]
    pub(crate) acme: Option<String>,
    /// The authority's directory [default: that of Let's Encrypt]
    #[arg(long, value_name = "URL", requires = "acme")]
    pub(crate) acme_directory: Option<String>,
    /// What to believe of that directory's certificate, in PEM [default: the roots of this host]
    #[arg(long, value_name = "FILE", requires = "acme")]
    pub(crate) acme_ca: Option<PathBuf>,
}
