//! PID 1 of a sandbox: reaps, and serves what E2B's envd serves on 49983 and its code interpreter on 49999.
//!
//! Starts from the configuration on the control socket (descriptor 3), answers `Ready` on it, and lives until the
//! sandbox ends. Knows nothing of the host: every path, account and process here is the sandbox's own. It is trusted
//! by nobody outside, and holds more capabilities than any payload, so that root inside cannot touch it.
//!
//! Reading order: [`boot`], [`app`], [`launch`] with [`sys`], then the three services [`process`], [`filesystem`] with
//! [`files`], [`contexts`].
#![deny(unsafe_code)]

mod accounts;
mod app;
mod boot;
mod connect;
mod contexts;
mod files;
mod filesystem;
#[cfg(fuzzing)]
pub mod fuzz;
mod host;
mod http;
mod journal;
mod launch;
pub mod limits;
mod oom;
mod paths;
mod process;
mod reach;
mod reaper;
mod sys;
#[cfg(test)]
mod testing;

use std::process::ExitCode;

/// The program.
pub fn run() -> ExitCode {
    match boot::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hood-guest: {error}");
            ExitCode::FAILURE
        }
    }
}
