//! Work that divides.

use std::panic::resume_unwind;
use std::thread;

/// Calls `work` for each item, for half of them on another thread, and returns the results in the order of the items.
///
/// # Panics
/// If no thread can be started, or if `work` does.
pub(crate) fn in_two_threads<T: Send, R: Send>(
    mut items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    if items.len() < 2 {
        return items.into_iter().map(work).collect();
    }
    let second = items.split_off(items.len() / 2);
    thread::scope(|scope| {
        let second = scope.spawn(|| second.into_iter().map(&work).collect::<Vec<R>>());
        let mut results: Vec<R> = items.into_iter().map(&work).collect();
        results.extend(second.join().unwrap_or_else(|panic| resume_unwind(panic)));
        results
    })
}
