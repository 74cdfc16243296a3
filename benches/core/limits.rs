//! What timers hold on to: memory, wake-ups, threads.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use crate::clock::{Clock, Free, Tokio};
use crate::load::{Load, Target};
use crate::measure::{Mark, Metrics, entries, live_bytes, resident, switches_of_others};
use crate::world::{Place, Random, Row, Scale};

const HOUR: Duration = Duration::from_secs(3600);

/// The loads of this file.
pub(crate) fn loads() -> Vec<Load> {
    vec![
        Load {
            name: "memory",
            about: "heap of 1M pending timers: future in a Vec, node and entry of the wheel",
            targets: vec![("bytes/timer", Target::Most(104.0))],
            tokio: Box::new(memory::<Tokio>),
            cogwheel: Box::new(memory::<Free>),
            slow: false,
        },
        Load {
            name: "idle",
            about: "2 workers with 100,000 timers an hour away",
            targets: vec![("wake-ups/s", Target::Most(0.0))],
            tokio: Box::new(idle::<Tokio>),
            cogwheel: Box::new(idle::<Free>),
            slow: false,
        },
        Load {
            name: "hogged",
            about: "both workers make and drop timeouts of random 30 s-1 h and never yield; then 200 ms",
            targets: vec![
                ("growth MiB", Target::Most(16.0)),
                ("early", Target::Most(0.0)),
            ],
            tokio: Box::new(hogged::<Tokio>),
            cogwheel: Box::new(hogged::<Free>),
            slow: false,
        },
        Load {
            name: "runtimes",
            about: "10,000 runtimes one after the other, each dropped with timers pending: growth in the second half",
            targets: vec![
                ("growth MiB", Target::Most(1.0)),
                ("threads", Target::Most(0.0)),
                ("descriptors", Target::Most(0.0)),
            ],
            tokio: Box::new(runtimes::<Tokio>),
            cogwheel: Box::new(runtimes::<Free>),
            slow: false,
        },
    ]
}

fn memory<C: Clock>(scale: Scale) -> Metrics {
    let timers = scale.of(1_000_000);
    let runtime = Place::CurrentThread.build();
    let _context = runtime.enter();
    let clock = C::here();
    // Whatever is made once per runtime and thread is there before.
    runtime.block_on(async { clock.sleep(Duration::from_millis(1)).await });
    let mut cx = Context::from_waker(Waker::noop());
    let mut random = Random::new(1);
    let before = live_bytes();
    let mark = Mark::now();
    let row = Row::armed(timers, &mut cx, |_| {
        clock.sleep(random.between(HOUR / 60, HOUR))
    });
    let cost = mark.per_op(timers);
    // Lets the driver take everything in.
    runtime.block_on(async { clock.sleep(Duration::from_millis(1)).await });
    let bytes = live_bytes() - before;
    drop(row);
    #[allow(clippy::cast_precision_loss, reason = "a million")]
    let timers = timers as f64;
    let mut metrics = vec![("bytes/timer", bytes / timers)];
    metrics.extend(
        cost.into_iter()
            .filter(|(name, _)| *name != "voluntary switches"),
    );
    metrics
}

fn idle<C: Clock>(scale: Scale) -> Metrics {
    let seconds = if scale.quick { 1 } else { 3 };
    let runtime = Place::MultiThread(2).build();
    let (row, clock) = runtime.block_on(async {
        let clock = C::here();
        let mut random = Random::new(1);
        let row = poll_fn(|cx| {
            let make = |_| clock.sleep(HOUR + random.between(Duration::ZERO, HOUR / 60));
            Poll::Ready(Row::armed(100_000, cx, make))
        })
        .await;
        (row, clock)
    });
    // Until everything has settled.
    thread::sleep(Duration::from_millis(300));
    let (switches, mark) = (switches_of_others(), Mark::now());
    thread::sleep(Duration::from_secs(seconds));
    let (woken, cpu) = (switches_of_others() - switches, mark.cpu_seconds());
    drop((row, clock));
    let each = Duration::from_secs(seconds).as_secs_f64();
    vec![("wake-ups/s", woken / each), ("cpu us/s", cpu * 1e6 / each)]
}

fn hogged<C: Clock>(scale: Scale) -> Metrics {
    let period = Duration::from_secs(if scale.quick { 3 } else { 10 });
    let runtime = Place::MultiThread(2).build();
    let hogs = AtomicUsize::new(0);
    let hogs: &'static AtomicUsize = Box::leak(Box::new(hogs));
    let before = resident();
    let handles: Vec<_> = (0..2)
        .map(|seed| runtime.spawn(tokio::task::unconstrained(hog::<C>(seed, period, hogs))))
        .collect();
    let mut peak = before;
    while handles.iter().any(|handle| !handle.is_finished()) {
        thread::sleep(Duration::from_millis(20));
        peak = peak.max(resident());
    }
    assert_eq!(hogs.load(Relaxed), 2, "both hogs have run at the same time");
    let late = runtime.block_on(async {
        let task = async {
            let deadline = Instant::now() + Duration::from_millis(200);
            C::here().sleep_until(deadline).await;
            let now = Instant::now();
            let early = f64::from(u8::from(now < deadline));
            (
                (now.saturating_duration_since(deadline)).as_secs_f64() * 1e6,
                early,
            )
        };
        tokio::spawn(task).await.expect("no panic")
    });
    let mut ops = 0;
    for handle in handles {
        ops += runtime.block_on(handle).expect("no panic");
    }
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let mega = ops as f64 / 1e6;
    vec![
        ("growth MiB", peak - before),
        ("200 ms late us", late.0),
        ("early", late.1),
        ("million timeouts", mega),
    ]
}

/// Never yields. Tells how many timers it made and dropped.
async fn hog<C: Clock>(seed: u64, period: Duration, hogs: &AtomicUsize) -> u64 {
    hogs.fetch_add(1, Relaxed);
    let clock = C::here();
    let mut random = Random::new(seed + 1);
    let end = Instant::now() + period;
    let mut ops = 0;
    poll_fn(|cx| {
        while Instant::now() < end {
            for _ in 0..100 {
                let duration = random.between(Duration::from_secs(30), HOUR);
                assert!(pin!(clock.timeout(duration)).poll(cx).is_pending());
            }
            ops += 100;
        }
        Poll::Ready(())
    })
    .await;
    ops
}

fn runtimes<C: Clock>(scale: Scale) -> Metrics {
    let half = scale.of(5_000);
    let held = || (resident(), entries("task"), entries("fd"));
    let start = Instant::now();
    generations::<C>(half);
    let before = held();
    generations::<C>(half);
    // A thread that was joined may stay listed for a moment.
    thread::sleep(Duration::from_millis(50));
    let after = held();
    let each = start.elapsed().as_secs_f64() * 1e6 / Duration::from_secs(2 * half).as_secs_f64();
    vec![
        ("growth MiB", after.0 - before.0),
        ("threads", after.1 - before.1),
        ("descriptors", after.2 - before.2),
        ("us/runtime", each),
    ]
}

/// Runtimes of both kinds, each with timers that are pending when it is dropped.
fn generations<C: Clock>(count: u64) {
    for generation in 0..count {
        let place = if generation.is_multiple_of(2) {
            Place::CurrentThread
        } else {
            Place::MultiThread(1)
        };
        let runtime = place.build();
        for timer in 0..10 {
            runtime.spawn(async move {
                C::here().sleep(Duration::from_secs(60 + timer)).await;
            });
        }
        runtime.block_on(async { C::here().sleep(Duration::from_nanos(1)).await });
    }
}
