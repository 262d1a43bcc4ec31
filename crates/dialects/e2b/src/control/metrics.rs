//! What sandboxes used.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use time::OffsetDateTime;

use crate::app::App;
use crate::extract::{Caller, Name, Query};
use crate::limits;
use crate::reply::Reply;
use crate::wire::{Metric, Metrics};

/// The latest second that the protocol's numbers reach: the year 9999.
const LATEST: i64 = 253_402_300_799;

pub(super) async fn of_one(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    query: Query,
) -> Result<Json<Vec<Metric>>, Reply> {
    let (from, to) = (moment(&query, "start", 0)?, moment(&query, "end", LATEST)?);
    let samples = app.engine.samples(&team, &id, from, to).await?;
    Ok(Json(samples.into_iter().map(Metric::from).collect()))
}

/// Sandboxes that are not there (any more) are left out of the answer.
pub(super) async fn many(
    State(app): State<App>,
    Caller(team): Caller,
    query: Query,
) -> Result<Json<Metrics>, Reply> {
    let ids: Vec<&str> =
        query.get("sandbox_ids").unwrap_or_default().split(',').filter(|id| !id.is_empty()).collect();
    if ids.len() > limits::METRICS_IDS {
        let (given, most) = (ids.len(), limits::METRICS_IDS);
        return Err(Reply::invalid(format!("`sandbox_ids` must name at most {most} sandboxes, not {given}")));
    }
    let mut sandboxes = BTreeMap::new();
    for id in ids {
        if let Ok(sample) = app.engine.usage(&team, id).await {
            sandboxes.insert(id.to_owned(), sample.into());
        }
    }
    Ok(Json(Metrics { sandboxes }))
}

fn moment(query: &Query, name: &str, default: i64) -> Result<OffsetDateTime, Reply> {
    let secs = query.number(name, 0, LATEST)?.unwrap_or(default);
    OffsetDateTime::from_unix_timestamp(secs).map_err(|error| Reply::invalid(format!("`{name}`: {error}")))
}
