//! Timers that never fire: made, polled once, dropped.

use std::future::{Future, pending, poll_fn, ready};
use std::hint::black_box;
use std::pin::pin;
use std::sync::{Arc, Barrier, Mutex};
use std::task::Poll;
use std::time::Duration;

use tokio::task::{unconstrained, yield_now};

use crate::load::{Bound, Load};
use crate::measure::{Mark, Metrics, as_f64};
use crate::peer::{Name, Peer, Work};
use crate::world::{Place, Random, Row, Scale};

/// A task yields after so many operations, so that the drivers get their turns.
pub(crate) const BATCH: u64 = 1024;
/// The timer that is pending all the while, as in any server.
const EARLIER: Duration = Duration::from_secs(20);

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const USUAL: Duration = Duration::from_secs(30);

/// How long the timeouts are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    Fixed(Duration),
    /// From one second to a minute.
    Random,
    /// 5, 30, 60 seconds and a random length in turn.
    Mixed,
    /// Each shorter than the last by the second.
    Falling(Duration, Duration),
}

impl Length {
    pub(crate) const USUAL: Self = Self::Fixed(USUAL);

    pub(crate) fn of(self, random: &mut Random, index: u64) -> Duration {
        match self {
            Self::Fixed(duration) => duration,
            Self::Random => random.between(SECOND, MINUTE),
            Self::Mixed => match index % 4 {
                0 => 5 * SECOND,
                1 => USUAL,
                2 => MINUTE,
                _ => random.between(SECOND, MINUTE),
            },
            Self::Falling(first, step) => {
                first - step * u32::try_from(index).expect("so many are not made")
            }
        }
    }
}

/// What the timeouts are around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inner {
    Pending,
    Ready,
}

/// Tasks that make timeouts.
#[derive(Debug, Clone, Copy)]
struct Churn {
    place: Place,
    tasks: usize,
    length: Length,
    earlier_pending: bool,
    inner: Inner,
    ops: u64,
}

const ONE: Churn = Churn {
    place: Place::CurrentThread,
    tasks: 1,
    length: Length::USUAL,
    earlier_pending: true,
    inner: Inner::Pending,
    ops: 2_000_000,
};

/// The loads of this file.
pub(crate) fn loads() -> Vec<Load> {
    let lengths = [Length::USUAL, Length::Random, Length::Mixed];
    let mut loads = Vec::new();
    let one = [
        ("a/fixed", "timeouts of 30 s, 1 thread"),
        ("a/random", "timeouts of random 1-60 s, 1 thread"),
        (
            "a/mixed",
            "timeouts of 5, 30, 60 s, random in turn, 1 thread",
        ),
    ];
    for ((name, about), length) in one.into_iter().zip(lengths) {
        loads.push(one_thread(name, about, Churn { length, ..ONE }));
    }
    loads.push(one_thread(
        "a/worker",
        "timeouts of 30 s, 1 task on a runtime of 1 worker, whose clock nobody can pause",
        Churn {
            place: Place::MultiThread(1),
            ..ONE
        },
    ));
    let two = [
        ("b2/fixed", "timeouts of 30 s, 2 tasks on 2 workers"),
        (
            "b2/random",
            "timeouts of random 1-60 s, 2 tasks on 2 workers",
        ),
        (
            "b2/mixed",
            "timeouts of 5, 30, 60 s, random in turn, 2 tasks on 2 workers",
        ),
    ];
    for ((name, about), length) in two.into_iter().zip(lengths) {
        loads.push(two_workers(name, about, 2, length));
    }
    let eight = [
        ("b8/fixed", "timeouts of 30 s, 8 tasks on 2 workers"),
        (
            "b8/random",
            "timeouts of random 1-60 s, 8 tasks on 2 workers",
        ),
        (
            "b8/mixed",
            "timeouts of 5, 30, 60 s, random in turn, 8 tasks on 2 workers",
        ),
    ];
    for ((name, about), length) in eight.into_iter().zip(lengths) {
        loads.push(two_workers(name, about, 8, length));
    }
    loads.extend(earliest());
    loads.push(
        Load::of_timers(
            "d",
            "timeouts of 30 s around a ready future (cogwheel: lazy_timeout), 1 thread",
            "cpu ns/op",
            Churn {
                inner: Inner::Ready,
                ..ONE
            },
        )
        .goal(Name::Cogwheel, "cpu ns/op", Bound::Times(0.15)),
    );
    loads.push(
        Load::of_timers(
            "e",
            "drop a random one of 1M live timers of random 10-60 s and make another, 1 worker",
            "cpu ns/op",
            Crowd,
        )
        .goal(Name::Cogwheel, "cpu ns/op", Bound::Times(0.95)),
    );
    loads
}

