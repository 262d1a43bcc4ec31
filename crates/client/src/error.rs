//! What can go wrong between us and a server.

use std::error::Error;
use std::time::Duration;

/// Why a call did not do what it was made for. `doing` completes "cannot …".
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is none.
    #[error("`{given}` is not an http or https URL")]
    BadUrl {
        /// As given.
        given: String,
    },
    /// The key could not be sent.
    #[error("the API key is empty or holds characters that fit into no HTTP header")]
    BadKey,
    /// The HTTP client could not be made.
    #[error("cannot set up an HTTP client")]
    SetUp(#[source] reqwest::Error),
    /// Nobody listens there.
    #[error("no server answers at {url}: {why}")]
    NoServer {
        /// Where it should be.
        url: String,
        /// The operating system's word for it; the libraries in between only repeat one another.
        why: String,
    },
    /// The server, or the sandbox's guest, said no.
    #[error("cannot {doing}: {message}")]
    Refused {
        /// What was tried.
        doing: &'static str,
        /// The HTTP status.
        status: u16,
        /// In the server's words.
        message: String,
    },
    /// A remote procedure in the sandbox failed.
    #[error("cannot {doing}: {message}")]
    Failed {
        /// What was tried.
        doing: &'static str,
        /// What kind of failure.
        code: Code,
        /// In the guest's words.
        message: String,
    },
    /// The sandbox is unknown or has ended.
    #[error("sandbox `{id}` is not running{}", because(why.as_deref()))]
    Gone {
        /// Which.
        id: String,
        /// Why it ended, where the server remembers.
        why: Option<String>,
    },
    /// The connection was lost on the way.
    #[error("cannot {doing}: the connection to the server broke")]
    Broken {
        /// What was tried.
        doing: &'static str,
        /// The cause; none when the stream just ended too early.
        #[source]
        source: Option<reqwest::Error>,
    },
    /// The server fell silent.
    #[error("cannot {doing}: nothing came from the server for {} s", after.as_secs())]
    Silent {
        /// What was tried.
        doing: &'static str,
        /// How long it was waited for.
        after: Duration,
    },
    /// Whatever answers there does not speak the protocol.
    #[error("cannot {doing}: the answer is not one of the E2B protocol")]
    NotUnderstood {
        /// What was tried.
        doing: &'static str,
        /// What is wrong with it.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Kinds of failure of a remote procedure, by the names of the Connect protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The arguments make no sense.
    InvalidArgument,
    /// The call's own time limit passed.
    DeadlineExceeded,
    /// What was named is not there.
    NotFound,
    /// What was to be made is there.
    AlreadyExists,
    /// Not allowed to this user.
    PermissionDenied,
    /// A limit was met.
    ResourceExhausted,
    /// No or a wrong token.
    Unauthenticated,
    /// Any other.
    #[serde(other)]
    Other,
}

fn because(why: Option<&str>) -> String {
    why.map_or_else(String::new, |why| format!(": {why}"))
}

// === impl ClientError ===

impl ClientError {
    /// What the user can do about it. Refusals mostly say it in their own words.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::BadUrl { .. } => "write it like `http://127.0.0.1:7070`",
            Self::BadKey => {
                "give the key that `hood serve` showed at its first start, `e2b_` and 40 hex digits"
            }
            Self::NoServer { .. } => {
                "start one with `hood serve`, or name another with `--url` or the variable `E2B_API_URL`"
            }
            Self::Refused { status: 401, .. } => {
                "use the key of this server: `eval \"$(hood env)\"` on its machine, or `--key`"
            }
            Self::Gone { .. } => "`hood sandbox list` shows the running ones",
            Self::Broken { .. } | Self::Silent { .. } => "look whether the server still runs, and at its log",
            Self::NotUnderstood { .. } => "look whether the URL is that of a `hood serve`",
            Self::SetUp(_) => "look whether the system has certificates (Debian: package `ca-certificates`)",
            Self::Refused { .. } | Self::Failed { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// Whether it is the server's fault and nobody else's.
    pub fn is_servers_fault(&self) -> bool {
        matches!(self, Self::Refused { status: 500, .. } | Self::NotUnderstood { .. })
    }

    /// Whether the thing that was named is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::Refused { status: 404, .. } | Self::Failed { code: Code::NotFound, .. } | Self::Gone { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_thing_and_the_next_step() {
        let gone = ClientError::Gone { id: "iabc".into(), why: Some("its time was up".into()) };
        assert_eq!(gone.to_string(), "sandbox `iabc` is not running: its time was up");
        assert!(gone.hint().is_some_and(|hint| hint.contains("hood sandbox list")));
        let refused = ClientError::Refused { doing: "create a sandbox", status: 401, message: "no".into() };
        assert_eq!(refused.to_string(), "cannot create a sandbox: no");
        assert!(refused.hint().is_some_and(|hint| hint.contains("hood env")));
    }

    #[test]
    fn unknown_codes_are_other() {
        assert_eq!(serde_json::from_str::<Code>("\"not_found\"").unwrap(), Code::NotFound);
        assert_eq!(serde_json::from_str::<Code>("\"aborted\"").unwrap(), Code::Other);
    }
}
