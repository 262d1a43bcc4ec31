//! Who a request is meant for.

use axum::body::Body;
use axum::extract::Request;
use hood_engine::Token;

use super::head::{masked, outgoing};
use super::signature::Signed;
use super::target::{Address, Target, target};

/// The sandbox and port that a request is addressed to, if it is addressed to one; or why it is garbled.
pub fn address<B>(request: &Request<B>, domain: &str) -> Result<Option<(String, u16)>, String> {
    match target(request, domain) {
        Ok(Target::Sandbox(Address { id, port })) => Ok(Some((id, port))),
        Ok(Target::Control | Target::Signed(_)) => Ok(None),
        Err(garbled) => Err(garbled.0),
    }
}

/// The request as the service on that port inside sees it.
pub fn inside(request: Request<Body>, mask: &str, port: u16) -> Request<Body> {
    outgoing(request, masked(mask, port))
}

/// Whether a link is signed by this token.
pub fn is_signed<B>(request: &Request<B>, token: &str) -> bool {
    Signed::of(request).is_some_and(|signed| signed.is_by(&Token(token.into())))
}
