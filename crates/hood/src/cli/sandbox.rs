//! Arguments of `hood sandbox`.

use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};

use super::{Memory, duration, pair};

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// List the running and paused sandboxes
    List,
    /// Show one sandbox: what it may use, and which walls stand around it
    Show(ShowArguments),
    /// Make a sandbox and print its id
    ///
    /// Example: hood sandbox create base --timeout 10m
    Create(CreateArguments),
    /// Run a program in a sandbox; ends with its exit code
    ///
    /// Example: hood sandbox exec ID -- ls -l /home/user
    ///
    /// Standard output and error are passed on as they are, apart. No shell is involved unless the program is one.
    Exec(ExecArguments),
    /// Stop a sandbox where it is: its processes keep everything that they have in memory, unless told otherwise
    Pause(PauseArguments),
    /// Let a paused sandbox go on
    Resume(ResumeArguments),
    /// Make copies of a sandbox: each begins with its files as they are now, and with its own processes
    ///
    /// Example: hood sandbox fork ID --count 3
    Fork(ForkArguments),
    /// Keep a sandbox's files as they are now; sandboxes can be created from what is kept
    ///
    /// Example: hood sandbox create "$(hood sandbox snapshot ID)"
    Snapshot(SnapshotArguments),
    /// Change what a sandbox may use, how long it lives, or its metadata, while it runs or is paused
    ///
    /// Example: hood sandbox set ID --memory 4G --cpus 2
    Set(SetArguments),
    /// Put a sandbox back to one of its snapshots; its processes end
    Rollback(RollbackArguments),
    /// End sandboxes
    Kill(KillArguments),
    /// Show a sandbox's log, also after its end
    Logs(LogsArguments),
    /// Open a shell in a sandbox, on this terminal
    Connect(ConnectArguments),
}

#[derive(Debug, Args)]
pub(crate) struct PauseArguments {
    /// The sandbox
    pub(crate) id: String,
    /// Keep only files: its processes end, and it starts anew when it is resumed
    #[arg(long)]
    pub(crate) files_only: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ForkArguments {
    /// The sandbox
    pub(crate) id: String,
    /// How many copies
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) count: u32,
    /// How long each may live, as in 300, 10m, 2h
    #[arg(long, default_value = "5m", value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct SnapshotArguments {
    /// The sandbox
    pub(crate) id: String,
    /// What to call it, with a tag after `:` if wanted; the newest of a name has it
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["memory", "cpus", "timeout", "metadata"])))]
pub(crate) struct SetArguments {
    /// The sandbox
    pub(crate) id: String,
    /// Memory, as in 512M, 2G; what is in use cannot be taken away
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Memory>,
    /// Processors, as in 0.5, 2
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<f64>,
    /// How long it may live from now, as in 300, 10m, 2h
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Option<Duration>,
    /// Shown in listings, in the place of all that it has; may be given several times
    #[arg(long, value_parser = pair, value_name = "NAME=VALUE")]
    pub(crate) metadata: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct RollbackArguments {
    /// The sandbox
    pub(crate) id: String,
    /// The snapshot: its id or its name
    pub(crate) snapshot: String,
}

/// `hood snapshot`.
#[derive(Debug, Subcommand)]
pub(crate) enum SnapshotCommand {
    /// List the snapshots, newest first
    List,
    /// Forget snapshots; sandboxes that were made from them keep what they have
    Delete(DeleteSnapshotArguments),
}

#[derive(Debug, Args)]
pub(crate) struct DeleteSnapshotArguments {
    /// The snapshots: ids or names
    #[arg(required = true, value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// The sandbox
    pub(crate) id: String,
    /// How long it may live from now, as in 300, 10m, 2h
    #[arg(long, default_value = "5m", value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The sandbox
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    /// Template to make it from
    #[arg(default_value = "base", value_name = "TEMPLATE")]
    pub(crate) template: String,
    /// How long it may live, as in 300, 10m, 2h
    #[arg(long, default_value = "5m", value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Duration,
    /// Memory, as in 512M, 2G [default: the template's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Memory>,
    /// Processors, as in 0.5, 2 [default: the template's]
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<f64>,
    /// Size of its writable layer, as in 1G [default: the server's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) disk: Option<Memory>,
    /// Let nothing but the working directory and /tmp be written
    #[arg(long)]
    pub(crate) read_only_root: bool,
    /// Environment of everything in it; may be given several times
    #[arg(short, long = "env", value_parser = pair, value_name = "NAME=VALUE")]
    pub(crate) envs: Vec<(String, String)>,
    /// Shown in listings; may be given several times
    #[arg(long, value_parser = pair, value_name = "NAME=VALUE")]
    pub(crate) metadata: Vec<(String, String)>,
    /// A volume and where it shall lie, as in data=/data; may be given several times
    #[arg(long, value_parser = pair, value_name = "VOLUME=PATH")]
    pub(crate) volume: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// The sandbox
    pub(crate) id: String,
    /// Who runs it [default: the template's user]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Where it starts [default: the template's working directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// Environment; may be given several times
    #[arg(short, long = "env", value_parser = pair, value_name = "NAME=VALUE")]
    pub(crate) envs: Vec<(String, String)>,
    /// Pass standard input on to it
    #[arg(short, long)]
    pub(crate) interactive: bool,
    /// Kill it, with everything it started, after this time
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Option<Duration>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct KillArguments {
    /// The sandboxes
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// The sandbox
    pub(crate) id: String,
    /// Go on until the sandbox ends
    #[arg(short, long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConnectArguments {
    /// The sandbox
    pub(crate) id: String,
    /// Whose shell [default: the template's user]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
}
