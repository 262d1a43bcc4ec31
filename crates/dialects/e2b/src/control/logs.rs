//! A sandbox's log, in both generations of the call.

use axum::Json;
use axum::extract::State;
use hood_engine::{LogQuery, Order};
use time::OffsetDateTime;

use crate::app::App;
use crate::extract::{Caller, Name, Query, shown};
use crate::limits;
use crate::reply::Reply;
use crate::wire::{self, LogEntry, LogLineV1, Logs, LogsV2};

/// Milliseconds up to the year 9999.
const LATEST_MS: i64 = 253_402_300_799_999;

pub(super) async fn v1(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    query: Query,
) -> Result<Json<Logs>, Reply> {
    let wanted = LogQuery { from: moment(&query, "start")?, limit: limit(&query)?, ..LogQuery::default() };
    let lines = app.engine.logs(&team, &id, &wanted).await?;
    let logs = lines.iter().map(LogLineV1::from).collect();
    Ok(Json(Logs { logs, log_entries: lines.into_iter().map(LogEntry::from).collect() }))
}

pub(super) async fn v2(
    State(app): State<App>,
    Caller(team): Caller,
    Name(id): Name,
    query: Query,
) -> Result<Json<LogsV2>, Reply> {
    let direction = match query.get("direction") {
        None | Some("forward") => Order::Oldest,
        Some("backward") => Order::Newest,
        Some(other) => {
            let other = shown(other);
            return Err(Reply::invalid(format!(
                "`direction` must be `forward` or `backward`, not `{other}`"
            )));
        }
    };
    let level = query.get("level").map(|name| {
        wire::level(name).ok_or_else(|| {
            Reply::invalid(format!(
                "`level` must be `debug`, `info`, `warn` or `error`, not `{}`",
                shown(name)
            ))
        })
    });
    let wanted = LogQuery {
        from: moment(&query, "cursor")?,
        limit: limit(&query)?,
        direction,
        level: level.transpose()?,
        search: query.get("search").map(str::to_owned),
    };
    let lines = app.engine.logs(&team, &id, &wanted).await?;
    Ok(Json(LogsV2 { logs: lines.into_iter().map(LogEntry::from).collect() }))
}

fn limit(query: &Query) -> Result<usize, Reply> {
    let limit = query.number("limit", 0, limits::LOG_LINES as i64)?;
    Ok(limit.map_or(limits::LOG_LINES, |limit| limit as usize))
}

fn moment(query: &Query, name: &str) -> Result<Option<OffsetDateTime>, Reply> {
    let Some(ms) = query.number(name, 0, LATEST_MS)? else { return Ok(None) };
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000)
        .map(Some)
        .map_err(|error| Reply::invalid(format!("`{name}`: {error}")))
}
