//! What a ceiling cuts off a policy.

use crate::closed::closed_whole;
use crate::validate::lists::covers;
use crate::{Allow, Base, Budget, Ceiling, Finding, Place, Policy, Range, Target};

/// How much of a line a ceiling leaves.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    All,
    Some,
    Nothing,
}

/// What a policy asks for and this ceiling does not give. An error is a line of which nothing is left, so that whoever
/// wrote it is told instead of left to wonder; a warning is what is cut. Nothing of this changes what [`crate::decide`]
/// says, which knows the ceiling.
pub fn within(policy: &Policy, ceiling: &Ceiling) -> Vec<Finding> {
    let mut all = Vec::new();
    if policy.base == Base::Open && ceiling.policy.base == Base::Closed {
        let what = "the server's profile allows only what it lists";
        all.push(Finding::warning(
            Place::Base,
            what,
            "ask the operator for a wider profile if that is too little",
        ));
    }
    for (line, allow) in policy.allow.iter().enumerate() {
        all.extend(cut(line, allow, ceiling));
    }
    if asks_for_more(&policy.budget, &ceiling.policy.budget) {
        let what = "it asks for more than the server's profile gives";
        all.push(Finding::warning(Place::Budget, what, "the smaller number of each pair counts"));
    }
    all
}

/// Whether a number that is said is larger than the ceiling's; one that is not said asks for nothing.
fn asks_for_more(asked: &Budget, ceiling: &Budget) -> bool {
    fn more<T: PartialOrd>(asked: Option<T>, ceiling: Option<T>) -> bool {
        asked.zip(ceiling).is_some_and(|(asked, ceiling)| asked > ceiling)
    }
    more(asked.bytes_out, ceiling.bytes_out)
        || more(asked.bytes_in, ceiling.bytes_in)
        || more(asked.bytes_per_second, ceiling.bytes_per_second)
        || more(asked.connections_per_second, ceiling.connections_per_second)
        || more(asked.connection_time, ceiling.connection_time)
}

fn cut(line: usize, allow: &Allow, ceiling: &Ceiling) -> Option<Finding> {
    let place = Place::Allow(Some(line));
    if let Target::Range(range) = &allow.to
        && let Some(word) = closed_whole(range)
        && !ceiling.open.iter().any(|open| open.overlaps(range))
    {
        let what = format!("`{range}` is closed in every policy ({word})");
        let hint = "leave it out, or ask the operator to list it under `open` of a profile";
        return Some(Finding::error(place, what, hint));
    }
    match left(allow, &ceiling.policy) {
        Left::All => None,
        Left::Some => {
            let what = format!("the server's profile forbids a part of `{}`", allow.to);
            Some(Finding::warning(place, what, "ask the operator for a wider profile if that is too little"))
        }
        Left::Nothing => {
            let what = format!("the server's profile forbids `{}`", allow.to);
            Some(Finding::error(place, what, "leave it out, or ask the operator for a wider profile"))
        }
    }
}

fn left(allow: &Allow, ceiling: &Policy) -> Left {
    if ceiling.log_only || ceiling.allow.iter().any(|above| covers(above, allow)) {
        return Left::All;
    }
    let meets = |above: &Allow| {
        let ports = above.ports.is_empty() || allow.ports.is_empty();
        let ports = ports || above.ports.iter().any(|port| allow.ports.contains(port));
        ports
            && match (&above.to, &allow.to) {
                (Target::Range(above), Target::Range(range)) => above.overlaps(range),
                (Target::Name(above), Target::Name(pattern)) => above.overlaps(pattern),
                // Which addresses a name has is not known here.
                _ => true,
            }
    };
    let some = ceiling.allow.iter().any(meets);
    let denied = match (&allow.to, ceiling.base) {
        (_, Base::Closed) => Left::Nothing,
        (Target::Name(_), Base::Open) => match ceiling.deny.as_slice() {
            [] => Left::All,
            deny if Range::cover_everything(deny) => Left::Nothing,
            _ => Left::Some,
        },
        (Target::Range(range), Base::Open) => {
            if ceiling.deny.iter().any(|deny| deny.covers(range)) {
                Left::Nothing
            } else if ceiling.deny.iter().any(|deny| deny.overlaps(range)) {
                Left::Some
            } else {
                Left::All
            }
        }
    };
    if denied == Left::Nothing && some { Left::Some } else { denied }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

    fn policy(json: &str) -> Policy {
        serde_json::from_str(json).expect(json)
    }

    fn ceiling(json: &str) -> Ceiling {
        serde_json::from_str(json).expect(json)
    }

    #[track_caller]
    fn found(asked: &str, bound: &str, expected: &[(Severity, &str)]) {
        let found = within(&policy(asked), &ceiling(bound));
        let found: Vec<_> = found.iter().map(|finding| (finding.severity, finding.to_string())).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((severity, text), (expected, part)) in found.iter().zip(expected) {
            assert!(severity == expected && text.contains(part), "{text} | {part}");
        }
    }

    #[test]
    fn an_open_ceiling_cuts_only_what_is_closed() {
        let asked = r#"{"allow":[{"to":{"range":"1.1.1.1"}},{"to":{"name":"*.example.com"}},
                        {"to":{"range":"10.1.0.0/16"}},{"to":{"range":"169.254.169.254"}}]}"#;
        let private = "`allow[2]`: `10.1.0.0/16` is closed in every policy (private); leave it out";
        found(asked, "{}", &[(Severity::Error, private), (Severity::Error, "(metadata)")]);
        found(asked, r#"{"open":["10.1.2.0/24"]}"#, &[(Severity::Error, "(metadata)")]);
    }

    #[test]
    fn a_closed_ceiling_says_what_is_left_of_each_line() {
        let bound = r#"{"policy":{"allow":[{"to":{"name":"*.example.com"},"ports":[443]}]}}"#;
        found(r#"{"base":"open"}"#, bound, &[(Severity::Warning, "`base`: the server's profile")]);
        found(r#"{"allow":[{"to":{"name":"a.example.com"},"ports":[443]}]}"#, bound, &[]);
        found(r#"{"allow":[{"to":{"name":"a.example.com"}}]}"#, bound, &[(Severity::Warning, "a part of")]);
        found(r#"{"allow":[{"to":{"name":"a.example.net"}}]}"#, bound, &[(Severity::Error, "forbids `a.ex")]);
        found(
            r#"{"allow":[{"to":{"name":"a.example.com"},"ports":[22]}]}"#,
            bound,
            &[(Severity::Error, "forbids")],
        );
        found(r#"{"allow":[{"to":{"range":"1.1.1.1"}}]}"#, bound, &[(Severity::Warning, "a part of")]);
    }

    #[test]
    fn denials_and_budgets_cut() {
        let bound = r#"{"policy":{"base":"open","deny":["8.8.0.0/16"],"budget":{"bytes_out":10}}}"#;
        found(r#"{"allow":[{"to":{"range":"8.8.8.8"}}]}"#, bound, &[(Severity::Error, "forbids `8.8.8.8`")]);
        found(r#"{"allow":[{"to":{"range":"8.0.0.0/8"}}]}"#, bound, &[(Severity::Warning, "a part of")]);
        found(r#"{"budget":{"bytes_out":11}}"#, bound, &[(Severity::Warning, "`budget`")]);
        found(r#"{"budget":{"bytes_out":9}}"#, bound, &[]);
        found("{}", bound, &[]);
    }
}
