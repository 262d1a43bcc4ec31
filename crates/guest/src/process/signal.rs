//! `SendSignal`.

use rustix::process::{Pid, Signal};

use super::table::Process;
use super::wire::{SendSignalRequest, SignalName};
use crate::app::App;
use crate::connect::{Code, ConnectError};
use crate::limits::KILL_WAIT;
use crate::sys::tree::signal_group;

/// The two signals of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// To the process's own group: it may clean up.
    Terminate,
    /// To everything the process started.
    Kill,
}

pub(super) async fn send(app: &App, request: SendSignalRequest) -> Result<(), ConnectError> {
    let wanted = wanted(request.signal.as_ref())?;
    match app.processes.live(request.process.as_ref()) {
        Ok(process) => send_to(&process, wanted).await,
        // The process has ended, but what it started in the background has not: that can still be killed by its name.
        Err(error) => {
            let tree = request.process.as_ref().and_then(|selector| app.processes.lingering(selector));
            let pid = request.process.and_then(|s| s.pid).and_then(|pid| Pid::from_raw(pid.cast_signed()));
            match (wanted, tree, pid) {
                (Wanted::Kill, Some(tree), Some(pid)) => tree.kill(pid).map_err(|e| failed(&e)),
                _ => Err(error),
            }
        }
    }
}

async fn send_to(process: &Process, wanted: Wanted) -> Result<(), ConnectError> {
    match wanted {
        Wanted::Terminate => signal_group(process.pid, Signal::TERM).map_err(|error| failed(&error)),
        Wanted::Kill => {
            process.tree.kill(process.pid).map_err(|error| failed(&error))?;
            // A process that the kernel holds on to has got the signal all the same.
            drop(tokio::time::timeout(KILL_WAIT, process.gone.cancelled()).await);
            Ok(())
        }
    }
}

fn wanted(signal: Option<&SignalName>) -> Result<Wanted, ConnectError> {
    match signal {
        Some(SignalName::Name(name)) if name == "SIGNAL_SIGTERM" => Ok(Wanted::Terminate),
        Some(SignalName::Name(name)) if name == "SIGNAL_SIGKILL" => Ok(Wanted::Kill),
        Some(SignalName::Number(15)) => Ok(Wanted::Terminate),
        Some(SignalName::Number(9)) => Ok(Wanted::Kill),
        other => {
            let given = match other {
                Some(SignalName::Name(name)) => format!("`{name}` is"),
                Some(SignalName::Number(number)) => format!("{number} is"),
                None => "none is".to_owned(),
            };
            let message =
                format!("no signal to send: {given} given, SIGNAL_SIGTERM or SIGNAL_SIGKILL is needed");
            Err(ConnectError::new(Code::InvalidArgument, message))
        }
    }
}

fn failed(error: &std::io::Error) -> ConnectError {
    ConnectError::new(Code::Internal, format!("the signal could not be sent: {error}"))
}
