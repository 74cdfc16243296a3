//! Clocks that do not go as clocks do: stepped by hand, back as well, and paused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use cogwheel::ManualClock;
use cogwheel::time::{Instant, Sleep, interval, sleep, timeout};
use tokio::runtime::Builder;
use tokio::time::{advance, pause, resume};

use crate::ledger::Ledger;
use crate::random::Random;
use crate::scenarios::Stage;
use crate::users::poll_once;

/// A waker that counts.
#[derive(Default)]
struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A clock that is told to step back does not, and what is due fires at each step, neither more nor
/// less.
pub(crate) fn back(stage: &mut Stage) {
    const STEPS: u64 = 20_000;
    const REACH: Duration = Duration::from_secs(3);
    let ledger = stage.ledger;
    let clock = ManualClock::new();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut waiting: BTreeMap<(Instant, u64), Sleep> = BTreeMap::new();
    let (mut now, mut due) = (clock.now(), 0);
    for n in 0..stage.count(STEPS) {
        let mut sleep = clock.timer().sleep(stage.random.duration(REACH));
        if !poll_once(&mut sleep, &waker) {
            waiting.insert((sleep.deadline(), n), sleep);
        }
        if stage.random.once_in(3) {
            waiting.pop_last();
        }
        let step = stage.random.duration(REACH / 50);
        let target = match stage.random.below(3) {
            0 => now.checked_sub(step).unwrap_or(now),
            _ => now + step,
        };
        let moved = clock.advance_to(target);
        now = now.max(target);
        ledger.check(moved.now == now, || "a clock went back".into());
        let later = waiting.split_off(&(now + Duration::from_nanos(1), 0));
        let fired = std::mem::replace(&mut waiting, later);
        due += fired.len() as u64;
        let count = woken.0.load(SeqCst);
        ledger.check(count == due, || {
            format!("{count} woken, {due} due at a step")
        });
        ledger.check(fired.values().all(Sleep::is_elapsed), || {
            "not elapsed".into()
        });
        ledger.check(!waiting.values().any(Sleep::is_elapsed), || {
            "early on a clock by hand".into()
        });
    }
}

/// Runtimes with clocks of their own, paused and moved, beside each other and beside real time.
pub(crate) fn forked(stage: &mut Stage) {
    let ledger = stage.ledger;
    let rounds = stage.count(200);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let mut random = stage.random.fork();
            thread::spawn(move || {
                let mut builder = Builder::new_current_thread();
                let runtime = builder.enable_time().start_paused(true).build();
                let runtime = runtime.expect("a runtime can be made");
                for _ in 0..rounds {
                    runtime.block_on(own_time(ledger, &mut random));
                }
            })
        })
        .collect();
    for thread in threads {
        let ended = thread.join();
        ledger.check(ended.is_ok(), || {
            "a thread with its own time has panicked".into()
        });
    }
}

/// What a paused clock shows. Tokio moves it in whole milliseconds.
async fn own_time(ledger: &'static Ledger, random: &mut Random) {
    const GRAIN: Duration = Duration::from_millis(1);
    let start = Instant::now();
    let far = random.duration(Duration::from_secs(100_000));
    sleep(far).await;
    let slept = start.elapsed();
    ledger.check(slept >= far && slept <= far + 2 * GRAIN, || {
        format!("{far:?} of paused time took {slept:?}")
    });
    let limit = random.duration(Duration::from_secs(50)) + GRAIN;
    let begun = Instant::now();
    let ended = timeout(limit, std::future::pending::<()>()).await;
    ledger.check(ended.is_err() && begun.elapsed() >= limit, || {
        "early".into()
    });
    let mut ticks = interval(Duration::from_secs(1) + limit);
    let first = ticks.tick().await;
    let second = ticks.tick().await;
    ledger.check(second - first == Duration::from_secs(1) + limit, || {
        "an interval drifts on a paused clock".into()
    });
    let waiting = tokio::spawn(sleep(limit));
    tokio::task::yield_now().await;
    advance(limit + GRAIN).await;
    let before = Instant::now();
    ledger.check(waiting.await.is_ok(), || "a sleep has panicked".into());
    ledger.check(before.elapsed() <= 2 * GRAIN, || {
        "not woken by an advance".into()
    });
    // Real time for a moment.
    resume();
    let begun = std::time::Instant::now();
    sleep(GRAIN).await;
    ledger.check(begun.elapsed() >= GRAIN, || "early after resuming".into());
    pause();
}