fn one_thread(name: &'static str, about: &'static str, work: impl Work) -> Load {
    Load::of_timers(name, about, "cpu ns/op", work)
        .and_free()
        .goal(Name::Cogwheel, "cpu ns/op", Bound::Times(0.40))
        .goal(Name::CogwheelFree, "cpu ns/op", Bound::Times(0.50))
}

fn two_workers(name: &'static str, about: &'static str, tasks: usize, length: Length) -> Load {
    let work = Churn {
        place: Place::MultiThread(2),
        tasks,
        length,
        ops: 4_000_000 / tasks as u64,
        ..ONE
    };
    let load = Load::of_timers(name, about, "wall ns/op", work).and_free();
    if tasks > 2 {
        return load;
    }
    load.goal(Name::Cogwheel, "wall ns/op", Bound::Times(0.20))
        .goal(Name::CogwheelFree, "wall ns/op", Bound::Times(0.20))
}

/// Loads in which each timer is the earliest.
fn earliest() -> Vec<Load> {
    let load = |name, about, length, most| {
        let work = Churn {
            length,
            earlier_pending: false,
            ops: 300_000,
            ..ONE
        };
        Load::of_timers(name, about, "cpu ns/op", work)
            .and_free()
            .goal(Name::Cogwheel, "cpu ns/op", Bound::Times(most))
            .goal(Name::CogwheelFree, "cpu ns/op", Bound::Times(most))
    };
    let (millis, micros) = (Duration::from_millis, Duration::from_micros);
    vec![
        load(
            "c/30s",
            "timeouts of 30 s, nothing else pending, 1 thread",
            Length::USUAL,
            0.40,
        ),
        load(
            "c/30s-falling",
            "each due before the last: 30 s, less 30 us each time, 1 thread",
            Length::Falling(USUAL, micros(30)),
            0.40,
        ),
        load(
            "c/512ms",
            "timeouts of 300 ms, nothing else pending, 1 thread",
            Length::Fixed(millis(300)),
            1.2,
        ),
        load(
            "c/512ms-falling",
            "each due before the last: 510 ms, less 1.5 us each time, 1 thread",
            Length::Falling(millis(510), Duration::from_nanos(1_500)),
            1.2,
        ),
    ]
}

impl Work for Churn {
    fn run<P: Peer>(self, scale: Scale) -> Metrics {
        let ops = scale.of(self.ops);
        let start = Arc::new(Start::new(self));
        self.place.build().block_on(async {
            let mut handles = Vec::new();
            for task in 0..self.tasks {
                let start = start.clone();
                handles.push(tokio::spawn(unconstrained(async move {
                    let peer = P::here();
                    let mut pending = pin!(peer.sleep(EARLIER));
                    if self.earlier_pending {
                        poll_fn(|cx| Poll::Ready(pending.as_mut().poll(cx).is_pending())).await;
                    }
                    let mut random = Random::new(task as u64 + 1);
                    batch(&peer, self, &mut random, 0).await;
                    start.together().await;
                    let mut index = 0;
                    while index < ops {
                        batch(&peer, self, &mut random, index).await;
                        index += BATCH;
                        yield_now().await;
                    }
                    index
                })));
            }
            let mut done = 0;
            for handle in handles {
                done += handle.await.expect("no panic");
            }
            start.cost(done)
        })
    }
}

