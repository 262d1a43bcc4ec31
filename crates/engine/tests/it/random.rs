//! Anything in any order, the server's death included: what must always hold, holds.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use hood_engine::{
    AtDeadline, Bytes, Change, End, Filter, Fork, Keep, NewSandbox, Record, SandboxId, Snapshot,
    SnapshotFilter, SnapshotId, State, limits,
};
use hood_testkit::{Call, Fault, Lab};
use proptest::prelude::*;
use proptest::sample::Index;
use tokio::runtime::{Builder, Runtime};

use crate::secs;

/// One thing done to the engine or to its world.
#[derive(Debug, Clone)]
enum Op {
    Create { timeout: u64, at_deadline: AtDeadline },
    Pause(Index, Keep),
    Snapshot(Index),
    DeleteSnapshot(Index),
    Rollback(Index, Index),
    Fork(Index, usize),
    Connect(Index, u64),
    Traffic(Index),
    Kill(Index),
    Resize(Index, u64),
    SetDeadline(Index, u64),
    ExtendDeadline(Index, u64),
    Die(Index, bool),
    Advance(u64),
    Break(Call, Fault),
    Mend(Call),
    FillStore,
    FreeStore,
}

/// What can break.
const CALLS: &[Call] = &[
    Call::Create,
    Call::Destroy,
    Call::Freeze,
    Call::Thaw,
    Call::Resize,
    Call::Rest,
    Call::Capture,
    Call::Restore,
    Call::Discard,
];

/// Some things, each followed by this many turns for the engine's tasks, and then the server is killed.
type Life = Vec<(Op, usize)>;

fn op() -> impl Strategy<Value = Op> {
    let call = || prop::sample::select(CALLS);
    let keep = || prop_oneof![Just(Keep::Memory), Just(Keep::Files)];
    let at_deadline =
        || prop_oneof![Just(AtDeadline::End), Just(AtDeadline::Pause), Just(AtDeadline::PauseFiles)];
    let fault = prop_oneof![Just(Fault::Fail), Just(Fault::Hang)];
    prop_oneof![
        6 => (1..40_u64, at_deadline()).prop_map(|(timeout, at_deadline)| Op::Create { timeout, at_deadline }),
        4 => (any::<Index>(), keep()).prop_map(|(which, keep)| Op::Pause(which, keep)),
        2 => any::<Index>().prop_map(Op::Snapshot),
        1 => any::<Index>().prop_map(Op::DeleteSnapshot),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(which, to)| Op::Rollback(which, to)),
        2 => (any::<Index>(), 1..4_usize).prop_map(|(which, count)| Op::Fork(which, count)),
        3 => (any::<Index>(), 1..40_u64).prop_map(|(which, secs)| Op::Connect(which, secs)),
        2 => any::<Index>().prop_map(Op::Traffic),
        4 => any::<Index>().prop_map(Op::Kill),
        2 => (any::<Index>(), 1..5_u64).prop_map(|(which, gib)| Op::Resize(which, gib)),
        2 => (any::<Index>(), 0..40_u64).prop_map(|(which, secs)| Op::SetDeadline(which, secs)),
        2 => (any::<Index>(), 0..40_u64).prop_map(|(which, secs)| Op::ExtendDeadline(which, secs)),
        3 => (any::<Index>(), any::<bool>()).prop_map(|(which, oom)| Op::Die(which, oom)),
        3 => (1..15_u64).prop_map(Op::Advance),
        2 => (call(), fault).prop_map(|(call, fault)| Op::Break(call, fault)),
        2 => call().prop_map(Op::Mend),
        1 => Just(Op::FillStore),
        1 => Just(Op::FreeStore),
    ]
}

