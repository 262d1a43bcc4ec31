//! Rules for requests to hosts.

use std::collections::BTreeSet;

use super::lists::over_wide;
use super::{too_long, too_many};
use crate::request::{is_token, segments};
use crate::wide::is_over_wide;
use crate::{Base, Finding, HostRule, HttpRule, Place, Policy, Target, limits};

/// Headers that say where a request ends, to whom it goes, or what becomes of its connection. Setting them would make
/// the next server read another request than the one that was decided on.
const OURS: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn check(policy: &Policy, all: &mut Vec<Finding>) {
    if policy.hosts.len() > limits::HOST_RULES {
        all.push(too_many(Place::Host(None), policy.hosts.len(), limits::HOST_RULES, "hosts with a rule"));
    }
    for (at, rule) in policy.hosts.iter().enumerate().take(limits::HOST_RULES) {
        let place = || Place::Host(Some(rule.host.clone()));
        let length = rule.host.to_string().len();
        if length > limits::HOST_BYTES {
            all.push(too_long(place(), "the host", length, limits::HOST_BYTES));
        }
        if is_over_wide(&rule.host) {
            all.push(over_wide(place(), &rule.host));
        }
        if policy.hosts[..at].iter().any(|earlier| earlier.host == rule.host) {
            all.push(Finding::error(place(), "this host has two rules", "make them one"));
        }
        headers(rule, all);
        requests(rule, all);
        if !may_be_reached(policy, rule) {
            let hint = "allow the host, too: a rule grants no access by itself";
            all.push(Finding::warning(place(), "nothing allows this host", hint));
        }
        if rule.limits_requests() && policy.base == Base::Open {
            let what = "requests to this host are limited while everything else is open, so that only connections \
                        with a name that was looked up are let through";
            all.push(Finding::warning(place(), what, "close the base and allow what is needed"));
        }
        if rule.transform.headers.is_empty() && rule.requests.is_empty() {
            all.push(Finding::warning(place(), "the rule changes and limits nothing", "leave it out"));
        }
    }
}

fn headers(rule: &HostRule, all: &mut Vec<Finding>) {
    let place = || Place::Host(Some(rule.host.clone()));
    let headers = &rule.transform.headers;
    if headers.len() > limits::HEADERS {
        all.push(too_many(place(), headers.len(), limits::HEADERS, "headers"));
        return;
    }
    let mut seen = BTreeSet::new();
    for (name, value) in headers {
        let shown = shown(name);
        if name.len() > limits::HEADER_NAME_BYTES {
            let what = format!("the name of header `{shown}`");
            all.push(too_long(place(), &what, name.len(), limits::HEADER_NAME_BYTES));
        } else if !is_token(name) {
            let what = format!("`{shown}` is no name of a header");
            all.push(Finding::error(place(), what, "use letters, digits and dashes"));
        } else if OURS.contains(&name.to_ascii_lowercase().as_str()) {
            let what = format!("header `{shown}` belongs to the connection and cannot be set");
            all.push(Finding::error(place(), what, "leave it out"));
        } else if !seen.insert(name.to_ascii_lowercase()) {
            let what = format!("header `{shown}` is set twice, in two spellings");
            all.push(Finding::error(place(), what, "leave out one"));
        }
        // A value may be a secret: it is never shown.
        if value.len() > limits::HEADER_VALUE_BYTES {
            let what = format!("the value of header `{shown}`");
            all.push(too_long(place(), &what, value.len(), limits::HEADER_VALUE_BYTES));
        } else if value.chars().any(|c| c != '\t' && c.is_control()) {
            let what = format!("the value of header `{shown}` holds a control character");
            all.push(Finding::error(place(), what, "leave out line ends and the like"));
        }
    }
}

fn requests(rule: &HostRule, all: &mut Vec<Finding>) {
    let place = || Place::Host(Some(rule.host.clone()));
    if rule.requests.len() > limits::REQUESTS {
        all.push(too_many(place(), rule.requests.len(), limits::REQUESTS, "request rules"));
        return;
    }
    for (at, request) in rule.requests.iter().enumerate() {
        if request.methods.len() > limits::METHODS {
            all.push(too_many(
                place(),
                request.methods.len(),
                limits::METHODS,
                "methods of one request rule",
            ));
            continue;
        }
        for method in &request.methods {
            let shown = shown(method);
            if !is_token(method) {
                let what = format!("`{shown}` is no method");
                all.push(Finding::error(place(), what, "write `GET`, `POST` and the like"));
            } else if method.bytes().any(|byte| byte.is_ascii_lowercase()) {
                let what =
                    format!("the method `{shown}` has small letters, and methods count as they are written");
                all.push(Finding::warning(place(), what, "write `GET`, `POST` and the like"));
            }
        }
        if request.path.len() > limits::PATH_BYTES {
            all.push(too_long(place(), "a path", request.path.len(), limits::PATH_BYTES));
        } else if request.path.contains(['?', '#']) || segments(&request.path).is_none() {
            let what = format!("`{}` is no path, or can be read in two ways", shown(&request.path));
            let hint = "begin with `/`, and write neither a query nor `.`, `..`, `//` or encoded slashes";
            all.push(Finding::error(place(), what, hint));
        } else if let Some(earlier) = rule.requests[..at].iter().position(|earlier| covers(earlier, request))
        {
            let what = format!("request rule {at} is covered by request rule {earlier}");
            all.push(Finding::warning(place(), what, "leave it out"));
        }
    }
}

/// Whether one rule allows all requests that the other allows.
fn covers(wide: &HttpRule, narrow: &HttpRule) -> bool {
    let methods = match (wide.methods.as_slice(), narrow.methods.as_slice()) {
        ([], narrow) => !narrow.iter().any(|method| method == "CONNECT"),
        (_, []) => false,
        (wide, narrow) => narrow.iter().all(|method| wide.contains(method)),
    };
    let paths = segments(&wide.path).zip(segments(&narrow.path));
    methods && paths.is_some_and(|(wide, narrow)| narrow.starts_with(&wide))
}

fn may_be_reached(policy: &Policy, rule: &HostRule) -> bool {
    policy.base == Base::Open
        || policy.log_only
        || policy.allow.iter().any(|line| match &line.to {
            Target::Range(_) => true,
            Target::Name(pattern) => pattern.overlaps(&rule.host),
        })
}

/// A text of the client's, safe to print.
fn shown(text: &str) -> String {
    text.escape_debug().take(80).collect()
}
