//! Waiting for a level, with a bound.

/// Lets other tasks run until the condition holds.
///
/// # Panics
/// When it still does not hold after ten thousand rounds.
#[track_caller]
pub fn eventually(what: &str, condition: impl Fn() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        for _ in 0..10_000 {
            if condition() {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("{what}: not so after 10,000 rounds (waited for at {caller})");
    }
}
