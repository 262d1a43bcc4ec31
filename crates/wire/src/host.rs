//! What a host tells a running guest.

use serde::{Deserialize, Serialize};

/// One line to a guest, about a kernel that it asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum HostMessage {
    /// The fork is on its way inside; it says `ready` on its own socket.
    Forked {
        /// [`crate::ForkRequest::request`].
        request: u64,
    },
    /// There will be no fork: the guest starts the kernel itself.
    Refused {
        /// [`crate::ForkRequest::request`].
        request: u64,
        /// Why.
        reason: String,
    },
    /// The sandbox has other ceilings now.
    Limits {
        /// Of memory, in bytes.
        memory_bytes: u64,
    },
    /// The fork has ended.
    Exited {
        /// [`crate::ForkRequest::request`].
        request: u64,
        /// Its exit status, or the negative number of the signal that ended it.
        status: i32,
    },
}
