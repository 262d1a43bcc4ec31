//! Into O, or into the namespace that templates are built in.

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions};

use super::subids::{NoRange, Ranges, own_range};
use crate::ids::{self, BUILDING_USER, SUB_IDS};
use crate::sys::clone::{Side, clone_process, exit_now};
use crate::sys::namespaces;
use crate::warden::{become_id, expect_byte, messages::IdLine};

/// Name of the hidden subcommand that becomes [`probe`].
pub const PROBE_COMMAND: &str = "internal-user-namespace";

/// Where the tools are, beside `PATH`.
const TOOL_DIRS: [&str; 4] = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin"];

/// What the process is going to do as root of its namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Build walls. The user is root.
    Serve,
    /// Build templates: root is who root inside will be, so that owners on disk come out right. The user has another
    /// number and root may use the user's files, as a build with root may use everybody's.
    Build,
}

/// Rootless mode cannot be entered.
#[derive(Debug, thiserror::Error)]
pub enum RootlessError {
    /// `/etc/subuid` or `/etc/subgid` has nothing for the user.
    #[error("user `{user}` has no range of {SUB_IDS} ids in {file}")]
    NoRange {
        /// Who.
        user: String,
        /// Which file.
        file: String,
        /// The line that would do.
        line: String,
        /// First and last id of it.
        range: (u32, u32),
    },
    /// The set-user-id helpers are not there.
    #[error("`{0}` is not installed")]
    NoTool(&'static str),
    /// A helper said no.
    #[error("`{tool}` refused: {said}")]
    Tool {
        /// Which.
        tool: &'static str,
        /// Its own words.
        said: String,
    },
    /// The kernel gives no user namespace to this process.
    #[error("the kernel gives no user namespace to an ordinary user")]
    Refused(#[source] io::Error),
    /// The process is root already, of too few ids.
    #[error("this root has only a part of the host's ids: it is root of a user namespace, as in a container")]
    AlreadyInside,
    /// Anything else.
    #[error("cannot enter a user namespace")]
    Io(#[from] io::Error),
}

impl RootlessError {
    /// What to do about it.
    pub fn next_step(&self) -> Option<String> {
        match self {
            Self::NoRange { user, file, line, range: (first, last) } => Some(format!(
                "add the line `{line}` to {file}, or: sudo usermod --add-subuids {first}-{last} --add-subgids {first}-{last} {user}"
            )),
            Self::NoTool(_) => Some("sudo apt-get install uidmap (elsewhere: shadow-utils)".to_owned()),
            Self::Tool { .. } => Some(
                "the ranges in /etc/subuid and /etc/subgid must be the user's, and the tool set-user-id root"
                    .to_owned(),
            ),
            Self::Refused(_) => Some(REFUSED_ADVICE.to_owned()),
            Self::AlreadyInside => {
                Some("start it as an ordinary user with sub-ids, or as the host's root".to_owned())
            }
            Self::Io(_) => None,
        }
    }
}

/// The three switches by which distributions close user namespaces to users.
pub(crate) const REFUSED_ADVICE: &str = "allow them: `sysctl user.max_user_namespaces=10000`, on Debian `kernel.unprivileged_userns_clone=1`, on Ubuntu an AppArmor profile with `userns,` for hood; or start it with sudo";

impl From<NoRange> for RootlessError {
    fn from(NoRange { user, file, line, range }: NoRange) -> Self {
        Self::NoRange { user, file, line, range }
    }
}

/// Makes this process root of a user namespace. Must be called before any thread is started, by an ordinary user.
///
/// The process keeps its number, parent and signals: what is forked is the short-lived helper that writes the maps,
/// because that must be done from outside by the set-user-id tools.
pub fn enter(purpose: Purpose) -> Result<(), RootlessError> {
    if rustix::process::geteuid().is_root() {
        return Err(RootlessError::AlreadyInside);
    }
    let ranges = own_range()?;
    let tools = [tool("newuidmap")?, tool("newgidmap")?];
    let (entered, entered_write) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
    let (report, report_write) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
    let me = rustix::process::getpid();
    match clone_process(0, None)? {
        Side::Child => {
            drop((entered_write, report));
            // A closed pipe means that there is nothing to map.
            if expect_byte(&entered).is_ok()
                && let Err((at, said)) = write_maps(me, purpose, ranges, &tools)
            {
                // The parent notices an unmapped namespace even if this does not arrive.
                rustix::io::write(&report_write, format!("{at}{said}").as_bytes()).ok();
            }
            exit_now(0)
        }
        Side::Parent { pid, .. } => {
            drop((entered, report_write));
            let entered = namespaces::unshare(libc::CLONE_NEWUSER).map_err(RootlessError::Refused);
            let told = entered.and_then(|()| {
                rustix::io::write(&entered_write, &[1]).map_err(io::Error::from)?;
                let mut told = String::new();
                std::fs::File::from(report).read_to_string(&mut told)?;
                Ok(told)
            });
            drop(entered_write);
            rustix::process::waitpid(Some(pid), WaitOptions::empty()).map_err(io::Error::from)?;
            refused(&told?)?;
            Ok(become_id(0)?)
        }
    }
}

/// Whether the kernel gives this process a user namespace; for the doctor, in a process of its own.
pub fn probe() -> ExitCode {
    match namespaces::unshare(libc::CLONE_NEWUSER).and_then(|()| namespaces::unshare(libc::CLONE_NEWNS)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Asks [`probe`].
pub(crate) fn is_allowed() -> bool {
    let mut command = Command::new("/proc/self/exe");
    command.arg(PROBE_COMMAND).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A set-user-id helper.
pub(crate) fn find_tool(name: &str) -> Option<PathBuf> {
    TOOL_DIRS.iter().map(|dir| PathBuf::from(dir).join(name)).find(|path| path.is_file())
}

const TOOLS: [&str; 2] = ["newuidmap", "newgidmap"];

fn tool(name: &'static str) -> Result<PathBuf, RootlessError> {
    find_tool(name).ok_or(RootlessError::NoTool(name))
}

/// An empty report is a good one; else the tool's number, then its words.
fn refused(told: &str) -> Result<(), RootlessError> {
    let Some(at) = told.chars().next().and_then(|c| c.to_digit(10)) else { return Ok(()) };
    let tool = TOOLS.get(at as usize).copied().unwrap_or(TOOLS[0]);
    Err(RootlessError::Tool { tool, said: told.chars().skip(1).collect::<String>().trim().to_owned() })
}

/// In the helper, which is still outside.
fn write_maps(
    of: Pid,
    purpose: Purpose,
    ranges: Ranges,
    tools: &[PathBuf; 2],
) -> Result<(), (usize, String)> {
    let own = [rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()];
    for (at, (tool, first)) in tools.iter().zip([ranges.uids, ranges.gids]).enumerate() {
        let mut command = Command::new(tool);
        command.arg(of.as_raw_nonzero().to_string()).env_clear().stdin(Stdio::null());
        for line in lines(purpose, own[at], first) {
            command.args([line.inside, line.outside, line.count].map(|number| number.to_string()));
        }
        let output = command.output().map_err(|error| (at, error.to_string()))?;
        if !output.status.success() {
            return Err((at, String::from_utf8_lossy(&output.stderr).into_owned()));
        }
    }
    Ok(())
}

fn lines(purpose: Purpose, own: u32, first: u32) -> Vec<IdLine> {
    let user = |inside| IdLine { inside, outside: own, count: 1 };
    match purpose {
        Purpose::Serve => vec![user(0), IdLine { inside: 1, outside: first, count: SUB_IDS }],
        // Sub-id 0 is the root of templates' namespaces; root inside is the next.
        Purpose::Build => [vec![user(BUILDING_USER)], ids::shared(first + 1)].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_builds_a_template_is_who_owns_it_in_a_sandbox() {
        let serve = lines(Purpose::Serve, 1000, 100_000);
        let outside = |lines: &[IdLine], id: u32| {
            let line = lines.iter().find(|l| (l.inside..l.inside + l.count).contains(&id))?;
            Some(line.outside + id - line.inside)
        };
        let build = lines(Purpose::Build, 1000, 100_000);
        let plan = ids::Ids::of(hood_driver_api::Mode::Rootless);
        assert_eq!(outside(&serve, plan.root_on_disk()), outside(&build, 0));
        assert_eq!(outside(&build, ids::NOBODY), Some(164_001));
        assert_eq!((outside(&serve, 0), outside(&build, BUILDING_USER)), (Some(1000), Some(1000)));
    }

    #[test]
    fn the_tools_own_words_are_kept() {
        assert!(refused("").is_ok());
        let error = refused("1newgidmap: gid range not allowed\n").expect_err("a refusal");
        assert_eq!(error.to_string(), "`newgidmap` refused: newgidmap: gid range not allowed");
    }
}
