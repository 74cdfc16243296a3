//! Timers that never fire: made, polled once, dropped.

use std::future::{Future, poll_fn, ready};
use std::pin::pin;
use std::sync::{Arc, Barrier, Mutex};
use std::task::Poll;
use std::time::Duration;

use tokio::task::{unconstrained, yield_now};
use tokio::time::Instant;

use crate::clock::{Clock, Free, Handle, Tokio};
use crate::load::{Load, Target};
use crate::measure::{Mark, Metrics};
use crate::world::{Place, Random, Row, Scale};

const ONE: Place = Place::CurrentThread;
const WORKER: Place = Place::MultiThread(1);
const TWO: Place = Place::MultiThread(2);

/// A task yields after so many operations, so that Tokio's driver gets its turn.
const BATCH: u64 = 1024;
/// The timer that is pending all the while.
const EARLIER: Duration = Duration::from_secs(20);

/// What an operation may use.
struct Turn<'a, C> {
    clock: &'a C,
    random: &'a mut Random,
    /// Counts the operations of the task.
    index: u64,
    /// When the task began.
    start: Instant,
}

/// One operation: makes a future that is polled once and dropped.
trait Operation: 'static {
    /// Whether that poll is to be pending.
    const PENDING: bool = true;

    fn make<C: Clock>(turn: Turn<'_, C>) -> impl Future;
}

/// The loads of this file.
pub(crate) fn loads() -> Vec<Load> {
    let cpu = |most| {
        vec![
            ("cpu ns/op", Target::Ratio(most)),
            ("allocations/op", Target::Most(0.0)),
        ]
    };
    let wall = |most| {
        vec![
            ("wall ns/op", Target::Ratio(most)),
            ("allocations/op", Target::Most(0.0)),
        ]
    };
    let earlier = Some(EARLIER);
    vec![
        load::<Free, Sleep30>(
            "sleep",
            "sleep(30 s), free function, current_thread",
            ONE,
            earlier,
            cpu(0.6),
        ),
        load::<Handle, Sleep30>(
            "sleep-handle",
            "sleep(30 s), Timer handle, current_thread",
            ONE,
            earlier,
            cpu(0.6),
        ),
        load::<Free, Sleep30>(
            "sleep-worker",
            "sleep(30 s), free function, 1 worker",
            WORKER,
            earlier,
            cpu(0.6),
        ),
        load::<Handle, Sleep30>(
            "sleep-worker-handle",
            "sleep(30 s), Timer handle, 1 worker",
            WORKER,
            earlier,
            cpu(0.6),
        ),
        load::<Handle, SleepRandom>(
            "sleep-random",
            "sleep(random 1-60 s), Timer handle, 1 worker",
            WORKER,
            earlier,
            cpu(0.6),
        ),
        load::<Handle, SleepMixed>(
            "sleep-mixed",
            "sleep(5, 30, 60 s, random in turn), Timer handle, 1 worker",
            WORKER,
            earlier,
            cpu(0.6),
        ),
        load::<Free, Timeout30>(
            "timeout",
            "timeout(30 s, pending), free function, 1 worker",
            WORKER,
            earlier,
            cpu(0.6),
        ),
        load::<Handle, Timeout30>(
            "timeout-handle",
            "timeout(30 s, pending), Timer handle, 1 worker",
            WORKER,
            earlier,
            cpu(0.6),
        ),
        load::<Free, Until30>(
            "sleep-until",
            "sleep_until(one instant), free function, 1 worker",
            WORKER,
            earlier,
            cpu(0.6),
        ),
        load::<Handle, Until30>(
            "sleep-until-handle",
            "sleep_until(one instant), Timer handle, 1 worker",
            WORKER,
            earlier,
            cpu(0.6),
        ),
        load::<Free, Sleep30>(
            "two-sleep",
            "sleep(30 s), free function, 2 tasks on 2 workers",
            TWO,
            earlier,
            wall(0.3),
        ),
        load::<Handle, Sleep30>(
            "two-sleep-handle",
            "sleep(30 s), Timer handle, 2 tasks on 2 workers",
            TWO,
            earlier,
            wall(0.3),
        ),
        load::<Handle, SleepRandom>(
            "two-sleep-random",
            "sleep(random 1-60 s), Timer handle, 2 tasks on 2 workers",
            TWO,
            earlier,
            wall(0.3),
        ),
        load::<Free, Timeout30>(
            "two-timeout",
            "timeout(30 s, pending), free function, 2 tasks on 2 workers",
            TWO,
            earlier,
            wall(0.3),
        ),
        load::<Handle, Sleep30>(
            "first-sleep",
            "sleep(30 s), nothing earlier pending, 1 worker",
            WORKER,
            None,
            vec![],
        ),
        load::<Handle, Sleep300>(
            "first-sleep-soon",
            "sleep(300 ms), nothing earlier pending, 1 worker",
            WORKER,
            None,
            vec![],
        ),
        load::<Handle, Earliest>(
            "earliest",
            "each due 10 us before the last, from 30 s down, 1 worker",
            WORKER,
            None,
            vec![],
        ),
        load::<Handle, EarliestSoon>(
            "earliest-soon",
            "each due 0.2 us before the last, from 500 ms down, 1 worker",
            WORKER,
            None,
            vec![],
        ),
        load::<Free, Ready>(
            "ready-timeout",
            "timeout(30 s, ready), 1 worker",
            WORKER,
            earlier,
            vec![],
        ),
        ready_lazily(),
        crowd(),
    ]
}

