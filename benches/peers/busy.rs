//! Workers that never yield, and floods of timers that were never needed.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use tokio::task::{unconstrained, yield_now};
use tokio::time::Instant;

use crate::churn::BATCH;
use crate::lateness::nanos_since;
use crate::load::{Bound, Load};
use crate::measure::{Mark, Metrics, as_f64, quantile, resident};
use crate::peer::{Name, Peer, Work};
use crate::world::{Place, Random, Scale};

const SECOND: Duration = Duration::from_secs(1);

/// The loads of this file.
pub(crate) fn loads() -> Vec<Load> {
    vec![
        Load {
            more_is_better: true,
            ..Load::of_timers(
                "l",
                "both workers make and drop timeouts of random 30 s-14 min and never yield",
                "timeouts/s",
                Hogged,
            )
        }
        .slow()
        .goal(Name::Cogwheel, "timeouts/s", Bound::AtLeastTimes(10.0))
        .goal(Name::Cogwheel, "growth MiB", Bound::Most(1.0)),
        Load::of_timers(
            "m",
            "200 ms timers on an idle runtime, then after 5M made and dropped (random 0.1-10 s)",
            "after p50 us",
            Flood,
        )
        .goal(
            Name::Cogwheel,
            "after p50 us",
            Bound::NotAbove("idle p50 us"),
        )
        .goal(Name::Cogwheel, "early", Bound::Most(0.0)),
    ]
}

#[derive(Debug, Clone, Copy)]
struct Hogged;

impl Work for Hogged {
    fn run<P: Peer>(self, scale: Scale) -> Metrics {
        let period = if scale.quick { SECOND } else { 5 * SECOND };
        let runtime = Place::MultiThread(2).build();
        let hogs = Arc::new(AtomicUsize::new(0));
        let before = resident();
        let handles: Vec<_> = (0..2)
            .map(|seed| runtime.spawn(unconstrained(hog::<P>(seed, period, hogs.clone()))))
            .collect();
        let mut peak = before;
        while handles.iter().any(|handle| !handle.is_finished()) {
            thread::sleep(Duration::from_millis(20));
            peak = peak.max(resident());
        }
        assert_eq!(hogs.load(Relaxed), 2, "both hogs have run at the same time");
        let mut ops = 0;
        for handle in handles {
            ops += runtime.block_on(handle).expect("no panic");
        }
        vec![
            ("timeouts/s", as_f64(ops) / period.as_secs_f64()),
            ("growth MiB", peak - before),
        ]
    }
}

/// Never yields. Tells how many timers it made and dropped.
async fn hog<P: Peer>(seed: u64, period: Duration, hogs: Arc<AtomicUsize>) -> i64 {
    let peer = P::here();
    let mut random = Random::new(seed + 1);
    hogs.fetch_add(1, Relaxed);
    while hogs.load(Relaxed) < 2 {
        std::hint::spin_loop();
    }
    let end = Instant::now() + period;
    let mut ops = 0;
    poll_fn(|cx| {
        while Instant::now() < end {
            for _ in 0..100 {
                let duration = random.between(30 * SECOND, 840 * SECOND);
                let timeout = pin!(peer.timeout(duration, pending::<()>()));
                assert!(timeout.poll(cx).is_pending());
            }
            ops += 100;
        }
        Poll::Ready(())
    })
    .await;
    ops
}

#[derive(Debug, Clone, Copy)]
struct Flood;

impl Work for Flood {
    fn run<P: Peer>(self, scale: Scale) -> Metrics {
        let timers = scale.of(5_000_000);
        let runtime = Place::MultiThread(2).build();
        runtime.block_on(async {
            let idle = probe::<P>().await;
            let mark = Mark::now();
            let flood = tokio::spawn(unconstrained(flood::<P>(timers)));
            flood.await.expect("no panic");
            let cost = mark.cpu_seconds();
            let after = probe::<P>().await;
            let early = idle.iter().chain(&after).filter(|&&us| us < 0.0).count();
            vec![
                ("idle p50 us", quantile(&idle, 0.5)),
                ("idle max us", quantile(&idle, 1.0)),
                ("after p50 us", quantile(&after, 0.5)),
                ("after max us", quantile(&after, 1.0)),
                ("early", as_f64(i64::try_from(early).unwrap_or(i64::MAX))),
                ("flood cpu s", cost),
                ("bytes kept", mark.bytes_kept()),
            ]
        })
    }
}

/// Microseconds by which timers of 200 ms are late, sorted. They begin at different moments of
/// the millisecond, one after the other.
async fn probe<P: Peer>() -> Vec<f64> {
    let mut handles = Vec::new();
    for _ in 0..64 {
        handles.push(tokio::spawn(async {
            let deadline = Instant::now() + Duration::from_millis(200);
            P::here().sleep_until(deadline).await;
            as_f64(nanos_since(deadline)) / 1e3
        }));
        // This thread is no worker, and its own sleep needs none of the timers.
        thread::sleep(Duration::from_micros(1_370));
    }
    let mut late = Vec::new();
    for handle in handles {
        late.push(handle.await.expect("no panic"));
    }
    late.sort_by(f64::total_cmp);
    late
}

async fn flood<P: Peer>(timers: u64) {
    let peer = P::here();
    let mut random = Random::new(1);
    let mut made = 0;
    while made < timers {
        poll_fn(|cx| {
            for _ in 0..BATCH {
                let duration = random.between(SECOND / 10, 10 * SECOND);
                let timeout = pin!(peer.timeout(duration, pending::<()>()));
                assert!(timeout.poll(cx).is_pending());
            }
            Poll::Ready(())
        })
        .await;
        made += BATCH;
        yield_now().await;
    }
}
