//! A server inside this process, for commands that need one when none runs.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;
use hood_driver_api::{Check, Wall};
use tokio_util::sync::CancellationToken;

use super::{Certificate, Options, Without, build, serve};
use crate::limits::SANDBOXES_OF_A_COMMAND;
use crate::local::DataDir;

/// A running server; end it with [`Embedded::stop`], so that its sandboxes end in order.
pub(crate) struct Embedded {
    pub(crate) url: String,
    pub(crate) key: String,
    /// Walls that it stands without.
    pub(crate) missing: Vec<Check>,
    data_dir: DataDir,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<Result<()>>,
}

/// Starts one on a free port of the loopback interface, with the templates of `installed` and a directory of its own:
/// several commands may do so at once, and none uses a server that ends with another's.
pub(crate) async fn start(installed: DataDir, without: Vec<Wall>) -> Result<Embedded> {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    installed.create()?;
    let data_dir = installed.nested()?;
    let options = Options {
        templates: installed,
        data_dir: data_dir.clone(),
        mode: hood_driver_native::mode(),
        listen,
        max_sandboxes: SANDBOXES_OF_A_COMMAND,
        domain: None,
        dns: None,
        certificate: Certificate::None,
        config: crate::config::File::default(),
        without: Without::these_and_disk(without),
    };
    let mut server = build(&options).await?;
    let missing = std::mem::take(&mut server.missing);
    let (url, key, stop) = (server.url.clone(), server.key.clone(), CancellationToken::new());
    let task = tokio::task::spawn(serve(server, stop.clone()));
    Ok(Embedded { url, key, missing, data_dir, stop, task })
}

impl Embedded {
    /// Ends its sandboxes and the server.
    pub(crate) async fn stop(self) -> Result<()> {
        self.stop.cancel();
        self.task.await??;
        self.data_dir.remove()
    }
}
