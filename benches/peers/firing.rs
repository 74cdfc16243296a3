//! Timers that fire, in tasks and with bare wakers.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use futures::future::OptionFuture;
use tokio::task::JoinHandle;
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
            "1M tasks sleep a random time within 2 s, 2 workers",
            Fire {
                timers: 1_000_000,
                tasks: true,
            },
        )),
        million(load(
            "f/1m-wakers",
            "1M timers with bare wakers fire within 2 s, 2 workers",
            Fire {
                timers: 1_000_000,
                tasks: false,
            },
        )),
        fewer(load(
            "f/100k-tasks",
            "100,000 tasks sleep a random time within 2 s, 2 workers",
            Fire {
                timers: 100_000,
                tasks: true,
            },
        )),
        fewer(load(
            "f/100k-wakers",
            "100,000 timers with bare wakers fire within 2 s, 2 workers",
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
        let window = Duration::from_secs(2) / u32::try_from(part).expect("four");
        let timers = self.timers / part;
        let slots = Arc::new(Slots::new(usize::try_from(timers).expect("a million")));
        let cost = if self.tasks {
            in_tasks::<P>(&slots, window)
        } else {
            with_wakers::<P>(&slots, window)
        };
        let mut metrics = cost;
        metrics.extend(slots.metrics());
        metrics
    }
}

fn in_tasks<P: Peer>(slots: &Arc<Slots>, window: Duration) -> Metrics {
    let runtime = Place::MultiThread(2).build();
    let mut random = Random::new(1);
    let due = move |_| Due::Within(random.between(Duration::ZERO, window));
    let mark = Mark::now();
    runtime.block_on(async {
        let spawner = tokio::spawn(spawn_all::<P>(slots.clone(), due));
        all(spawner.await.expect("no panic")).await;
    });
    totals(&mark)
}

/// When a task is due.
#[derive(Debug, Clone, Copy)]
enum Due {
    /// So long after the task has begun.
    Within(Duration),
    At(Instant),
}

impl Due {
    fn deadline(self) -> Instant {
        match self {
            Self::Within(duration) => Instant::now() + duration,
            Self::At(instant) => instant,
        }
    }
}

/// A task for each slot, which sleeps until it is due.
async fn spawn_all<P: Peer>(
    slots: Arc<Slots>,
    mut due: impl FnMut(usize) -> Due + Send,
) -> Vec<JoinHandle<()>> {
    let peer = P::here();
    let spawn = |index| {
        let (slots, peer, due) = (slots.clone(), peer.clone(), due(index));
        tokio::spawn(async move {
            let deadline = due.deadline();
            peer.sleep_until(deadline).await;
            slots.fired(index, deadline);
        })
    };
    (0..slots.all().count()).map(spawn).collect()
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
    deadline: OnceLock<Instant>,
    slots: Arc<Slots>,
    woken: Arc<AtomicUsize>,
}

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        let deadline = *self.deadline.get().expect("set before the timer is polled");
        self.slots.fired(self.index, deadline);
        self.woken.fetch_add(1, Relaxed);
    }
}

fn with_wakers<P: Peer>(slots: &Arc<Slots>, window: Duration) -> Metrics {
    let woken = Arc::new(AtomicUsize::new(0));
    let notes: Vec<Arc<Note>> = (0..slots.all().count())
        .map(|index| {
            Arc::new(Note {
                index,
                deadline: OnceLock::new(),
                slots: slots.clone(),
                woken: woken.clone(),
            })
        })
        .collect();
    let runtime = Place::MultiThread(2).build();
    let mark = Mark::now();
    let count = notes.len();
    let arm = runtime.spawn(async move {
        let peer = P::here();
        let mut random = Random::new(1);
        let mut row = Row::made(notes.len() as u64, |_| OptionFuture::from(None));
        let arm_all = poll_fn(|_| {
            for note in &notes {
                let waker = Waker::from(note.clone());
                let mut place = row.pinned(note.index);
                let deadline = Instant::now() + random.between(Duration::ZERO, window);
                note.deadline.set(deadline).expect("once");
                place.set(Some(peer.sleep_until(deadline)).into());
                if place.poll(&mut Context::from_waker(&waker)).is_ready() {
                    waker.wake();
                }
            }
            Poll::Ready(())
        });
        tokio::task::unconstrained(arm_all).await;
        (row, notes)
    });
    let armed = runtime.block_on(arm).expect("no panic");
    let start = Instant::now();
    while woken.load(Relaxed) < count && start.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
    }
    let metrics = totals(&mark);
    drop(armed);
    metrics
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
        let (timers, micros) = (1_000_000 / part, 10_000_000 / part);
        // All tasks sleep before the first is due.
        let lead = Duration::from_secs(3) / u32::try_from(part).expect("five");
        let slots = Arc::new(Slots::new(usize::try_from(timers).expect("a million")));
        let mut random = Random::new(1);
        let offsets: Vec<u64> = (0..timers).map(|_| random.below(micros)).collect();
        let start = Instant::now() + lead;
        let at = |offset: u64| start + Duration::from_micros(offset);
        let deadlines: Vec<Instant> = offsets.iter().copied().map(at).collect();
        let mark = Mark::now();
        let mut late_start = 0.0;
        Place::MultiThread(2).build().block_on(async {
            let due = move |index: usize| Due::At(deadlines[index]);
            let spawner = tokio::spawn(spawn_all::<P>(slots.clone(), due));
            let handles = spawner.await.expect("no panic");
            late_start = as_f64(nanos_since(start).max(0));
            all(handles).await;
        });
        let mut metrics = totals(&mark);
        let mut windows = vec![Vec::new(); usize::try_from(micros / WINDOW).expect("500")];
        for (offset, nanos) in offsets.iter().zip(slots.all()) {
            let late = as_f64(nanos.unwrap_or(i64::MAX).max(0)) / 1e3;
            windows[usize::try_from(offset / WINDOW).expect("an index")].push(late);
        }
        metrics.extend(compare(&mut windows));
        metrics.push(("armed late us", late_start / 1e3));
        metrics.extend(slots.metrics());
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
