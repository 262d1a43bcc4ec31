//! `Idempotency-Key` on create: the same key and body give the same sandbox, however often the client retries.
//!
//! Kept in memory only: sandboxes do not outlive the server, so neither need the answers that made them.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use hood_engine::TeamId;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::limits;
use crate::reply::Reply;
use crate::wire::Sandbox;

type Key = (TeamId, String);
type Outcome = Result<Sandbox, Reply>;

/// The answers remembered.
#[derive(Default)]
pub(crate) struct Idempotency {
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    entries: HashMap<Key, Entry>,
    /// In the order of arrival, for forgetting. May name entries that a failure has removed already.
    order: VecDeque<(Instant, Key)>,
}

struct Entry {
    body: [u8; 32],
    since: Instant,
    outcome: watch::Receiver<Option<Outcome>>,
}

/// What a key is, as E2B's specification has it.
pub(crate) fn check_key(key: &str) -> Result<(), Reply> {
    let fits = !key.is_empty()
        && key.len() <= limits::IDEMPOTENCY_KEY
        && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if fits {
        Ok(())
    } else {
        Err(Reply::invalid(format!(
            "`Idempotency-Key` must be 1 to {} lower-case letters, digits or dashes",
            limits::IDEMPOTENCY_KEY
        )))
    }
}

// === impl Idempotency ===

impl Idempotency {
    /// Runs `create`, unless the same request has run or is running: then waits for that one's outcome.
    ///
    /// Dropping this future does not stop a creation that has begun: it runs in a task of its own, so that the
    /// retry of a client that hung up finds its sandbox. A failure is forgotten, so that a retry can succeed.
    pub(crate) async fn once<F>(self: &Arc<Self>, team: TeamId, key: &str, body: &[u8], create: F) -> Outcome
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let key = (team, key.to_owned());
        let body = Sha256::digest(body).into();
        let mut outcome = match self.enter(&key, body)? {
            Place::Follower(outcome) => outcome,
            Place::First(tell, outcome, since) => {
                let book = Arc::clone(self);
                // Owned by the outcome's receivers: it ends with the creation, which the engine bounds.
                tokio::spawn(async move {
                    let result = create.await;
                    if result.is_err() {
                        book.forget(&key, since);
                    }
                    tell.send_replace(Some(result));
                });
                outcome
            }
        };
        match outcome.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(result)) => result.clone(),
            // The sender is gone without a word: its task panicked.
            Ok(None) | Err(_) => Err(Reply::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the outcome of the first request with this `Idempotency-Key` is not known; list the sandboxes before \
                 trying again with another key",
            )
            .with_code("idempotency_outcome_unknown")),
        }
    }

    fn enter(&self, key: &Key, body: [u8; 32]) -> Result<Place, Reply> {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        book.expire(now);
        if let Some(entry) = book.entries.get(key) {
            if entry.body != body {
                return Err(Reply::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "this `Idempotency-Key` came with another request body before; use a new key for a new request",
                )
                .with_code("idempotency_request_mismatch"));
            }
            return Ok(Place::Follower(entry.outcome.clone()));
        }
        let (tell, outcome) = watch::channel(None);
        book.entries.insert(key.clone(), Entry { body, since: now, outcome: outcome.clone() });
        book.order.push_back((now, key.clone()));
        Ok(Place::First(tell, outcome, now))
    }

    fn forget(&self, key: &Key, since: Instant) {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.remove(key, since);
    }
}

enum Place {
    First(watch::Sender<Option<Outcome>>, watch::Receiver<Option<Outcome>>, Instant),
    Follower(watch::Receiver<Option<Outcome>>),
}

// === impl Book ===

impl Book {
    /// Makes room for one more.
    fn expire(&mut self, now: Instant) {
        while let Some((since, _)) = self.order.front() {
            let old = now.duration_since(*since) >= limits::IDEMPOTENCY_AGE;
            if !old && self.order.len() < limits::IDEMPOTENCY_KEYS {
                return;
            }
            if let Some((since, key)) = self.order.pop_front() {
                self.remove(&key, since);
            }
        }
    }

    fn remove(&mut self, key: &Key, since: Instant) {
        if self.entries.get(key).is_some_and(|entry| entry.since == since) {
            self.entries.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn sandbox(n: usize) -> Sandbox {
        Sandbox::for_test(&format!("i{n:020}"))
    }

    #[tokio::test]
    async fn the_same_request_runs_once() {
        let book = Arc::new(Idempotency::default());
        let runs = Arc::new(AtomicUsize::new(0));
        let ask = |body: &'static [u8]| {
            let runs = Arc::clone(&runs);
            book.once(TeamId("t".into()), "k-1", body, async move {
                Ok(sandbox(runs.fetch_add(1, Ordering::SeqCst)))
            })
        };
        let (first, second) = tokio::join!(ask(b"{}"), ask(b"{}"));
        assert_eq!(first.expect("created"), second.expect("the same"));
        assert_eq!(runs.load(Ordering::SeqCst), 1);

        let other = ask(b"{ }").await.expect_err("another body");
        assert_eq!(other.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(other.error_code, Some("idempotency_request_mismatch"));
    }

    #[tokio::test]
    async fn a_failure_is_forgotten() {
        let book = Arc::new(Idempotency::default());
        let team = || TeamId("t".into());
        let failed = book.once(team(), "k", b"{}", async { Err(Reply::invalid("full")) }).await;
        assert!(failed.is_err());
        let again = book.once(team(), "k", b"{}", async { Ok(sandbox(2)) }).await;
        assert!(again.is_ok());
    }

    #[tokio::test]
    async fn a_panic_is_an_unknown_outcome() {
        let book = Arc::new(Idempotency::default());
        let outcome = book.once(TeamId("t".into()), "k", b"{}", async { panic!("on purpose") }).await;
        assert_eq!(outcome.expect_err("unknown").error_code, Some("idempotency_outcome_unknown"));
    }

    #[tokio::test(start_paused = true)]
    async fn old_keys_and_too_many_keys_are_forgotten() {
        let book = Arc::new(Idempotency::default());
        for n in 0..limits::IDEMPOTENCY_KEYS + 10 {
            let made =
                book.once(TeamId("t".into()), &format!("k-{n}"), b"{}", async move { Ok(sandbox(n)) }).await;
            assert!(made.is_ok());
        }
        let len = || book.book.lock().expect("no panic").entries.len();
        assert_eq!(len(), limits::IDEMPOTENCY_KEYS);
        tokio::time::advance(limits::IDEMPOTENCY_AGE).await;
        let again = book.once(TeamId("t".into()), "k-9999", b"{}", async { Ok(sandbox(1)) }).await;
        assert!(again.is_ok());
        assert_eq!(len(), 1);
    }

    #[test]
    fn keys_have_a_shape() {
        for bad in ["", "UPPER", "a b", &"x".repeat(256)] {
            assert!(check_key(bad).is_err(), "{bad}");
        }
        assert_eq!(check_key("0b7-a"), Ok(()));
    }
}
