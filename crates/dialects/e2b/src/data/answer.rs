//! What the data path answers by itself. The texts are the protocol's: clients match on them (reference 3.6).

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::reply::{Reply, SHOULD_RETRY};

/// A request's address cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Garbled(pub(crate) String);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Dead<'a> {
    sandbox_id: &'a str,
    message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    code: u16,
    /// Beyond the protocol: why it is gone, or what happened to the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Whether the state may be another one soon.
#[derive(Clone, Copy)]
enum Retry {
    Yes,
    /// Python retries a 502 three times unless it is told not to.
    No,
}

/// Unknown, ended, or not yet there.
pub(super) fn not_found(sandbox_id: &str, reason: Option<String>) -> Response {
    let message = "The sandbox was not found";
    bad_gateway(&Dead { sandbox_id, message, port: None, code: 502, reason }, Retry::No)
}

/// It runs, but nothing listens there.
pub(super) fn port_closed(sandbox_id: &str, port: u16) -> Response {
    let message = "The sandbox is running but port is not open";
    bad_gateway(&Dead { sandbox_id, message, port: Some(port), code: 502, reason: None }, Retry::Yes)
}

/// It runs, but the conversation with the port failed.
pub(super) fn broken(sandbox_id: &str, port: u16, reason: String) -> Response {
    let message = "The sandbox is running but did not answer";
    bad_gateway(&Dead { sandbox_id, message, port: Some(port), code: 502, reason: Some(reason) }, Retry::No)
}

/// The sandbox takes no public traffic.
pub(super) fn private(sandbox_id: &str) -> Response {
    let message = "The sandbox takes no public traffic; send its token as E2B-Traffic-Access-Token";
    let dead = Dead { sandbox_id, message, port: None, code: 403, reason: None };
    open(StatusCode::FORBIDDEN, Json(dead))
}

/// No running sandbox has made this signature.
pub(super) fn not_signed() -> Response {
    let text = "the signature fits no running sandbox; make a new URL, or check that the sandbox still runs";
    open(StatusCode::UNAUTHORIZED, Reply::new(StatusCode::UNAUTHORIZED, text))
}

fn bad_gateway(dead: &Dead<'_>, retry: Retry) -> Response {
    let mut response = open(StatusCode::BAD_GATEWAY, Json(dead));
    if let Retry::No = retry {
        response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    response
}

/// A page in a browser may read it, as it may read what the guest answers.
fn open(status: StatusCode, body: impl IntoResponse) -> Response {
    let mut response = (status, body).into_response();
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

impl IntoResponse for Garbled {
    fn into_response(self) -> Response {
        open(StatusCode::BAD_REQUEST, Reply::invalid(self.0))
    }
}
