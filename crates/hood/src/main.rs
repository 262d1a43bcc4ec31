//! The `hood` command: arguments → what is meant → done. Only [`serve`] names a concrete driver and store.
#![forbid(unsafe_code)]

mod cli; // arguments as data
mod commands;
mod config; // one file a command
mod exit; // exit codes, and how errors are shown
mod limits;
mod local; // the data directory
mod rights; // root, or root of a namespace of one's own
mod serve;
mod terminal; // the only way to the user's eyes

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;

use cli::{Cli, Command};
use commands::Context;
use exit::Exit;

fn main() -> ExitCode {
    // Before anything starts a thread: the warden makes and joins namespaces, for which it must be alone.
    match std::env::args().nth(1).as_deref() {
        Some(hood_driver_native::WARDEN_COMMAND) => return hood_driver_native::run_warden(),
        Some(hood_driver_native::PROBE_COMMAND) => return hood_driver_native::run_probe(),
        _ => {}
    }
    let cli = Cli::parse();
    let context = Context::new(&cli.global);
    let outcome = run(cli.command, &context);
    exit::report(outcome, context.printer)
}

fn run(command: Command, context: &Context) -> Result<Exit> {
    rights::take(&command, context)?;
    start_log(&command, context.verbose);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let outcome = runtime.block_on(commands::run(command, context));
    // A thread that still waits for standard input would hold up the end for ever.
    runtime.shutdown_background();
    outcome
}

fn start_log(command: &Command, verbose: bool) {
    use tracing_subscriber::EnvFilter;
    let (level, json) = match command {
        Command::Serve(arguments) => ("info", arguments.log_format == cli::LogFormat::Json),
        _ if verbose => ("info", false),
        _ => ("off", false),
    };
    // The library warns of every message about a name that it cannot read, and sandboxes send those.
    let quiet = format!("{level},hickory_proto=error");
    let filter = EnvFilter::try_from_env("HOOD_LOG").unwrap_or_else(|_| EnvFilter::new(quiet));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if json {
        log.json().init();
    } else {
        log.with_ansi(terminal::Printer::detect().colours_on_stderr()).init();
    }
}