/// Lets tasks begin together, and marks the moment.
pub(crate) struct Start {
    /// One task per worker: blocks the workers, so that each keeps its own task.
    workers: Option<Barrier>,
    tasks: tokio::sync::Barrier,
    mark: Mutex<Option<Mark>>,
}

impl Start {
    fn new(churn: Churn) -> Self {
        Self::of(churn.place, churn.tasks)
    }

    pub(crate) fn of(place: Place, tasks: usize) -> Self {
        let workers = match place {
            Place::CurrentThread => 1,
            Place::MultiThread(workers) => workers,
        };
        Self {
            workers: (workers == tasks).then(|| Barrier::new(tasks)),
            tasks: tokio::sync::Barrier::new(tasks),
            mark: Mutex::new(None),
        }
    }

    pub(crate) async fn together(&self) {
        let leads = match &self.workers {
            Some(barrier) => barrier.wait().is_leader(),
            None => self.tasks.wait().await.is_leader(),
        };
        if leads {
            *self.mark.lock().expect("no panic") = Some(Mark::now());
        }
    }

    /// The cost of `ops` operations since all tasks have begun.
    pub(crate) fn cost(&self, ops: u64) -> Metrics {
        let mark = self.mark.lock().expect("no panic").take();
        per_op(&mark.expect("the leader has set it"), ops)
    }
}

/// The cost of each operation, and what stays allocated for it.
pub(crate) fn per_op(mark: &Mark, ops: u64) -> Metrics {
    let kept = mark.bytes_kept() / as_f64(i64::try_from(ops).unwrap_or(i64::MAX));
    let mut metrics = mark.per_op(ops);
    metrics.push(("bytes kept/op", kept));
    metrics
}

async fn batch<P: Peer>(peer: &P, churn: Churn, random: &mut Random, from: u64) {
    poll_fn(|cx| {
        for index in from..from + BATCH {
            let duration = black_box(churn.length.of(random, index));
            match churn.inner {
                Inner::Pending => {
                    let timeout = pin!(peer.timeout(duration, pending::<()>()));
                    assert!(timeout.poll(cx).is_pending());
                }
                Inner::Ready => {
                    let timeout = pin!(peer.timeout_mostly_ready(duration, ready(())));
                    assert!(timeout.poll(cx).is_ready());
                }
            }
        }
        Poll::Ready(())
    })
    .await;
}

/// Many live timers, replaced one by one.
#[derive(Debug, Clone, Copy)]
struct Crowd;

impl Work for Crowd {
    fn run<P: Peer>(self, scale: Scale) -> Metrics {
        let (live, ops) = (scale.of(1_000_000), scale.of(2_000_000));
        Place::MultiThread(1).build().block_on(async {
            let task = unconstrained(async move {
                let peer = P::here();
                let mut random = Random::new(1);
                let mut row = poll_fn(|cx| {
                    let make = |_| peer.sleep(random.between(10 * SECOND, MINUTE));
                    Poll::Ready(Row::armed(live, cx, make))
                })
                .await;
                let mark = Mark::now();
                let mut done = 0;
                while done < ops {
                    poll_fn(|cx| {
                        for _ in 0..BATCH {
                            let index = row.pick(&mut random);
                            let mut place = row.pinned(index);
                            place.set(peer.sleep(random.between(10 * SECOND, MINUTE)));
                            assert!(place.poll(cx).is_pending());
                        }
                        Poll::Ready(())
                    })
                    .await;
                    done += BATCH;
                    yield_now().await;
                }
                per_op(&mark, done)
            });
            tokio::spawn(task).await.expect("no panic")
        })
    }
}
