//! What pending timers hold on to: memory and wake-ups.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use crate::load::{Bound, Load};
use crate::measure::{Mark, Metrics, as_f64, live_bytes, switches_of_others};
use crate::peer::{Name, Peer, Work};
use crate::world::{Place, Random, Row, Scale};

/// As far away as every peer goes by its own means.
const FAR: Duration = Duration::from_secs(14 * 60);

/// The loads of this file.
pub(crate) fn loads() -> Vec<Load> {
    vec![
        Load::of_timers(
            "h",
            "heap of 1M pending timers, random 1-14 minutes: the future, and all that is behind it",
            "bytes/timer",
            Memory,
        )
        .slow()
        .goal(Name::Cogwheel, "bytes/timer", Bound::Most(100.0)),
        Load::of_timers(
            "i",
            "2 workers doing nothing, 100,000 timers 13-14 minutes away",
            "wake-ups/s",
            Idle,
        )
        .slow()
        .goal(Name::Cogwheel, "wake-ups/s", Bound::Most(0.0)),
    ]
}

#[derive(Debug, Clone, Copy)]
struct Memory;

impl Work for Memory {
    fn run<P: Peer>(self, _: Scale) -> Metrics {
        const TIMERS: u64 = 1_000_000;
        let runtime = Place::CurrentThread.build();
        let _context = runtime.enter();
        let peer = P::here();
        // Whatever is made once per runtime and thread is there before.
        let moment = || async { peer.sleep(Duration::from_millis(1)).await };
        runtime.block_on(moment());
        let mut cx = Context::from_waker(Waker::noop());
        let mut random = Random::new(1);
        let before = live_bytes();
        let mark = Mark::now();
        let row = Row::armed(TIMERS, &mut cx, |_| {
            peer.sleep(random.between(FAR / 14, FAR))
        });
        let cost = mark.per_op(TIMERS);
        // Lets the drivers take everything in.
        runtime.block_on(moment());
        let bytes = live_bytes() - before;
        drop(row);
        let mut metrics = vec![("bytes/timer", bytes / as_f64(1_000_000))];
        metrics.extend(
            cost.into_iter()
                .filter(|(name, _)| *name != "voluntary switches"),
        );
        metrics
    }
}

#[derive(Debug, Clone, Copy)]
struct Idle;

impl Work for Idle {
    fn run<P: Peer>(self, scale: Scale) -> Metrics {
        let seconds = if scale.quick { 1 } else { 3 };
        let runtime = Place::MultiThread(2).build();
        let (row, peer) = runtime.block_on(async {
            let peer = P::here();
            let mut random = Random::new(1);
            let row = poll_fn(|cx| {
                let make = |_| peer.sleep(random.between(FAR - FAR / 14, FAR));
                Poll::Ready(Row::armed(100_000, cx, make))
            });
            (row.await, peer)
        });
        // Until everything has settled.
        thread::sleep(Duration::from_millis(300));
        let (switches, mark) = (switches_of_others(), Mark::now());
        thread::sleep(Duration::from_secs(seconds));
        let (woken, cpu) = (switches_of_others() - switches, mark.cpu_seconds());
        drop((row, peer));
        let each = Duration::from_secs(seconds).as_secs_f64();
        vec![("wake-ups/s", woken / each), ("cpu us/s", cpu * 1e6 / each)]
    }
}