fn lives() -> impl Strategy<Value = Vec<Life>> {
    prop::collection::vec(prop::collection::vec((op(), 0..25_usize), 1..25), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_leaks_and_nothing_rises_from_the_dead(lives in lives()) {
        let mut world = World::new();
        for life in lives {
            world.start();
            for (op, turns) in life {
                world.act(op);
                world.pass(turns);
                world.check_the_dead();
            }
            world.calm_down();
            world.check_quiet();
            // The server dies here: its runtime, and with it all its tasks, goes.
        }
    }
}

struct World {
    runtime: Runtime,
    lab: Lab,
    graves: HashMap<SandboxId, End>,
    promised: Arc<Mutex<HashSet<SnapshotId>>>,
}

impl World {
    fn new() -> Self {
        let runtime = runtime();
        let lab = {
            let _in = runtime.enter();
            Lab::new()
        };
        Self { runtime, lab, graves: HashMap::new(), promised: Arc::default() }
    }

    fn start(&mut self) {
        for &call in CALLS {
            self.lab.driver.mend(call);
        }
        let next = runtime();
        self.lab = {
            let _in = next.enter();
            self.lab.restarted()
        };
        self.runtime = next;
        self.runtime.block_on(self.lab.engine.recover()).expect("nothing is broken at the start");
        assert_eq!(self.lab.driver.standing(), [], "a start sweeps");
        assert!(self.lab.driver.resting().is_empty(), "a start sweeps what rests, too");
        let known: HashSet<_> = self.snapshots().into_iter().map(|snapshot| snapshot.id.clone()).collect();
        assert!(self.lab.driver.kept().is_subset(&known), "what nobody was told of goes");
        self.check_snapshots();
        assert!(self.lab.store.records().iter().all(|record| record.ended().is_some_and(|end| end.removed)));
        self.check_the_dead();
    }

    fn snapshots(&self) -> Vec<Arc<Snapshot>> {
        let all = SnapshotFilter { limit: usize::MAX, ..SnapshotFilter::default() };
        self.lab.engine.snapshots(&self.lab.team, &all).0
    }

    /// What a caller was told of is there, until somebody asks to delete it.
    fn check_snapshots(&self) {
        let promised = self.promised.lock().expect("never poisoned");
        let known: HashSet<_> = self.snapshots().into_iter().map(|snapshot| snapshot.id.clone()).collect();
        assert!(
            promised.is_subset(&known) && promised.is_subset(&self.lab.driver.kept()),
            "a snapshot is lost"
        );
    }

    fn keep(&self, op: Op) {
        let lab = self.lab.clone();
        let some = |which: Index| {
            let mut living: Vec<Record> =
                lab.store.records().into_iter().filter(|record| record.ended().is_none()).collect();
            living.sort_by(|a, b| a.id.cmp(&b.id));
            (!living.is_empty()).then(|| living[which.index(living.len())].id.to_string())
        };
        match op {
            Op::Snapshot(which) => {
                if let Some(id) = some(which) {
                    let name = Some("name".parse().expect("a name"));
                    let promised = self.promised.clone();
                    self.spawn(async move {
                        let made = lab.engine.snapshot(&lab.team, &id, name).await;
                        made.is_ok_and(|snapshot| {
                            promised.lock().expect("never poisoned").insert(snapshot.id)
                        })
                    });
                }
            }
            Op::DeleteSnapshot(which) => {
                let all = self.snapshots();
                if !all.is_empty() {
                    let id = which.get(&all).id.clone();
                    self.promised.lock().expect("never poisoned").remove(&id);
                    let id = id.to_string();
                    self.spawn(async move { lab.engine.delete_snapshot(&lab.team, &id).await.is_ok() });
                }
            }
            Op::Rollback(which, to) => {
                let all = self.snapshots();
                if let Some(id) = some(which).filter(|_| !all.is_empty()) {
                    let to = to.get(&all).id.to_string();
                    self.spawn(async move { lab.engine.rollback(&lab.team, &id, &to).await.is_ok() });
                }
            }
            Op::Fork(which, count) => {
                if let Some(id) = some(which) {
                    let fork = Fork { timeout: secs(60), count, notes: |parent| parent.notes.clone() };
                    self.spawn(async move { lab.engine.fork(&lab.team, &id, fork).await.is_ok() });
                }
            }
            _ => unreachable!("the caller has looked"),
        }
    }

    fn act(&self, op: Op) {
        let lab = self.lab.clone();
        let some = |which: Index| {
            let mut living: Vec<Record> =
                lab.store.records().into_iter().filter(|record| record.ended().is_none()).collect();
            living.sort_by(|a, b| a.id.cmp(&b.id));
            (!living.is_empty()).then(|| living[which.index(living.len())].id.to_string())
        };
        match op {
            Op::Create { timeout, at_deadline } => {
                let auto_resume = at_deadline == AtDeadline::Pause;
                let new = NewSandbox { at_deadline, auto_resume, ..NewSandbox::of("base", secs(timeout)) };
                self.spawn(async move { lab.engine.create(&lab.team, new).await.is_ok() });
            }
            Op::Pause(which, keep) => {
                if let Some(id) = some(which) {
                    self.spawn(async move { lab.engine.pause(&lab.team, &id, keep).await.is_ok() });
                }
            }
            Op::Snapshot(_) | Op::DeleteSnapshot(_) | Op::Rollback(..) | Op::Fork(..) => self.keep(op),
            Op::Resize(which, gib) => {
                if let Some(id) = some(which) {
                    let change = Change { memory: Some(Bytes::gib(gib)), ..Change::default() };
                    self.spawn(async move { lab.engine.change(&lab.team, &id, change).await.is_ok() });
                }
            }
            Op::Connect(which, timeout) => {
                if let Some(id) = some(which) {
                    self.spawn(
                        async move { lab.engine.connect(&lab.team, &id, secs(timeout)).await.is_ok() },
                    );
                }
            }
            Op::Traffic(which) => {
                if let Some(id) = some(which) {
                    let id: SandboxId = id.parse().expect("an id");
                    self.spawn(async move { lab.engine.awake(&id).await.is_some() });
                }
            }
            Op::Kill(which) => {
                if let Some(id) = some(which) {
                    self.spawn(async move { lab.engine.kill(&lab.team, &id).await.is_ok() });
                }
            }
            Op::SetDeadline(which, timeout) => {
                if let Some(id) = some(which) {
                    self.spawn(async move {
                        lab.engine.set_deadline(&lab.team, &id, secs(timeout)).await.is_ok()
                    });
                }
            }
            Op::ExtendDeadline(which, timeout) => {
                if let Some(id) = some(which) {
                    self.spawn(async move {
                        lab.engine.extend_deadline(&lab.team, &id, secs(timeout)).await.is_ok()
                    });
                }
            }
            Op::Die(which, out_of_memory) => {
                let mut standing = lab.driver.standing();
                standing.sort();
                if !standing.is_empty() {
                    let id = standing[which.index(standing.len())].clone();
                    self.runtime.block_on(lab.driver.die(&id, out_of_memory));
                }
            }
            Op::Advance(by) => lab.clock.advance(secs(by)),
            Op::Break(call, fault) => lab.driver.breaks(call, fault),
            Op::Mend(call) => lab.driver.mend(call),
            Op::FillStore => lab.store.set_full(true),
            Op::FreeStore => lab.store.set_full(false),
        }
    }

    fn spawn(&self, work: impl Future<Output = bool> + Send + 'static) {
        self.runtime.spawn(work);
    }

    fn pass(&self, turns: usize) {
        self.runtime.block_on(async {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
        });
    }

    /// Everything works again, and the pauses between attempts pass.
    fn calm_down(&self) {
        for &call in CALLS {
            self.lab.driver.mend(call);
        }
        self.lab.store.set_full(false);
        for _ in 0..3 {
            self.pass(300);
            self.lab.clock.advance(limits::DESTROY_PAUSE);
        }
        self.pass(300);
    }

    fn check_the_dead(&mut self) {
        for record in self.lab.store.records() {
            match (self.graves.get(&record.id), record.state) {
                (None, State::Ended(end)) => {
                    self.graves.insert(record.id, end);
                }
                (None, State::Creating | State::Running | State::Paused(_)) => {}
                (Some(grave), State::Ended(end)) => {
                    assert_eq!((grave.at, &grave.why), (end.at, &end.why), "an end is final");
                    assert!(end.removed >= grave.removed, "removed is removed");
                    self.graves.insert(record.id, end);
                }
                (Some(_), state) => panic!("{} rose from the dead as {state:?}", record.id),
            }
        }
        assert_eq!(self.lab.driver.broken_rules(), Vec::<String>::new());
    }

    fn check_quiet(&mut self) {
        self.check_the_dead();
        let Lab { engine, driver, .. } = &self.lab;
        for id in driver.standing() {
            let given_up = driver.count_for(Call::Destroy, &id) >= limits::DESTROY_ATTEMPTS as usize;
            let record = engine.list(&self.lab.team, &Filter::default()).records;
            let record = record.into_iter().find(|record| record.id == id);
            assert!(record.is_some() || given_up, "{id} stands though nobody knows it");
            if let Some(record) = record {
                assert_eq!(driver.is_frozen(&id), record.is_paused(), "{id}: {:?}", record.state);
                let spec = driver.spec(&id).expect("it stands");
                assert_eq!(spec.resources, record.resources, "{id}: {:?}", record.state);
            }
        }
        for id in driver.resting() {
            let given_up = driver.count_for(Call::Destroy, &id) >= limits::DESTROY_ATTEMPTS as usize;
            let rests =
                engine.get(&self.lab.team, id.as_str()).is_ok_and(|r| r.paused() == Some(Keep::Files));
            assert!(rests || given_up, "{id} rests though nobody knows it");
        }
        for record in engine.list(&self.lab.team, &Filter::default()).records {
            let files_only = record.paused() == Some(Keep::Files);
            assert_eq!(
                driver.resting().contains(&record.id),
                files_only,
                "{}: {:?}",
                record.id,
                record.state
            );
            assert_eq!(
                driver.standing().contains(&record.id),
                !files_only,
                "{}: {:?}",
                record.id,
                record.state
            );
        }
        self.check_snapshots();
        let names = self.snapshots().iter().filter(|snapshot| snapshot.name.is_some()).count();
        assert!(names <= 1, "two have the same name");
        assert_eq!(engine.counts().creating, 0);
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().expect("a runtime without I/O")
}
