//! Great numbers, and deadlines on every edge of the wheel after a very long uptime.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Wake, Waker};
use std::time::Duration;

use cogwheel::wheel::{Geometry, Wheel};
use cogwheel::{ManualClock, Tick};

use crate::scenarios::Stage;
use crate::users::poll_once;

/// 2^36 milliseconds, where other wheels end.
const UPTIME: Duration = Duration::from_millis(1 << 36);
const NANOSECOND: Duration = Duration::from_nanos(1);

struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A million timers of one deadline: all fire at it, and their memory is used again.
pub(crate) fn equal(stage: &mut Stage) {
    const TIMERS: u64 = 1_000_000;
    let ledger = stage.ledger;
    let clock = ManualClock::new();
    let timer = clock.timer();
    let deadline = clock.now() + stage.random.duration(Duration::from_secs(86_400)) + NANOSECOND;
    let woken = Arc::new(Woken(AtomicU64::new(0)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut sleeps: Vec<_> = (0..TIMERS).map(|_| timer.sleep_until(deadline)).collect();
    let ready = sleeps
        .iter_mut()
        .filter_map(|sleep| poll_once(sleep, &waker).then_some(()));
    let ready = ready.count();
    ledger.check(ready == 0, || format!("{ready} of a million are early"));
    let before = clock.advance_to(deadline - NANOSECOND).fired;
    ledger.check(before == 0, || {
        format!("{before} of a million fire a nanosecond early")
    });
    let cancelled = stage.random.below(1000);
    sleeps.truncate(sleeps.len() - usize::try_from(cancelled).unwrap_or(0));
    let fired = clock.advance_to(deadline).fired as u64;
    let woken = woken.0.load(Relaxed);
    ledger.check(fired == TIMERS - cancelled && woken == fired, || {
        format!("{fired} fired, {woken} woken, {cancelled} cancelled of a million")
    });
}

/// Timers on, before and behind each edge of each level, from a clock that has run for 2^36 ms; and
/// the wheel alone, in ticks of a millisecond, at 2^36 and 2^50.
pub(crate) fn edges(stage: &mut Stage) {
    timers_on_edges(stage, Duration::ZERO);
    timers_on_edges(stage, UPTIME);
    // The last power of two of milliseconds that the line of time holds.
    timers_on_edges(stage, Duration::from_millis(1 << 43));
    for uptime in [0, 1 << 36, 1 << 50] {
        wheel_on_edges(stage, uptime);
    }
}

fn timers_on_edges(stage: &mut Stage, uptime: Duration) {
    let ledger = stage.ledger;
    let clock = ManualClock::new();
    clock.advance(uptime + stage.random.duration(Duration::from_secs(1)));
    let begun = clock.now();
    let mut deadlines: Vec<_> = (0..62)
        .flat_map(|bits| {
            let edge = Duration::from_nanos(1 << bits);
            [edge - NANOSECOND, edge, edge + NANOSECOND]
        })
        .filter_map(|ahead| begun.checked_add(ahead))
        .filter(|deadline| *deadline > begun)
        .collect();
    deadlines.sort_unstable();
    let woken = Arc::new(Woken(AtomicU64::new(0)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut sleeps: Vec<_> = deadlines
        .iter()
        .map(|deadline| clock.timer().sleep_until(*deadline))
        .collect();
    for sleep in &mut sleeps {
        let ready = poll_once(sleep, &waker);
        ledger.check(!ready, || "ready at once, on an edge ahead".into());
    }
    deadlines.dedup();
    for deadline in deadlines {
        let stop = clock.advance_to_next().map(|stop| stop.now);
        ledger.check(stop == Some(deadline), || {
            format!(
                "after {uptime:?}: a stop at {stop:?} for {:?}",
                deadline - begun
            )
        });
    }
    let (woken, all) = (woken.0.load(Relaxed), sleeps.len() as u64);
    ledger.check(woken == all, || format!("{woken} of {all} woken on edges"));
}

fn wheel_on_edges(stage: &mut Stage, uptime: u64) {
    let ledger = stage.ledger;
    let geometry = Geometry::new(0, 6).unwrap_or_default();
    let start = uptime + stage.random.below(1 << 10);
    let mut wheel = Wheel::with_geometry(geometry, Tick::new(start));
    let mut deadlines = vec![u64::MAX];
    for bits in 0..62 {
        let block = 1_u64 << bits;
        let edge = (start / block + 1) * block;
        deadlines.extend([edge - 1, edge, edge + 1, start + block]);
    }
    deadlines.retain(|deadline| *deadline > start);
    for &deadline in &deadlines {
        wheel.insert(Tick::new(deadline), deadline);
    }
    deadlines.sort_unstable();
    for deadline in deadlines {
        if deadline > wheel.elapsed().count() {
            let early = wheel.advance(Tick::new(deadline - 1)).fired;
            ledger.check(early == 0, || format!("{early} entries a tick early"));
        }
        wheel.advance(Tick::new(deadline));
        let popped = wheel.pop().map(|entry| entry.value);
        ledger.check(popped == Some(deadline), || {
            format!("at {deadline} after {uptime}: {popped:?}")
        });
    }
    ledger.check(wheel.is_empty(), || "entries are left".into());
}
