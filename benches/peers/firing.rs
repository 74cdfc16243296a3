//! Timers that fire, in tasks and with bare wakers.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use tokio::task::{JoinHandle, unconstrained};
use tokio::time::Instant;

use crate::lateness::{Slots, nanos_since};
use crate::load::{Bound, Load};
use crate::measure::{Mark, Metrics, as_f64, quantile};
use crate::peer::{Name, Peer, Work};
use crate::world::{Place, Random, Row, Scale};

/// What has not fired after this is lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// The loads of this file, but for the windows.
pub(crate) fn loads() -> Vec<Load> {
    let load = |name, about, work: Fire| {
        Load::of_timers(name, about, "cpu s", work)
            .slow()
            .goal(Name::Cogwheel, "early", Bound::Most(0.0))
            .goal(Name::Cogwheel, "lost", Bound::Most(0.0))
    };
    let million = |load: Load| {
        load.goal(Name::Cogwheel, "cpu s", Bound::Times(1.0)).goal(
            Name::Cogwheel,
            "late p99 us",
            Bound::Times(0.5),
        )
    };
    let fewer = |load: Load| {
        load.goal(Name::Cogwheel, "cpu s", Bound::Times(1.05)).goal(
            Name::Cogwheel,
            "late p50 us",
            Bound::Times(0.7),
        )
    };
    vec![
        million(load(
            "f/1m-tasks",
            "1M tasks sleep until random moments of 2 s, 2 workers",
            Fire {
                timers: 1_000_000,
                tasks: true,
            },
        )),
        million(load(
            "f/1m-wakers",
            "1M timers with bare wakers fire at random moments of 2 s, 2 workers",
            Fire {
                timers: 1_000_000,
                tasks: false,
            },
        )),
        fewer(load(
            "f/100k-tasks",
            "100,000 tasks sleep until random moments of 2 s, 2 workers",
            Fire {
                timers: 100_000,
                tasks: true,
            },
        )),
        fewer(load(
            "f/100k-wakers",
            "100,000 timers with bare wakers fire at random moments of 2 s, 2 workers",
            Fire {
                timers: 100_000,
                tasks: false,
            },
        )),
    ]
}

/// The load that looks at each moment apart.
pub(crate) fn windows() -> Vec<Load> {
    vec![
        Load::of_timers(
            "n",
            "1M tasks sleep until random moments of 10 s: mean lateness in each window of 20 ms",
            "worst / median",
            Windows,
        )
        .slow()
        .goal(Name::Cogwheel, "worst / median", Bound::Most(3.0))
        .goal(Name::Cogwheel, "early", Bound::Most(0.0))
        .goal(Name::Cogwheel, "lost", Bound::Most(0.0)),
    ]
}

#[derive(Debug, Clone, Copy)]
struct Fire {
    timers: u64,
    tasks: bool,
}

impl Work for Fire {
    fn run<P: Peer>(self, scale: Scale) -> Metrics {
        // A quick run takes a quarter of both, so as many fire in a second.
        let part = if scale.quick { 4 } else { 1 };
        let timers = self.timers / part;
        let mut plan = Plan::new(timers, 2_000_000 / part);
        let mut metrics = if self.tasks {
            plan.in_tasks::<P>()
        } else {
            plan.with_wakers::<P>()
        };
        metrics.push(("armed late us", plan.armed_late));
        metrics.extend(plan.slots.metrics());
        metrics
    }
}

/// Timers at random moments, and what comes of them.
struct Plan {
    /// Microseconds from the first moment.
    offsets: Vec<u64>,
    start: Instant,
    slots: Arc<Slots>,
    /// Microseconds after the first moment at which the last timer was made.
    armed_late: f64,
}

impl Plan {
    /// There is time to make all timers before the first is due.
    fn new(timers: u64, window_micros: u64) -> Self {
        let mut random = Random::new(1);
        let offsets = (0..timers).map(|_| random.below(window_micros)).collect();
        let slots = Arc::new(Slots::new(usize::try_from(timers).expect("a million")));
        let lead = Duration::from_millis(200) + Duration::from_nanos(2_500 * timers);
        Self {
            offsets,
            start: Instant::now() + lead,
            slots,
            armed_late: 0.0,
        }
    }

    fn deadlines(&self) -> Vec<Instant> {
        let at = |&offset: &u64| self.start + Duration::from_micros(offset);
        self.offsets.iter().map(at).collect()
    }

    fn all_are_made(&mut self) {
        self.armed_late = as_f64(nanos_since(self.start).max(0)) / 1e3;
    }

    fn in_tasks<P: Peer>(&mut self) -> Metrics {
        let deadlines = self.deadlines();
        let mark = Mark::now();
        Place::MultiThread(2).build().block_on(async {
            let spawner = tokio::spawn(spawn_all::<P>(self.slots.clone(), deadlines));
            let handles = spawner.await.expect("no panic");
            self.all_are_made();
            all(handles).await;
        });
        totals(&mark)
    }