fn load<C: Clock, O: Operation>(
    name: &'static str,
    about: &'static str,
    place: Place,
    earlier: Option<Duration>,
    targets: Vec<(&'static str, Target)>,
) -> Load {
    Load {
        name,
        about,
        targets,
        tokio: Box::new(move |scale| churn::<Tokio, O>(place, earlier, scale)),
        cogwheel: Box::new(move |scale| churn::<C, O>(place, earlier, scale)),
        slow: false,
    }
}

/// Runs one task per worker. They begin together: the barrier blocks the workers, so that each
/// has its own task.
fn churn<C: Clock, O: Operation>(place: Place, earlier: Option<Duration>, scale: Scale) -> Metrics {
    let tasks = match place {
        Place::CurrentThread => 1,
        Place::MultiThread(workers) => workers,
    };
    let ops = scale.of(if place_is_slow::<O>() {
        300_000
    } else {
        2_000_000
    });
    let barrier = Arc::new(Barrier::new(tasks));
    let mark = Arc::new(Mutex::new(None));
    let runtime = place.build();
    runtime.block_on(async {
        let mut handles = Vec::new();
        for task in 0..tasks {
            let (barrier, mark) = (barrier.clone(), mark.clone());
            handles.push(tokio::spawn(unconstrained(async move {
                let clock = C::here();
                let mut pending = pin!(clock.sleep(earlier.unwrap_or(EARLIER)));
                if earlier.is_some() {
                    poll_fn(|cx| Poll::Ready(pending.as_mut().poll(cx).is_pending())).await;
                }
                let mut random = Random::new(task as u64 + 1);
                let mut index = 0;
                barrier.wait();
                batch::<C, O>(&clock, &mut random, &mut index, Instant::now()).await;
                if barrier.wait().is_leader() {
                    *mark.lock().expect("no panic") = Some(Mark::now());
                }
                let start = Instant::now();
                index = 0;
                while index < ops {
                    batch::<C, O>(&clock, &mut random, &mut index, start).await;
                    yield_now().await;
                }
                index
            })));
        }
        let mut done = 0;
        for handle in handles {
            done += handle.await.expect("no panic");
        }
        let mark = mark.lock().expect("no panic").take();
        mark.expect("the leader has set it").per_op(done)
    })
}

fn place_is_slow<O: Operation>() -> bool {
    std::any::TypeId::of::<O>() == std::any::TypeId::of::<EarliestSoon>()
}

async fn batch<C: Clock, O: Operation>(
    clock: &C,
    random: &mut Random,
    index: &mut u64,
    start: Instant,
) {
    poll_fn(|cx| {
        for _ in 0..BATCH {
            let turn = Turn {
                clock,
                random,
                index: *index,
                start,
            };
            let future = pin!(O::make(turn));
            assert_eq!(future.poll(cx).is_pending(), O::PENDING);
            *index += 1;
        }
        Poll::Ready(())
    })
    .await;
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const USUAL: Duration = Duration::from_secs(30);

struct Sleep30;

impl Operation for Sleep30 {
    fn make<C: Clock>(turn: Turn<'_, C>) -> impl Future {
        turn.clock.sleep(USUAL)
    }
}

struct Sleep300;

impl Operation for Sleep300 {
    fn make<C: Clock>(turn: Turn<'_, C>) -> impl Future {
        turn.clock.sleep(Duration::from_millis(300))
    }
}

struct SleepRandom;

impl Operation for SleepRandom {
    fn make<C: Clock>(turn: Turn<'_, C>) -> impl Future {
        turn.clock.sleep(turn.random.between(SECOND, MINUTE))
    }
}

struct SleepMixed;

impl Operation for SleepMixed {
    fn make<C: Clock>(turn: Turn<'_, C>) -> impl Future {
        turn.clock.sleep(match turn.index % 4 {
            0 => 5 * SECOND,
            1 => USUAL,
            2 => MINUTE,
            _ => turn.random.between(SECOND, MINUTE),
        })
    }
}

struct Timeout30;

impl Operation for Timeout30 {
    fn make<C: Clock>(turn: Turn<'_, C>) -> impl Future {
        turn.clock.timeout(USUAL)
    }
}

struct Until30;

impl Operation for Until30 {
    fn make<C: Clock>(turn: Turn<'_, C>) -> impl Future {
        turn.clock.sleep_until(turn.start + USUAL)
    }
}

struct Earliest;

impl Operation for Earliest {
    fn make<C: Clock>(turn: Turn<'_, C>) -> impl Future {
        let sooner = Duration::from_micros(10 * turn.index);
        turn.clock.sleep_until(turn.start + USUAL - sooner)
    }
}

struct EarliestSoon;

impl Operation for EarliestSoon {
    fn make<C: Clock>(turn: Turn<'_, C>) -> impl Future {
        let sooner = Duration::from_nanos(200 * turn.index);
        turn.clock
            .sleep_until(turn.start + Duration::from_millis(500) - sooner)
    }
}

/// A timeout whose future is ready at once.
struct Ready;

impl Operation for Ready {
    const PENDING: bool = false;

    fn make<C: Clock>(turn: Turn<'_, C>) -> impl Future {
        turn.clock.timeout_ready(USUAL)
    }
}

/// The same with `lazy_timeout` on this crate's side.
struct ReadyLazily;

impl Operation for ReadyLazily {
    const PENDING: bool = false;

    fn make<C: Clock>(_: Turn<'_, C>) -> impl Future {
        cogwheel::time::lazy_timeout(USUAL, ready(()))
    }
}

fn ready_lazily() -> Load {
    let earlier = Some(EARLIER);
    Load {
        name: "ready-lazy-timeout",
        about: "lazy_timeout(30 s, ready) against Tokio's timeout, 1 worker",
        targets: vec![],
        tokio: Box::new(move |scale| churn::<Tokio, Ready>(WORKER, earlier, scale)),
        cogwheel: Box::new(move |scale| churn::<Free, ReadyLazily>(WORKER, earlier, scale)),
        slow: false,
    }
}

fn crowd() -> Load {
    Load {
        name: "crowd",
        about: "drop a random one of 1M live timers and make one of random 1-60 s in its place, 1 worker",
        targets: vec![],
        tokio: Box::new(replace::<Tokio>),
        cogwheel: Box::new(replace::<Handle>),
        slow: false,
    }
}

fn replace<C: Clock>(scale: Scale) -> Metrics {
    let (live, ops) = (scale.of(1_000_000), scale.of(2_000_000));
    WORKER.build().block_on(async {
        let task = unconstrained(async move {
            let clock = C::here();
            let mut random = Random::new(1);
            let mut row = poll_fn(|cx| {
                let make = |_| clock.sleep(random.between(10 * SECOND, MINUTE));
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
                        place.set(clock.sleep(random.between(10 * SECOND, MINUTE)));
                        assert!(place.poll(cx).is_pending());
                    }
                    Poll::Ready(())
                })
                .await;
                done += BATCH;
                yield_now().await;
            }
            mark.per_op(done)
        });
        tokio::spawn(task).await.expect("no panic")
    })
}
