//! Listings, with E2B's twice-encoded metadata filter.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderName;
use axum::response::{AppendHeaders, IntoResponse, Response};
use hood_engine::{Filter, Order, Page, Phase};
use time::Duration;

use crate::app::App;
use crate::extract::{Caller, Query, decode, shown};
use crate::limits;
use crate::reply::Reply;
use crate::wire::{ListedSandbox, parse_time};

const NEXT_TOKEN: HeaderName = HeaderName::from_static("x-next-token");
const TOTAL_RUNNING: HeaderName = HeaderName::from_static("x-total-running");

pub(super) async fn v2(
    State(app): State<App>,
    Caller(team): Caller,
    query: Query,
) -> Result<Response, Reply> {
    let page = app.engine.list(&team, &filter(&query)?);
    let listed: Vec<_> = page.records.iter().map(ListedSandbox::of).collect();
    // Without a next page the header is left out, as clients expect.
    let next = page.next.map(|next| AppendHeaders([(NEXT_TOKEN, next)]));
    Ok((next, [(TOTAL_RUNNING, page.running.to_string())], Json(listed)).into_response())
}

/// The legacy listing knows running ones and no pages, so it is given all of them.
pub(super) async fn v1(
    State(app): State<App>,
    Caller(team): Caller,
    query: Query,
) -> Result<Response, Reply> {
    let mut filter = Filter {
        metadata: metadata(&query)?,
        states: vec![Phase::Running],
        limit: limits::PAGE,
        ..Filter::default()
    };
    let mut listed = Vec::new();
    loop {
        let page = app.engine.list(&team, &filter);
        listed.extend(page.records.iter().map(ListedSandbox::of));
        if page.next.is_none() {
            return Ok(Json(listed).into_response());
        }
        filter.after = page.next;
    }
}

pub(super) fn filter(query: &Query) -> Result<Filter, Reply> {
    let started_after = query.get("startedAfter").map(|text| {
        let time = parse_time(text).ok_or_else(|| {
            Reply::invalid(format!("`startedAfter` must be an RFC 3339 time, not `{}`", shown(text)))
        })?;
        // The engine reads "after" strictly, E2B does not: a sandbox's own start finds it.
        Ok::<_, Reply>(time.checked_sub(Duration::NANOSECOND).unwrap_or(time))
    });
    let after = query.get("nextToken").map(str::to_owned);
    if let Some(token) = after.as_deref().filter(|token| !Page::is_position(token)) {
        return Err(Reply::invalid(format!(
            "`nextToken` is not one that this server gave: `{}`",
            shown(token)
        )));
    }
    Ok(Filter {
        metadata: metadata(query)?,
        template: query.get("template").map(str::to_owned),
        states: states(query)?,
        started_after: started_after.transpose()?,
        order: order(query)?,
        after,
        limit: query.number("limit", 1, limits::PAGE as i64)?.map_or(limits::PAGE, |limit| limit as usize),
    })
}

fn order(query: &Query) -> Result<Order, Reply> {
    match query.get("order") {
        None | Some("desc") => Ok(Order::Newest),
        Some("asc") => Ok(Order::Oldest),
        Some(other) => {
            Err(Reply::invalid(format!("`order` must be `asc` or `desc`, not `{}`", shown(other))))
        }
    }
}

fn states(query: &Query) -> Result<Vec<Phase>, Reply> {
    let states = query.get("state").into_iter().flat_map(|states| states.split(','));
    let phase = |state| match state {
        "running" => Ok(Phase::Running),
        "paused" => Ok(Phase::Paused),
        other => {
            let other = shown(other);
            Err(Reply::invalid(format!("`state` must be `running` or `paused`, not `{other}`")))
        }
    };
    states.map(phase).collect()
}

/// The parameter holds a query string whose names and values are encoded once more (reference 2.1).
fn metadata(query: &Query) -> Result<BTreeMap<String, String>, Reply> {
    let bad = |_| Reply::invalid("`metadata` holds bytes that are not UTF-8");
    let Some(text) = query.get("metadata") else { return Ok(BTreeMap::new()) };
    let pairs = Query::parse(text).map_err(bad)?.into_pairs();
    pairs
        .into_iter()
        .map(|(name, value)| Ok((decode(&name).map_err(bad)?, decode(&value).map_err(bad)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Query {
        Query::parse(text).expect("text")
    }

    #[test]
    fn metadata_is_decoded_as_the_sdks_encode_it() {
        let pairs = metadata(&parse("metadata=a%252520b%3Dc%252526d%26k%3Dv")).expect("pairs");
        assert_eq!(
            pairs.into_iter().collect::<Vec<_>>(),
            [("a b".into(), "c&d".into()), ("k".into(), "v".into())]
        );
    }

    #[test]
    fn a_listing_refuses_what_it_does_not_know() {
        for (query, part) in [
            ("limit=0", "`limit` must be a whole number from 1 to 100"),
            ("limit=101", "not `101`"),
            ("nextToken=abc", "`nextToken` is not one that this server gave"),
            ("order=up", "`order` must be `asc` or `desc`"),
            ("startedAfter=soon", "`startedAfter` must be an RFC 3339 time"),
        ] {
            let message = filter(&parse(query)).expect_err(query).message;
            assert!(message.contains(part), "{message}");
        }
        assert!(states(&parse("state=running,dead")).is_err());
        assert_eq!(states(&parse("state=paused")), Ok(vec![Phase::Paused]));
        assert_eq!(states(&parse("state=paused,running")), Ok(vec![Phase::Paused, Phase::Running]));
        assert_eq!(states(&parse("")), Ok(vec![]));
    }
}
