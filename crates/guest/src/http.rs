//! The two routers, and what stands before every route: the token, CORS, the requested user.

use axum::Router;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::Serialize;

use crate::app::App;
use crate::{contexts, files, filesystem, process};

const TOKEN: &str = "x-access-token";

/// What E2B's envd serves.
pub(crate) fn envd(app: App) -> Router {
    // `/files` checks tokens itself, because a signature may stand in for one.
    let open = Router::new().route("/health", get(async || StatusCode::NO_CONTENT)).merge(files::routes());
    let guarded = Router::new()
        .merge(process::routes())
        .merge(filesystem::routes())
        .route("/envs", get(async |State(app): State<App>| axum::Json(app.global_env())))
        .layer(middleware::from_fn_with_state(app.clone(), require_token));
    open.merge(guarded).layer(middleware::from_fn(cors)).with_state(app)
}

/// What E2B's code interpreter serves. `/contexts` calls of the SDKs carry no token, so only `/execute` asks for one.
pub(crate) fn code(app: App) -> Router {
    let guarded =
        contexts::execute_routes().layer(middleware::from_fn_with_state(app.clone(), require_token));
    Router::new()
        .route("/health", get(async || "\"OK\""))
        .merge(contexts::routes())
        .merge(guarded)
        .layer(middleware::from_fn(cors))
        .with_state(app)
}

/// An error of a plain HTTP endpoint, in E2B's shape.
#[derive(Debug, Serialize)]
pub(crate) struct PlainError {
    code: u16,
    message: String,
}

impl PlainError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { code: status.as_u16(), message: message.into() }
    }
}

impl IntoResponse for PlainError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.code).expect("made from a status");
        (status, axum::Json(self)).into_response()
    }
}

/// Whether the request carries the sandbox's token.
pub(crate) fn has_token(app: &App, headers: &HeaderMap) -> bool {
    headers.get(TOKEN).is_some_and(|token| app.accepts(token.as_bytes()))
}

async fn require_token(State(app): State<App>, request: Request, next: Next) -> Response {
    if has_token(&app, request.headers()) {
        next.run(request).await
    } else {
        PlainError::new(StatusCode::UNAUTHORIZED, "missing or wrong X-Access-Token").into_response()
    }
}

/// Browsers run the SDK too: every origin may call, since the token is what counts.
async fn cors(request: Request, next: Next) -> Response {
    let mut response = if request.method() == Method::OPTIONS {
        StatusCode::NO_CONTENT.into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    let any = HeaderValue::from_static("*");
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, any.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, any.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, any);
    response
}

/// The user that a Connect call asks for: `Authorization: Basic base64("<user>:")`, or the default when absent.
pub(crate) struct AskedUser(pub(crate) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for AskedUser {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(basic_user(&parts.headers)))
    }
}

fn basic_user(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let decoded = base64::engine::general_purpose::STANDARD.decode(value.strip_prefix("Basic ")?).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let user = text.split(':').next()?;
    (!user.is_empty()).then(|| user.to_owned())
}
