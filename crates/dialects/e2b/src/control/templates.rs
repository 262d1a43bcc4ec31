//! Templates, to look at.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::extract::{Caller, Name};
use crate::reply::Reply;
use crate::wire::{Alias, Template, TemplateWithBuilds};

/// Both generations: the newer one may be paged, and one page holds all there are.
pub(super) async fn list(State(app): State<App>, _: Caller) -> Json<Vec<Template>> {
    Json(app.templates.list().await.iter().map(Template::from).collect())
}

pub(super) async fn detail(
    State(app): State<App>,
    _: Caller,
    Name(id): Name,
) -> Result<Json<TemplateWithBuilds>, Reply> {
    let template = app.templates.find(&id).await.ok_or_else(|| unknown(&id))?;
    Ok(Json(TemplateWithBuilds::from(&template)))
}

/// A snapshot is a template that the API can remove; those on disk are their owner's.
pub(super) async fn delete(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
) -> Result<StatusCode, Reply> {
    if app.engine.delete_snapshot(&team, &id).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    match app.templates.find(&id).await {
        Some(_) => Err(Reply::absent(super::absent::BUILDS)),
        None => Err(Reply::new(
            StatusCode::NOT_FOUND,
            format!("neither a snapshot nor a template is called `{}`", crate::extract::shown(&id)),
        )),
    }
}

pub(super) async fn alias(
    State(app): State<App>,
    _: Caller,
    Name(alias): Name,
) -> Result<Json<Alias>, Reply> {
    let template = app.templates.find(&alias).await.ok_or_else(|| unknown(&alias))?;
    Ok(Json(Alias { template_id: template.id, public: true }))
}

fn unknown(name: &str) -> Reply {
    let name = crate::extract::shown(name);
    Reply::new(
        StatusCode::NOT_FOUND,
        format!("template `{name}` not found; `hood template list` shows what there is"),
    )
}
