//! What the services' unit tests share: a guest without a sandbox around it.

use std::collections::BTreeMap;

use hood_wire::{Account, GuestConfig, GuestLimits, PROTOCOL};
use tokio::sync::{Mutex, MutexGuard};
use tokio_util::task::AbortOnDropHandle;

use crate::app::App;
use crate::contexts::Contexts;
use crate::journal::Journal;
use crate::reaper::Reaper;
use crate::sys::spawn::Walls;
use crate::sys::tree::Forest;

/// The token of [`test_app`].
pub(crate) const TOKEN: &str = "test-token";

/// A guest whose default account is whoever runs the tests. It cannot start processes: see [`Reaping`].
pub(crate) fn test_app() -> App {
    test_app_with(Contexts::default())
}

/// The same with these contexts.
pub(crate) fn test_app_with(contexts: Contexts) -> App {
    let uid = rustix::process::getuid().as_raw();
    let config = GuestConfig {
        protocol: PROTOCOL,
        sandbox_id: "test".to_owned(),
        template_id: "base".to_owned(),
        access_token: TOKEN.to_owned(),
        envs: BTreeMap::new(),
        account: Account { user: crate::accounts::user_name(uid), workdir: Some("/tmp".to_owned()) },
        limits: GuestLimits { memory_bytes: 1 << 30, cpu_milli: 1000, disk_bytes: 0 },
        nursery: None,
        filter: String::new(),
        sent_at_ns: 0,
    };
    App::with_contexts(config, Walls::new(&[]), Forest::new(None), Journal::new(None), contexts)
}

/// A guest that starts processes and reaps them.
///
/// A process has one set of children, so two reapers in one test binary would take each other's: tests that start
/// processes run one after the other. The runtime must have one thread, as the guest's has.
pub(crate) struct Reaping {
    pub(crate) app: App,
    _reaper: AbortOnDropHandle<()>,
    _turn: MutexGuard<'static, ()>,
}

impl Reaping {
    pub(crate) async fn new() -> Self {
        static TURN: Mutex<()> = Mutex::const_new(());
        let turn = TURN.lock().await;
        let app = test_app();
        let children = Reaper::subscribe().expect("signals can be watched");
        let reaper = AbortOnDropHandle::new(tokio::task::spawn(app.reaper.clone().run(children)));
        Self { app, _reaper: reaper, _turn: turn }
    }
}
