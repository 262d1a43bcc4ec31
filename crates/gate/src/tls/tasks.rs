//! Tasks that a connection's HTTP/2 needs: they end with it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinSet;

/// Starts tasks for hyper.
#[derive(Clone)]
pub(super) struct Tasks(Arc<Mutex<Option<JoinSet<()>>>>);

/// Ends them when dropped. They hold [`Tasks`] themselves, so these cannot do it.
pub(super) struct Owner(Tasks);

impl Owner {
    pub(super) fn new() -> Self {
        Self(Tasks(Arc::new(Mutex::new(Some(JoinSet::new())))))
    }

    pub(super) fn tasks(&self) -> Tasks {
        self.0.clone()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let set = self.0.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(set);
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, task: F) {
        let mut set = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = &mut *set {
            // A set keeps what has ended until somebody asks.
            while set.try_join_next().is_some() {}
            set.spawn(task);
        }
    }
}
