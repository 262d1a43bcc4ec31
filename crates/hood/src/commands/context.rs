//! What every command knows: where the server is, with which key, and how to print.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use hood_client::Client;
use hood_driver_api::Check;

use crate::cli::{Global, WithoutArguments};
use crate::exit::Hinted;
use crate::local::DataDir;
use crate::serve::{Embedded, embedded};
use crate::terminal::Printer;

/// The global options, resolved as far as they can be without asking anybody.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) data_dir: DataDir,
    pub(crate) printer: Printer,
    pub(crate) json: bool,
    pub(crate) verbose: bool,
    /// The server that was named, by an option or a variable.
    url: Option<String>,
    /// `--url` was given.
    url_is_asked: bool,
    /// The key that was named by an option; it counts for every server.
    key: Option<String>,
    /// `E2B_API_KEY`; it may be one for another server, so a local server's own key goes before it.
    variable_key: Option<String>,
}

/// Where a server is, and its key.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) url: String,
    pub(crate) key: String,
}

/// A server to work with, which may run inside this process.
pub(crate) struct Reached {
    pub(crate) client: Client,
    embedded: Option<Embedded>,
}

// === impl Context ===

impl Context {
    pub(crate) fn new(global: &Global) -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        Self {
            data_dir: DataDir::new(global.data_dir.clone().unwrap_or_else(|| default_data_dir(&variable))),
            printer: Printer::detect(),
            json: global.json,
            verbose: global.verbose,
            url: global.url.clone().or_else(|| variable("E2B_API_URL")),
            url_is_asked: global.url.is_some(),
            key: global.key.clone(),
            variable_key: variable("E2B_API_KEY"),
        }
    }

    /// The server to speak to. Nothing is asked of it yet.
    pub(crate) fn address(&self) -> Result<Address> {
        let Some(url) = &self.url else { return self.local_address() };
        let local = || self.data_dir.read_key().ok();
        let key = self.key.clone().or_else(|| self.variable_key.clone()).or_else(local);
        let key = key.ok_or_else(|| {
            let message = format!("no API key for the server at {url}");
            Hinted::new(message, "give it with `--key` or the variable `E2B_API_KEY`")
        })?;
        Ok(Address { url: url.clone(), key })
    }

    /// The server that a shell is to be pointed at: the one asked for, else the one that runs here. What the shell is
    /// pointed at already may be an earlier one.
    pub(crate) fn address_for_shell(&self) -> Result<Address> {
        if self.url_is_asked || self.data_dir.server_url().is_none() {
            return self.address();
        }
        self.local_address()
    }

    /// Of the server that runs on the data directory.
    fn local_address(&self) -> Result<Address> {
        let url = self.data_dir.server_url().ok_or_else(|| self.no_server())?;
        let key = match &self.key {
            Some(key) => key.clone(),
            None => self.data_dir.read_key()?,
        };
        Ok(Address { url: reachable(&url), key })
    }

    pub(crate) fn client(&self) -> Result<Client> {
        let address = self.address()?;
        Ok(Client::new(&address.url, &address.key)?)
    }

    /// The server to speak to, or one inside this process when none was named and none runs.
    pub(crate) async fn reach(&self, without: &WithoutArguments) -> Result<Reached> {
        if !self.would_serve() {
            return Ok(Reached { client: self.client()?, embedded: None });
        }
        if self.verbose {
            self.printer.note("no server runs: using one inside this process");
        }
        let embedded = embedded(self.data_dir.clone(), without.without.clone())
            .await
            .context("cannot start a server for this command")?;
        for Check { wall, found, .. } in &embedded.missing {
            self.printer.warning(&format!("the wall `{wall}` is missing: {found}; see `hood doctor`"));
        }
        let client = Client::new(&embedded.url, &embedded.key)?;
        Ok(Reached { client, embedded: Some(embedded) })
    }

    /// Whether a command that needs a server has to be one itself.
    pub(crate) fn would_serve(&self) -> bool {
        !self.names_server() && self.data_dir.server_url().is_none()
    }

    /// Whether a server was named, by an option or a variable.
    pub(crate) fn names_server(&self) -> bool {
        self.url.is_some()
    }

    fn no_server(&self) -> Hinted {
        let dir = self.data_dir.path().display();
        let (what, hint) = if self.data_dir.is_ours() {
            let started = self.data_dir.key_file().exists();
            let ever = if started { "no server runs" } else { "no server was ever started" };
            (format!("{ever} on the data directory {dir}"), "start one with `hood serve`")
        } else {
            let what =
                format!("no server was named, and only its owner can look into the data directory {dir}");
            (what, "in your shell: eval \"$(sudo hood env)\"; a server is started with `sudo hood serve`")
        };
        Hinted::new(what, format!("{hint}, or name one with `--url` and `--key`"))
    }
}

// === impl Reached ===

impl Reached {
    /// Ends the server, if it was ours.
    pub(crate) async fn close(self) -> Result<()> {
        match self.embedded {
            Some(embedded) => embedded.stop().await.context("cannot end the server of this command"),
            None => Ok(()),
        }
    }
}

/// Root's is the system's; everybody else has one of their own.
fn default_data_dir(variable: &impl Fn(&'static str) -> Option<String>) -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/var/lib/hood");
    }
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").unwrap_or_else(|| PathBuf::from("/")).join(".local/share");
    absolute("XDG_DATA_HOME").unwrap_or_else(home).join("fumehood")
}

/// A server that listens on every address is reached on this machine's own.
fn reachable(url: &str) -> String {
    url.replacen("//0.0.0.0:", "//127.0.0.1:", 1).replacen("//[::]:", "//[::1]:", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_every_address_is_reached_on_loopback() {
        assert_eq!(reachable("http://0.0.0.0:7070"), "http://127.0.0.1:7070");
        assert_eq!(reachable("http://[::]:7070"), "http://[::1]:7070");
        assert_eq!(reachable("http://10.0.0.0:7070"), "http://10.0.0.0:7070");
    }
}
