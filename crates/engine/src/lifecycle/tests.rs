use std::collections::BTreeMap;

use hood_driver_api::{Bytes, MilliCpu, Resources, SandboxId};
use time::Duration;

use super::*;
use crate::{AtDeadline, TeamId, Token};

const T0: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

fn after(secs: i64) -> OffsetDateTime {
    T0 + Duration::seconds(secs)
}

fn record(state: State) -> Record {
    Record {
        id: SandboxId::from_random([7; 20]),
        team: TeamId("team".into()),
        template_id: "t".into(),
        template_name: "base".into(),
        state,
        started_at: T0,
        deadline: after(60),
        resources: Resources { memory: Bytes::mib(64), cpu: MilliCpu(500), pids: 32, disk: Bytes::mib(64) },
        blueprint: Arc::default(),
        inherited: Bytes(0),
        mounts: Vec::new(),
        metadata: BTreeMap::new(),
        access_token: Token("secret".into()),
        policy: Box::default(),
        at_deadline: AtDeadline::End,
        auto_resume: false,
        internet: None,
        notes: BTreeMap::new(),
    }
}

fn over(why: Why, removed: bool) -> State {
    State::Ended(End { at: after(5), why, removed })
}

/// The only caller of `step` in these tests: `event` at second 5.
#[track_caller]
fn check(state: State, event: Event, expected: Result<(State, &[Effect]), Refusal>) {
    let got = step(&record(state), event, after(5)).map(|step| (step.next.state, step.effects));
    assert_eq!(got, expected.map(|(state, effects)| (state, effects.to_vec())));
}

#[test]
fn a_sandbox_runs_when_it_is_built() {
    check(State::Creating, Event::Built, Ok((State::Running, &[Effect::Enforce, Effect::Measure])));
}

#[test]
fn what_has_ended_keeps_no_environment() {
    let mut secretive = record(State::Running);
    secretive.blueprint = Arc::new(crate::Blueprint {
        envs: BTreeMap::from([("KEY".into(), "secret".into())]),
        ..crate::Blueprint::default()
    });
    let step = step(&secretive, Event::End(Why::Killed), after(5)).expect("it ends");
    assert!(step.next.blueprint.envs.is_empty());
}

#[test]
fn the_deadline_counts_from_the_moment_it_runs() {
    let step = step(&record(State::Creating), Event::Built, after(5)).expect("built");
    assert_eq!(step.next.deadline, after(65));
}

#[test]
fn an_end_while_building_leaves_the_walls_to_the_builder() {
    check(State::Creating, Event::End(Why::Killed), Ok((over(Why::Killed, false), &[Effect::Cut])));
    let killed = over(Why::Killed, false);
    check(killed.clone(), Event::Built, Ok((killed.clone(), &[Effect::Destroy])));
    check(killed.clone(), Event::BuildFailed("x".into()), Ok((killed, &[Effect::Destroy])));
}

#[test]
fn what_could_not_be_built_is_removed() {
    let why = Why::BuildFailed("mounts".into());
    let effects = [Effect::Cut, Effect::Destroy];
    check(State::Creating, Event::BuildFailed("mounts".into()), Ok((over(why, false), &effects)));
}

#[test]
fn every_reason_ends_a_running_sandbox() {
    for why in [Why::Killed, Why::Oom, Why::GuestDied, Why::HostRestart] {
        let effects = [Effect::Cut, Effect::Destroy];
        check(State::Running, Event::End(why.clone()), Ok((over(why, false), &effects)));
    }
}

#[test]
fn a_deadline_ends_a_sandbox_when_it_has_come_and_not_before() {
    let due = |secs| step(&record(State::Running), Event::Expire, after(secs)).map(|step| step.next.state);
    assert_eq!(due(59), Err(Refusal::NotDue));
    assert_eq!(due(60), Ok(State::Ended(End { at: after(60), why: Why::Deadline, removed: false })));
    check(State::Creating, Event::Expire, Err(Refusal::NotDue));
}

#[test]
fn extending_never_shortens_and_setting_may() {
    let moved = |event| step(&record(State::Running), event, after(5)).expect("running").next;
    assert_eq!(moved(Event::SetDeadline(after(9))).deadline, after(9));
    assert_eq!(moved(Event::ExtendDeadline(after(90))).deadline, after(90));
    assert_eq!(moved(Event::ExtendDeadline(after(9))), record(State::Running));
}

#[test]
fn new_notes_replace_the_old_and_change_nothing_else() {
    let notes = BTreeMap::from([("network".to_owned(), serde_json::json!({"allow": []}))]);
    let event = Event::SetPolicy { policy: Box::default(), notes: notes.clone(), internet: Some(false) };
    let step = step(&record(State::Running), event, after(5)).expect("running");
    assert_eq!(step.next, Record { internet: Some(false), notes, ..record(State::Running) });
    assert_eq!(step.effects, [Effect::Enforce]);
}

#[test]
fn ended_is_ended() {
    let killed = over(Why::Killed, false);
    for event in [
        Event::End(Why::Oom),
        Event::Expire,
        Event::SetDeadline(after(9)),
        Event::ExtendDeadline(after(9)),
        Event::SetPolicy { policy: Box::default(), notes: BTreeMap::new(), internet: None },
    ] {
        check(killed.clone(), event, Err(Refusal::Ended(Why::Killed)));
    }
    check(killed, Event::Removed, Ok((over(Why::Killed, true), &[])));
    check(over(Why::Killed, true), Event::Built, Err(Refusal::Misplaced));
}

#[test]
fn reports_that_fit_nowhere_are_refused() {
    check(State::Running, Event::Built, Err(Refusal::Misplaced));
    check(State::Running, Event::Removed, Err(Refusal::Misplaced));
    check(State::Creating, Event::Removed, Err(Refusal::Misplaced));
}
