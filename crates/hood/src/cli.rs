//! Arguments as data: nothing here acts.

mod sandbox;
mod secret;
mod template;
mod values;
mod volume;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hood_agent::{MAX_ROUNDS, Provider, ROUNDS};
use hood_driver_api::Wall;

pub(crate) use sandbox::{
    ConnectArguments, CreateArguments, ExecArguments, ForkArguments, KillArguments, LogsArguments,
    PauseArguments, ResumeArguments, RollbackArguments, SandboxCommand, SetArguments, ShowArguments,
    SnapshotArguments, SnapshotCommand,
};
pub(crate) use secret::{CertificateArguments, DeleteSecretArguments, SecretCommand, SetSecretArguments};
pub(crate) use template::{BuildArguments, TemplateCommand};
pub(crate) use values::{Memory, duration, pair, spared_wall};
pub(crate) use volume::VolumeCommand;

/// Sealed sandboxes for code that an AI agent writes.
#[derive(Debug, Parser)]
#[command(name = "hood", version, about, after_help = AFTER_HELP, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
First steps:
  sudo hood template build all
  sudo hood serve
  eval \"$(sudo hood env)\"
Without sudo they work, too, on a machine of your own, behind fewer walls; `hood doctor` shows which.

Exit codes:
  0 done, 1 refused (a hint says what to do), 2 wrong arguments, 70 the server's fault (an id leads to its log);
  `run` and `sandbox exec` end with the program's own code, 124 at its time limit, 137 out of memory;
  130 interrupted";

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Directory of the server: templates, sandboxes, keys [default: /var/lib/hood; without root
    /// ~/.local/share/fumehood]
    #[arg(long, global = true, env = "HOOD_DATA_DIR", hide_env_values = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Address of the server, before `E2B_API_URL` and the one that runs on the data directory
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// API key, before `E2B_API_KEY` and the one in the data directory
    #[arg(long, global = true, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say on standard error what happens behind the scenes
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server until SIGTERM
    Serve(ServeArguments),
    /// Print the variables that point E2B's SDKs and CLI at the server
    ///
    /// Example: eval "$(hood env)"
    Env(EnvArguments),
    /// Run one program in a sandbox of its own and fetch the files that it made
    ///
    /// Example: hood run analyse.py --file data.csv
    ///
    /// There is no network, and nothing but the working directory and /tmp can be written. Files that are new or changed
    /// afterwards are saved beneath --out; hidden ones and links are left. The exit code is the program's own; 124 means
    /// that it ran too long, 137 that it ran out of memory. Output is passed on as it is: do not show that of code you
    /// do not trust on a terminal that you do.
    Run(RunArguments),
    /// Let a model answer a question by running code in a sandbox
    ///
    /// Example: hood ask --file sales.csv "Which month was best? Draw a chart" --out report
    ///
    /// The model is found through `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`; its key never enters the sandbox.
    Ask(AskArguments),
    /// Make, list and use sandboxes
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// List and delete what `hood sandbox snapshot` has kept
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
    /// Make and list volumes: files that sandboxes share, and that outlive them
    #[command(subcommand)]
    Volume(VolumeCommand),
    /// Build and list the templates that sandboxes are made from
    #[command(subcommand)]
    Template(TemplateCommand),
    /// Show what connections sandboxes opened, and what was refused
    ///
    /// Example: hood audit --denied --follow
    Audit(AuditArguments),
    /// Keep secrets, which the gate puts into requests and no sandbox ever holds
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Print the certificate of the server's own authority, and how to trust it
    ///
    /// Example: sudo hood ca > fumehood.crt
    Ca,
    /// Show what this host can and cannot do, and what to do about it
    Doctor,
}

