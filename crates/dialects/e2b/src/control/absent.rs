//! What E2B's protocol has and this server has not: said in the protocol's own shape, for a 404 would mean "gone".

use axum::Router;
use axum::routing::{MethodFilter, on};

use crate::app::App;
use crate::extract::Caller;
use crate::reply::Reply;

const READ: MethodFilter = MethodFilter::GET;
const MAKE: MethodFilter = MethodFilter::POST;
const CHANGE: MethodFilter = MethodFilter::PATCH;
const DELETE: MethodFilter = MethodFilter::DELETE;

/// Path, methods, and the words for it.
const ABSENT: &[(&str, MethodFilter, &str)] = &[
    ("/templates", MAKE, BUILDS),
    ("/v2/templates", MAKE, BUILDS),
    ("/v3/templates", MAKE, BUILDS),
    ("/templates/{id}", MAKE.or(CHANGE), BUILDS),
    ("/v2/templates/{id}", CHANGE, BUILDS),
    ("/templates/{id}/files/{hash}", READ, BUILDS),
    ("/templates/{id}/builds/{build}", MAKE, BUILDS),
    ("/v2/templates/{id}/builds/{build}", MAKE, BUILDS),
    ("/templates/{id}/builds/{build}/status", READ, BUILDS),
    ("/templates/{id}/builds/{build}/logs", READ, BUILDS),
    ("/templates/tags", MAKE.or(DELETE), "template tags"),
    ("/templates/{id}/tags", READ, "template tags"),
    ("/teams", READ, "log-in (set `E2B_API_KEY` instead)"),
];

pub(super) const BUILDS: &str = "template changes over the API (`hood template build` makes templates)";

/// Adds them to the routes that are served.
pub(super) fn add(served: Router<App>) -> Router<App> {
    ABSENT.iter().fold(served, |router, &(path, methods, what)| {
        router.route(path, on(methods, move |_: Caller| async move { Reply::absent(what) }))
    })
}
