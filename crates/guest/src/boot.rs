//! From the first instruction to `Ready`.

use std::io::{self, BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use axum::serve::{Listener, ListenerExt};
use base64::Engine;
use hood_wire::{CODE_PORT, ENVD_PORT, GuestConfig, GuestEvent, Level, PROTOCOL};
use tokio::io::AsyncBufReadExt;
use tokio::net::TcpListener;

use crate::app::App;
use crate::http;
use crate::journal::Journal;
use crate::limits::MAX_BOOT_CONFIG;
use crate::reaper::Reaper;
use crate::sys::spawn::Walls;
use crate::sys::tree::Forest;

/// Runs the guest; returns when the host has closed the control socket.
pub(crate) fn run() -> io::Result<()> {
    let (control, cgroup) = crate::sys::inherited()?;
    let config = read_config(&control)?;
    crate::sys::harden_self()?;
    // Started from a file without a name, it would be listed by that file's.
    rustix::thread::set_name(c"hood-guest")?;
    let journal = Journal::new(Some(control.try_clone()?));
    // One worker: the sandbox's CPUs belong to its payload, and `Reaper::expect` relies on it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(config, control, cgroup, journal))
}

async fn serve(
    config: GuestConfig,
    control: UnixStream,
    cgroup: Option<OwnedFd>,
    journal: Journal,
) -> io::Result<()> {
    if config.protocol != PROTOCOL {
        let message = format!("the host speaks protocol {}, this guest {PROTOCOL}", config.protocol);
        journal.send(&GuestEvent::Failed { message: message.clone() });
        return Err(io::Error::other(message));
    }
    let filter =
        base64::engine::general_purpose::STANDARD.decode(&config.filter).map_err(io::Error::other)?;
    let app = App::new(config, Walls::new(&filter), Forest::new(cgroup), journal);
    let children = Reaper::subscribe()?;
    let reaper = tokio::task::spawn(app.reaper.clone().run(children));
    let envd = listen(ENVD_PORT).await?;
    let code = listen(CODE_PORT).await?;
    if let Err(error) = leave_marks(&app.config) {
        app.journal.log(Level::Warn, "guest", format!("/run/e2b: {error}"));
    }
    app.journal.send(&GuestEvent::Ready { protocol: PROTOCOL });
    control.set_nonblocking(true)?;
    let control = tokio::net::UnixStream::from_std(control)?;
    tokio::select! {
        // The three run for as long as the sandbox does; whichever ends first ends the guest.
        result = axum::serve(envd, http::envd(app.clone())) => result,
        result = axum::serve(code, http::code(app.clone())) => result,
        _ = reaper => Ok(()),
        () = listen_to_host(&app, control) => Ok(()),
    }
}

/// Until the host closes the socket, which is how it says that it is over.
async fn listen_to_host(app: &App, control: tokio::net::UnixStream) {
    let mut lines = tokio::io::BufReader::new(control).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Err(error) = app.host.hear(line.as_bytes()) {
            app.journal.log(Level::Debug, "guest", format!("not understood from the host: {error}"));
        }
    }
}

/// Files by which programs recognise where they are (reference `e2b.md` 6).
fn leave_marks(config: &GuestConfig) -> io::Result<()> {
    std::fs::create_dir_all("/run/e2b")?;
    std::fs::write("/run/e2b/.E2B_SANDBOX", "true")?;
    std::fs::write("/run/e2b/.E2B_SANDBOX_ID", &config.sandbox_id)?;
    std::fs::write("/run/e2b/.E2B_TEMPLATE_ID", &config.template_id)
}

/// Answers are many small writes, which must not wait for the other side's delayed acknowledgement.
async fn listen(port: u16) -> io::Result<impl Listener<Addr = SocketAddr>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    Ok(listener.tap_io(|connection| {
        // Only a connection that is gone already refuses, and it shows that by itself.
        connection.set_nodelay(true).ok();
    }))
}

fn read_config(control: &UnixStream) -> io::Result<GuestConfig> {
    let mut line = Vec::new();
    // A buffered reader may take more than the line, but the host sends nothing after it.
    BufReader::new(control.take(MAX_BOOT_CONFIG)).read_until(b'\n', &mut line)?;
    serde_json::from_slice(&line).map_err(io::Error::other)
}