    fn with_wakers<P: Peer>(&mut self) -> Metrics {
        let woken = Arc::new(AtomicUsize::new(0));
        let note = |(index, deadline)| {
            Arc::new(Note {
                index,
                deadline,
                slots: self.slots.clone(),
                woken: woken.clone(),
            })
        };
        let notes: Vec<Arc<Note>> = self.deadlines().into_iter().enumerate().map(note).collect();
        let runtime = Place::MultiThread(2).build();
        let mark = Mark::now();
        let armed = runtime.spawn(arm_all::<P>(notes));
        let armed = runtime.block_on(armed).expect("no panic");
        self.all_are_made();
        let start = Instant::now();
        while woken.load(Relaxed) < self.offsets.len() && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        let metrics = totals(&mark);
        drop(armed);
        metrics
    }
}

/// A task for each slot, which sleeps until its deadline.
async fn spawn_all<P: Peer>(slots: Arc<Slots>, deadlines: Vec<Instant>) -> Vec<JoinHandle<()>> {
    let peer = P::here();
    let spawn = |(index, deadline)| {
        let (slots, peer) = (slots.clone(), peer.clone());
        tokio::spawn(async move {
            peer.sleep_until(deadline).await;
            slots.fired(index, deadline);
        })
    };
    deadlines.into_iter().enumerate().map(spawn).collect()
}

/// Waits until all have ended or patience has.
async fn all(handles: Vec<JoinHandle<()>>) {
    let all = async {
        for handle in handles {
            handle.await.expect("no panic");
        }
    };
    // What has not ended then is found in the slots.
    let _ = tokio::time::timeout(PATIENCE, all).await;
}

/// Tells its slot when it is woken.
struct Note {
    index: usize,
    deadline: Instant,
    slots: Arc<Slots>,
    woken: Arc<AtomicUsize>,
}

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        self.slots.fired(self.index, self.deadline);
        self.woken.fetch_add(1, Relaxed);
    }
}

/// A timer for each note, with the note as its waker.
async fn arm_all<P: Peer>(notes: Vec<Arc<Note>>) -> Row<P::Sleep> {
    let peer = P::here();
    let mut row = Row::made(notes.len() as u64, |index| {
        let note = &notes[usize::try_from(index).expect("an index")];
        peer.sleep_until(note.deadline)
    });
    let arm = poll_fn(|_| {
        for note in &notes {
            let waker = Waker::from(note.clone());
            let sleep = row.pinned(note.index);
            if sleep.poll(&mut Context::from_waker(&waker)).is_ready() {
                waker.wake();
            }
        }
        Poll::Ready(())
    });
    unconstrained(arm).await;
    row
}

fn totals(mark: &Mark) -> Metrics {
    let mut metrics = vec![("cpu s", mark.cpu_seconds())];
    metrics.extend(
        mark.per_op(1)
            .into_iter()
            .filter(|(name, _)| *name == "voluntary switches"),
    );
    metrics
}

#[derive(Debug, Clone, Copy)]
struct Windows;

impl Work for Windows {
    fn run<P: Peer>(self, scale: Scale) -> Metrics {
        const WINDOW: u64 = 20_000;
        // A quick run takes a fifth of both.
        let part = if scale.quick { 5 } else { 1 };
        let micros = 10_000_000 / part;
        let mut plan = Plan::new(1_000_000 / part, micros);
        let mut metrics = plan.in_tasks::<P>();
        let mut windows = vec![Vec::new(); usize::try_from(micros / WINDOW).expect("500")];
        for (offset, nanos) in plan.offsets.iter().zip(plan.slots.all()) {
            let late = as_f64(nanos.unwrap_or(i64::MAX).max(0)) / 1e3;
            windows[usize::try_from(offset / WINDOW).expect("an index")].push(late);
        }
        metrics.extend(compare(&mut windows));
        metrics.push(("armed late us", plan.armed_late));
        metrics.extend(plan.slots.metrics());
        metrics
    }
}

/// The worst of the windows and the median one.
fn compare(windows: &mut [Vec<f64>]) -> Metrics {
    let (mut means, mut tails) = (Vec::new(), Vec::new());
    for window in windows {
        window.sort_by(f64::total_cmp);
        let count = as_f64(i64::try_from(window.len()).unwrap_or(i64::MAX));
        means.push(window.iter().sum::<f64>() / count);
        tails.push(quantile(window, 0.99));
    }
    means.sort_by(f64::total_cmp);
    tails.sort_by(f64::total_cmp);
    let worst = |sorted: &[f64]| quantile(sorted, 1.0) / quantile(sorted, 0.5);
    vec![
        ("worst / median", worst(&means)),
        ("median window us", quantile(&means, 0.5)),
        ("worst window us", quantile(&means, 1.0)),
        ("worst / median of p99", worst(&tails)),
    ]
}
