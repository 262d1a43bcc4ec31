//! Streams into running sandboxes: the data plane's one door.

use hood_driver_api::{ByteStream, DialError, SandboxId};
use tokio_util::sync::CancellationToken;

use super::Engine;
use crate::tasks::within;
use crate::{ConnectError, limits};

/// A stream to a port inside a sandbox.
pub struct Link {
    /// The bytes.
    pub stream: Box<dyn ByteStream>,
    /// Fires when the sandbox ends, after everybody sees that it has: whoever relays the stream aborts it then.
    pub cut: CancellationToken,
}

impl Engine {
    /// Opens a stream to a port of a running sandbox. Checks no owner and no token: that is the dialect's part.
    pub async fn link(&self, id: &SandboxId, port: u16) -> Result<Link, ConnectError> {
        let not_running = || ConnectError::NotRunning { ended: self.fate(id.as_str()) };
        let (_, cut) = self.shared.table.running(id).ok_or_else(not_running)?;
        let dialled = within(&self.shared.clock, limits::DIAL, self.shared.driver.connect(id, port)).await;
        if cut.is_cancelled() {
            return Err(not_running());
        }
        match dialled {
            Some(Ok(stream)) => Ok(Link { stream, cut }),
            Some(Err(DialError::Refused(port))) => Err(ConnectError::PortClosed(port)),
            Some(Err(DialError::Unknown)) => Err(not_running()),
            Some(Err(error @ DialError::Io { .. })) => Err(ConnectError::Dial(error)),
            None => {
                let source = std::io::Error::from(std::io::ErrorKind::TimedOut);
                Err(ConnectError::Dial(DialError::Io { port, source }))
            }
        }
    }
}