/// Of every command that may be a server.
#[derive(Debug, Args)]
pub(crate) struct WithoutArguments {
    /// Walls to start without where this host lacks them, with commas between. As root only `disk` can be: sandboxes could
    /// then fill the disk of the data directory. Without root there may be several; `hood doctor` says which
    #[arg(
        long,
        env = "HOOD_WITHOUT",
        hide_env_values = true,
        value_delimiter = ',',
        value_parser = spared_wall,
        value_name = "WALL"
    )]
    pub(crate) without: Vec<Wall>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Address to listen on; port 0 takes a free one
    #[arg(
        long,
        env = "HOOD_LISTEN",
        hide_env_values = true,
        default_value = "127.0.0.1:7070",
        value_name = "ADDRESS"
    )]
    pub(crate) listen: SocketAddr,
    /// Sandboxes that may live at once
    #[arg(long, default_value_t = hood_engine::limits::MAX_SANDBOXES, value_name = "N")]
    pub(crate) max_sandboxes: usize,
    /// What `get_host()` of the SDKs names, with its port unless that is 443 [default: the address]
    #[arg(long, value_name = "NAME")]
    pub(crate) domain: Option<String>,
    #[command(flatten)]
    pub(crate) without: WithoutArguments,
    #[command(flatten)]
    pub(crate) certificate: CertificateArguments,
    /// Answer names at and below the domain on this UDP address, as in 0.0.0.0:53: for networks without a name server
    #[arg(long, value_name = "ADDRESS", requires = "domain")]
    pub(crate) dns: Option<SocketAddr>,
    /// What those answers say [default: the address of `--listen`]
    #[arg(long, value_name = "ADDRESS", requires = "dns")]
    pub(crate) dns_answer: Option<std::net::IpAddr>,
    /// Configuration file [default: hood.toml in the data directory, if it is there]
    #[arg(long, env = "HOOD_CONFIG", hide_env_values = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How the log on standard error looks; `HOOD_LOG` sets its level
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// Only of this sandbox
    #[arg(long, value_name = "ID")]
    pub(crate) sandbox: Option<String>,
    /// Only what was refused, or would have been
    #[arg(long)]
    pub(crate) denied: bool,
    /// Go on with what happens from now
    #[arg(long, conflicts_with = "suggest")]
    pub(crate) follow: bool,
    /// Print the smallest policy that lets through what was let through
    #[arg(long, conflicts_with = "denied")]
    pub(crate) suggest: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct EnvArguments {
    /// Whose syntax to print
    #[arg(long, value_enum, default_value_t = Shell::Bash, value_name = "SHELL")]
    pub(crate) shell: Shell,
    /// Reach the server and its sandboxes by host names and TLS, as E2B's own cloud is reached; needs `hood serve --tls`
    /// and a domain that resolves to the server
    #[arg(long)]
    pub(crate) host_mode: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// bash, zsh, dash
    Bash,
    Fish,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The program, or `-` to read it from standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A file to lay beside the program; may be given several times
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Language of the program [default: by its ending]
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub(crate) language: Option<Language>,
    /// How long it may run, as in 30, 90s, 5m
    #[arg(long, default_value = "30", value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Duration,
    /// Memory, as in 512M, 2G
    #[arg(long, default_value = "512M", value_name = "SIZE")]
    pub(crate) memory: Memory,
    /// Processors, as in 0.5, 2
    #[arg(long, default_value_t = 0.5, value_name = "N")]
    pub(crate) cpus: f64,
    /// Template of the sandbox
    #[arg(long, default_value = "code-interpreter-v1", value_name = "NAME")]
    pub(crate) template: String,
    /// Where new and changed files are saved
    #[arg(long, default_value = "hood-out", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Pass standard input on to the program
    #[arg(short, long)]
    pub(crate) interactive: bool,
    #[command(flatten)]
    pub(crate) without: WithoutArguments,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    Python,
    Bash,
}

#[derive(Debug, Args)]
pub(crate) struct AskArguments {
    /// The question
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,
    /// A file for the model to work with; may be given several times
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// New or empty directory for the answer, charts, files and run.json
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Rounds that the model may take
    #[arg(long, default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ROUNDS)), value_name = "N")]
    pub(crate) rounds: u32,
    /// The model [default: `OPENAI_MODEL` or `ANTHROPIC_MODEL`, else one of ours]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The protocol: openai or anthropic [default: by the key that is set]
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<Provider>,
    /// The model's endpoint [default: `OPENAI_BASE_URL` or `ANTHROPIC_BASE_URL`, else the provider's own]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// How long one step of code may run
    #[arg(long, default_value = "2m", value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Duration,
    /// Memory of the sandbox [default: the template's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Memory>,
    /// Processors of the sandbox [default: the template's]
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<f64>,
    /// Template of the sandbox
    #[arg(long, default_value = "code-interpreter-v1", value_name = "NAME")]
    pub(crate) template: String,
    #[command(flatten)]
    pub(crate) without: WithoutArguments,
}

#[cfg(test)]
mod tests;
