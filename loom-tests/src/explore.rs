//! Runs a model and counts in how many interleavings.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

thread_local! {
    /// Threads that the model which runs here has started. All of its threads share one thread of
    /// the system.
    static STARTED: Cell<usize> = const { Cell::new(0) };
}

/// Every interleaving there is: for a model that ends within seconds.
pub const ALL: Option<usize> = None;
/// The bound for a model of two threads that has too many.
///
/// Exhaustive runs of most whole turns do not end; every bug that is recorded needs at most two.
pub const TWO: Option<usize> = Some(3);
/// The bound for a model of three threads.
pub const THREE: Option<usize> = Some(2);

/// Runs `model` in every interleaving in which no more than `bound` threads are interrupted, in
/// all there are if that is none, and asserts that there were at least `floor` of them: a model
/// that lost its races passes for nothing.
///
/// `LOOM_MAX_PREEMPTIONS` overrides the bound, and then a floor above two is two. Limits of duration
/// or number are not set: a model that is cut short looks like one that passed.
///
/// # Panics
///
/// If the model does, or below the floor.
pub fn explore(
    name: &str,
    bound: Option<usize>,
    floor: usize,
    model: impl Fn() + Send + Sync + 'static,
) {
    let mut builder = loom::model::Builder::new();
    let overridden = std::env::var_os("LOOM_MAX_PREEMPTIONS").is_some();
    if !overridden {
        builder.preemption_bound = bound;
    }
    builder.max_branches = 10_000;
    assert!(builder.max_duration.is_none() && builder.max_permutations.is_none());

    STARTED.set(0);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });

    let executions = count.load(Ordering::Relaxed);
    // `ci/proofs` reads this line.
    eprintln!(
        "explored {}: {name}: {} threads, bound {:?}, {executions} executions, at least {floor}",
        thread::current().name().unwrap_or("?"),
        1 + STARTED.get() / executions.max(1),
        builder.preemption_bound,
    );
    let floor = if overridden { floor.min(2) } else { floor };
    assert!(
        executions >= floor,
        "{name} has shrunk to {executions} executions, there were at least {floor}"
    );
}

/// Counts a thread that a model starts.
pub(crate) fn note_thread() {
    STARTED.set(STARTED.get() + 1);
}
