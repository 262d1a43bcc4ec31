//! What the gate keeps for one sandbox while it is open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hood_driver_api::{Outlets, Refused};
use hood_policy::{Ceiling, Policy, Protocol, Reason};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::audit::{Entry, Kind};
use crate::budget::Spent;
use crate::connection::{self, Known};
use crate::dns::{Asked, Desk, Lookups};
use crate::door::{self, Meant};
use crate::gate::Shared;
use crate::limits::{CONNECTIONS, FAREWELL};

/// Whose connections these are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whose {
    /// The sandbox's id.
    pub sandbox: String,
    /// Its team, whose secrets count.
    pub team: String,
}

/// One sandbox.
pub(crate) struct Sandbox {
    pub(crate) whose: Whose,
    pub(crate) shared: Arc<Shared>,
    pub(crate) lookups: Arc<Lookups>,
    pub(crate) spent: Spent,
    pub(crate) live: Live,
    ceiling: Mutex<Arc<Ceiling>>,
    policy: watch::Sender<Arc<Policy>>,
    /// Ends everything.
    stop: CancellationToken,
}

/// Its connections.
#[derive(Default)]
pub(crate) struct Live(Mutex<HashMap<u64, (Known, CancellationToken)>>);

/// Forgets a connection when dropped.
pub(crate) struct Lives<'a> {
    live: &'a Live,
    number: u64,
}

impl Sandbox {
    pub(crate) fn new(whose: Whose, shared: Arc<Shared>, policy: Policy, ceiling: Arc<Ceiling>) -> Self {
        Self {
            whose,
            shared,
            lookups: Arc::default(),
            spent: Spent::new(),
            live: Live::default(),
            ceiling: Mutex::new(ceiling),
            policy: watch::Sender::new(Arc::new(policy)),
            stop: CancellationToken::new(),
        }
    }

    /// The rules of the moment.
    pub(crate) fn rules(&self) -> (Arc<Policy>, Arc<Ceiling>) {
        let ceiling = self.ceiling.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (self.policy.borrow().clone(), ceiling)
    }

    /// The policy of each moment.
    pub(crate) fn policy(&self) -> watch::Receiver<Arc<Policy>> {
        self.policy.subscribe()
    }

    /// Others from now on; what they forbid is cut.
    pub(crate) fn enforce(&self, policy: Policy, ceiling: Arc<Ceiling>) {
        *self.ceiling.lock().unwrap_or_else(PoisonError::into_inner) = ceiling;
        self.policy.send_replace(Arc::new(policy));
        let (policy, ceiling) = self.rules();
        for (known, cut) in self.live.lock().values() {
            if known.must_end(&policy, &ceiling) {
                cut.cancel();
            }
        }
    }

    pub(crate) fn close(&self) {
        self.stop.cancel();
    }

    /// Serves its outlets until it is closed; then its connections are dropped, and so are the outlets, for their
    /// sockets keep its network alive.
    pub(crate) async fn run(self: Arc<Self>, outlets: Outlets, meant: Meant) {
        let mut tasks = JoinSet::new();
        for listener in outlets.tcp {
            match TcpListener::from_std(listener) {
                Ok(listener) => drop(tasks.spawn(self.clone().accept(listener, meant))),
                Err(error) => tracing::error!(%error, "an outlet cannot be used"),
            }
        }
        let desk = self.desk();
        let until_stop = self.stop.clone();
        tasks.spawn(async move {
            let serving = desk.serve(outlets.dns_udp, outlets.dns_tcp);
            if let Some(Err(error)) = until_stop.run_until_cancelled(serving).await {
                tracing::error!(%error, "names cannot be answered");
            }
        });
        if let Some(refused) = outlets.refused {
            let (sandbox, until_stop) = (self.clone(), self.stop.clone());
            tasks.spawn(async move {
                until_stop.run_until_cancelled(sandbox.hear_of_refusals(refused)).await;
            });
        }
        self.stop.cancelled().await;
        self.live.cut_all();
        // Each connection records its end, which takes it no time; then whatever is left is dropped.
        let ends = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, ends).await.is_err() {
            tasks.shutdown().await;
        }
    }

    /// Every connection is a task of this one, so that dropping it drops them.
    async fn accept(self: Arc<Self>, listener: TcpListener, meant: Meant) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                (stream, to) = door::next(&listener, meant) => {
                    if connections.len() < CONNECTIONS {
                        connections.spawn(connection::serve(self.clone(), stream, to));
                    } else {
                        connection::refuse_at_once(&self, &stream, to);
                    }
                }
                Some(_ended) = connections.join_next() => {}
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    fn desk(self: &Arc<Self>) -> Desk {
        let (rules, asked) = (self.clone(), self.clone());
        Desk {
            resolver: self.shared.resolver.clone(),
            lookups: self.lookups.clone(),
            rules: Arc::new(move || rules.rules()),
            asked: Arc::new(move |question| asked.record_question(question)),
        }
    }

    fn record_question(&self, asked: Asked) {
        self.record(Entry {
            at: time::OffsetDateTime::now_utc(),
            sandbox: self.whose.sandbox.clone(),
            team: self.whose.team.clone(),
            connection: self.shared.next_connection(),
            kind: asked.kind,
            name: asked.name,
            to: asked.to,
            protocol: Protocol::Dns,
            method: None,
            path: None,
            rule: asked.rule,
            bytes_out: asked.bytes_out,
            bytes_in: asked.bytes_in,
            duration: asked.duration,
        });
    }

    /// Packets that were no connection: the kernel has refused them.
    async fn hear_of_refusals(self: Arc<Self>, mut refused: mpsc::Receiver<Refused>) {
        while let Some(Refused { to, protocol, port }) = refused.recv().await {
            self.record(Entry {
                at: time::OffsetDateTime::now_utc(),
                sandbox: self.whose.sandbox.clone(),
                team: self.whose.team.clone(),
                connection: self.shared.next_connection(),
                kind: Kind::Denied,
                name: None,
                to: Some((to, port.unwrap_or(0)).into()),
                protocol: Protocol::Tcp,
                method: None,
                path: None,
                rule: Some(Reason::NoConnection(protocol)),
                bytes_out: 0,
                bytes_in: 0,
                duration: std::time::Duration::ZERO,
            });
        }
    }

    pub(crate) fn record(&self, entry: Entry) {
        self.shared.record(entry);
    }
}

impl Live {
    pub(crate) fn add(&self, number: u64, known: Known, cut: CancellationToken) -> Lives<'_> {
        self.lock().insert(number, (known, cut));
        Lives { live: self, number }
    }

    fn cut_all(&self) {
        for (_, cut) in self.lock().values() {
            cut.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, (Known, CancellationToken)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lives<'_> {
    fn drop(&mut self) {
        self.live.lock().remove(&self.number);
    }
}
