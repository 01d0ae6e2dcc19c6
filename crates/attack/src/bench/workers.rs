//! Attacks side by side on all cores, with what comes out in the order they were given.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tidegate::BuildError;

use super::rows::{Attack, Done};

/// Plays every attack; `played` is called after each play with how many there are in all.
///
/// # Errors
/// When limits cannot be built.
pub(crate) fn run(
    attacks: &[(usize, Attack)],
    played: &(dyn Fn(usize) + Sync),
) -> Result<Vec<(usize, Done)>, BuildError> {
    let plays = attacks.iter().map(|(_, attack)| attack.plays()).sum();
    let tell = || played(plays);
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Done, BuildError>>>> =
        attacks.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some((_, attack)), Some(result)) = (attacks.get(index), results.get(index)) else { return };
            let done = attack.run(&tell);
            if let Ok(mut result) = result.lock() {
                *result = Some(done);
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores.min(attacks.len()) {
            scope.spawn(work);
        }
    });
    // Each with its own: were one missing, the others would still be those of their rules.
    let done = attacks.iter().zip(results).filter_map(|((rule, _), result)| {
        let done = result.into_inner().ok().flatten()?;
        Some(done.map(|done| (*rule, done)))
    });
    done.collect()
}
