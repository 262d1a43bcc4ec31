//! The control plane: `create`, `list`, `kill` and their kin, each behind an API key.

mod absent;
mod create;
mod deadline;
mod fork;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod list;
mod logs;
mod metrics;
mod network;
mod one;
mod pause;
mod secrets;
mod snapshots;
mod templates;
mod volume_content;
mod volumes;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, Uri};
use axum::routing::{get, post, put};

use crate::app::App;
use crate::reply::Reply;

/// All routes, beside the host's own.
pub(crate) fn router(app: App, local: Router) -> Router {
    let served = Router::new()
        .route("/health", get(health))
        .route("/sandboxes", post(create::v1).get(list::v1))
        .route("/v2/sandboxes", post(create::v2).get(list::v2))
        .route("/sandboxes/metrics", get(metrics::many))
        .route("/sandboxes/{id}", get(one::detail).patch(one::change).delete(one::kill))
        .route("/sandboxes/{id}/connect", post(deadline::connect_v1))
        .route("/v2/sandboxes/{id}/connect", post(deadline::connect_v2))
        .route("/sandboxes/{id}/resume", post(pause::resume))
        .route("/sandboxes/{id}/pause", post(pause::pause))
        .route("/sandboxes/{id}/snapshots", post(snapshots::make))
        .route("/sandboxes/{id}/rollback", post(snapshots::rollback))
        .route("/sandboxes/{id}/fork", post(fork::fork))
        .route("/snapshots", get(snapshots::list))
        .route("/sandboxes/{id}/timeout", post(deadline::set))
        .route("/sandboxes/{id}/refreshes", post(deadline::refresh))
        .route("/sandboxes/{id}/metrics", get(metrics::of_one))
        .route("/sandboxes/{id}/logs", get(logs::v1))
        .route("/v2/sandboxes/{id}/logs", get(logs::v2))
        .route("/sandboxes/{id}/network", put(network::replace))
        .route("/secrets", get(secrets::list).post(secrets::create))
        .route("/secrets/{id}", get(secrets::detail).post(secrets::update).delete(secrets::delete))
        .route("/volumes", get(volumes::list).post(volumes::create))
        .route("/volumes/{id}", get(volumes::detail).delete(volumes::delete))
        .route(
            "/volumecontent/{id}/path",
            get(volume_content::stat).patch(volume_content::change).delete(volume_content::remove),
        )
        .route("/volumecontent/{id}/dir", get(volume_content::list).post(volume_content::make_folder))
        .route("/volumecontent/{id}/file", get(volume_content::read).put(volume_content::write))
        .route("/templates", get(templates::list))
        .route("/v2/templates", get(templates::list))
        .route("/templates/aliases/{alias}", get(templates::alias))
        .route("/templates/{id}", get(templates::detail).delete(templates::delete));
    absent::add(served)
        .with_state(app)
        .merge(local)
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown)
}

/// The server answers, therefore it is well: what runs in sandboxes has its own `/health`, behind routing headers.
async fn health() -> &'static str {
    "ok"
}

async fn wrong_method(method: Method, uri: Uri) -> Reply {
    Reply::new(StatusCode::METHOD_NOT_ALLOWED, format!("`{}` does not take {method}", shown_path(&uri)))
}

async fn unknown(request: Request) -> Reply {
    let path = shown_path(request.uri());
    if is_guests(request.uri().path()) {
        return Reply::invalid(format!(
            "`{path}` is answered inside a sandbox, and the request names none; send `E2b-Sandbox-Id` and \
             `E2b-Sandbox-Port`, use the host `<port>-<sandbox id>.<domain>`, or a signed URL of this server"
        ));
    }
    Reply::new(StatusCode::NOT_FOUND, format!("there is no `{path}` here"))
}

/// Paths of the services inside every sandbox: a client that sends them here has lost its routing headers.
fn is_guests(path: &str) -> bool {
    const GUEST: [&str; 5] =
        ["/files", "/execute", "/contexts", "/process.Process", "/filesystem.Filesystem"];
    GUEST
        .iter()
        .any(|own| path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

fn shown_path(uri: &Uri) -> String {
    crate::extract::shown(uri.path())
}
