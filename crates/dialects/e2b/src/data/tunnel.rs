//! After a switch of protocols (WebSocket): bytes, both ways, until one side is done or the sandbox ends.

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{copy, split};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// The two connections of a tunnel, before they have switched.
pub(super) struct Tunnel {
    pub(super) client: OnUpgrade,
    pub(super) service: OnUpgrade,
    /// Drives the service's connection up to the switch.
    pub(super) connection: AbortOnDropHandle<()>,
    pub(super) cut: CancellationToken,
}

// === impl Tunnel ===

impl Tunnel {
    /// Relays until the end. Dropping the future cuts both sides.
    pub(super) async fn run(self) {
        let Self { client, service, connection, cut } = self;
        let relay = async move {
            let (client, service) = futures_util::future::try_join(client, service).await?;
            drop(connection);
            let (mut from_client, mut to_client) = split(TokioIo::new(client));
            let (mut from_service, mut to_service) = split(TokioIo::new(service));
            // The first side that is done ends both: neither WebSocket nor its kin speak on a half-closed stream, and
            // a service must not be kept waiting for a client that is gone. What the service said last goes first.
            let copied = tokio::select! {
                biased;
                copied = copy(&mut from_service, &mut to_client) => copied,
                copied = copy(&mut from_client, &mut to_service) => copied,
            };
            copied.map_err(Box::<dyn std::error::Error + Send + Sync>::from)
        };
        if let Some(Err(error)) = cut.run_until_cancelled(relay).await {
            tracing::debug!(error, "a tunnel broke off");
        }
    }
}
