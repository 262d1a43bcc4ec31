//! Which of the two planes a request belongs to.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tower::ServiceExt;

use crate::app::App;
use crate::reply::Reply;
use crate::unread::read_out;
use crate::{control, data};

/// Marks requests of this server's own sandboxes, in a request's extensions: they are for the hosts of other sandboxes,
/// and the control plane is not there for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FromSandbox;

/// Everything: the control plane, and for requests that are addressed to a sandbox, the data path.
pub fn router(app: App) -> Router {
    router_beside(app, Router::new())
}

/// The same with routes of the host's own (`/metrics`), which stand beside the control plane.
///
/// They cannot simply be added to the router afterwards: a route wins over the fallback, and `GET /metrics` with
/// routing headers is meant for a guest. For the same reason a request addressed to a sandbox never meets `local`.
pub fn router_beside(app: App, local: Router) -> Router {
    let control = control::router(app.clone(), local);
    Router::new().fallback(move |request: Request| dispatch(app, control, request))
}

async fn dispatch(app: App, control: Router, request: Request<Body>) -> Response {
    let request = read_out(request, &app.tasks);
    let inside = request.extensions().get::<FromSandbox>().is_some();
    match data::target(&request, &app.domain) {
        Ok(data::Target::Control) if inside => {
            let only = "from inside a sandbox only the hosts of sandboxes can be reached here";
            Reply::new(StatusCode::FORBIDDEN, only).into_response()
        }
        Ok(data::Target::Control) => match control.oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        },
        Ok(data::Target::Sandbox(address)) => data::forward(&app, address, request).await,
        Ok(data::Target::Signed(query)) => data::forward_signed(&app, &query, request).await,
        Err(garbled) => garbled.into_response(),
    }
}
