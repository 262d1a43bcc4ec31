//! `StreamInput`: many pieces of input over one request, in order.

use axum::body::Body;
use tokio::time::{Instant, timeout_at};

use super::wire::StreamInputRequest;
use crate::app::App;
use crate::connect::{Code, ConnectError, Messages};

/// Writes piece after piece until the client ends its stream. The next piece is read only when the last is written, so
/// a process that does not read slows its client down and costs one message of memory.
pub(super) async fn relay(app: &App, deadline: Option<Instant>, body: Body) -> Result<(), ConnectError> {
    let mut messages = Messages::<StreamInputRequest>::new(body);
    let start = next(&mut messages, deadline).await?.and_then(|message| message.start).ok_or_else(|| {
        ConnectError::new(Code::InvalidArgument, "the first message must be `start`, naming the process")
    })?;
    let process = app.processes.live(start.process.as_ref())?;
    while let Some(message) = next(&mut messages, deadline).await? {
        // Without data it is a sign of life.
        if let Some(input) = message.data.and_then(|data| data.input) {
            process.input.write(&input, deadline).await?;
        }
    }
    Ok(())
}

async fn next(
    messages: &mut Messages<StreamInputRequest>,
    deadline: Option<Instant>,
) -> Result<Option<StreamInputRequest>, ConnectError> {
    match deadline {
        None => messages.next().await,
        Some(at) => timeout_at(at, messages.next()).await.unwrap_or_else(|_| {
            Err(ConnectError::new(Code::DeadlineExceeded, "the input stream's timeout is over"))
        }),
    }
}
