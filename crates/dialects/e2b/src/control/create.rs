//! `POST /v2/sandboxes` and its predecessor.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use hood_engine::{RootMode, TeamId};

use crate::app::App;
use crate::extract::{Body, Caller};
use crate::idempotency::check_key;
use crate::limits;
use crate::reply::Reply;
use crate::wire::{self, Hood};

type Created = Result<(StatusCode, Json<wire::Sandbox>), Reply>;

pub(super) async fn v1(
    State(app): State<App>,
    Caller(team): Caller,
    body: Body<wire::NewSandbox>,
) -> Created {
    let sandbox = create(app, team, body.value, limits::TIMEOUT_V1_SECS).await?;
    Ok((StatusCode::CREATED, Json(sandbox)))
}

pub(super) async fn v2(
    State(app): State<App>,
    Caller(team): Caller,
    headers: HeaderMap,
    body: Body<wire::NewSandbox>,
) -> Created {
    let work = Box::pin(create(app.clone(), team.clone(), body.value, limits::TIMEOUT_V2_SECS));
    let sandbox = match headers.get("idempotency-key") {
        None => work.await?,
        Some(key) => {
            let key = key.to_str().unwrap_or_default();
            check_key(key)?;
            app.idempotency.once(team, key, &body.bytes, work).await?
        }
    };
    Ok((StatusCode::CREATED, Json(sandbox)))
}

async fn create(
    app: App,
    team: TeamId,
    ask: wire::NewSandbox,
    default_timeout_secs: i64,
) -> Result<wire::Sandbox, Reply> {
    let root_mode = root_mode(&app, &ask).await;
    let new = ask.into_engine(default_timeout_secs, root_mode)?;
    let record = app.engine.create(&team, new).await?;
    Ok(wire::Sandbox::of(&record, &app.domain))
}

/// A read-only root leaves the working directory writable; which that is, the template knows.
async fn root_mode(app: &App, ask: &wire::NewSandbox) -> RootMode {
    if !ask.hood.as_ref().is_some_and(|hood: &Hood| hood.read_only_root) {
        return RootMode::Writable;
    }
    let account = app.templates.find(&ask.template_id).await.map(|template| template.account);
    RootMode::ReadOnlyExcept(match account {
        Some(account) => account.workdir.unwrap_or_else(|| match account.user.as_str() {
            "root" => "/root".to_owned(),
            user => format!("/home/{user}"),
        }),
        // The engine is about to say that there is no such template.
        None => "/home/user".to_owned(),
    })
}
