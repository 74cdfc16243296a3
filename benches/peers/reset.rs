//! Timers that are moved: 100,000 live ones, a random one at a time.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::task::{unconstrained, yield_now};
use tokio::time::Instant;

use crate::churn::{BATCH, per_op};
use crate::load::{Bound, Load};
use crate::measure::{Mark, Metrics};
use crate::peer::{Name, Peer, Work};
use crate::world::{Place, Random, Row, Scale};

const LIVE: u64 = 100_000;
/// Whoever can move a timer.
const PEERS: &[Name] = &[
    Name::Tokio,
    Name::Cogwheel,
    Name::AsyncIo,
    Name::FuturesTimer,
    Name::Heap,
];

/// Where the deadlines go, relative to the start: each reset is a step further.
#[derive(Debug, Clone, Copy)]
enum Move {
    Later,
    Earlier,
    /// Every other one is earlier.
    Alternating,
}

/// The loads of this file.
pub(crate) fn loads() -> Vec<Load> {
    let load = |name, about, way: Move| Load {
        peers: PEERS,
        ..Load::of_timers(name, about, "cpu ns/op", way)
    };
    let (ours, cpu) = (Name::Cogwheel, "cpu ns/op");
    vec![
        load(
            "g/later",
            "move a random one of 100,000 live timers later, 1 worker",
            Move::Later,
        )
        .goal(ours, cpu, Bound::Times(0.45)),
        load(
            "g/earlier",
            "move a random one of 100,000 live timers earlier, 1 worker",
            Move::Earlier,
        )
        .goal(ours, cpu, Bound::Times(0.60)),
        load(
            "g/alternating",
            "move a random one of 100,000 live timers, later and earlier in turn, 1 worker",
            Move::Alternating,
        ),
    ]
}

impl Move {
    fn offset(self, step: u64) -> Duration {
        let drift = Duration::from_micros(step / BATCH * 5000);
        match self {
            Self::Later => Duration::from_secs(60) + drift,
            Self::Earlier => Duration::from_secs(60) - drift,
            Self::Alternating if step.is_multiple_of(2) => Duration::from_secs(90) + drift,
            Self::Alternating => Duration::from_secs(60) - drift,
        }
    }
}

impl Work for Move {
    fn run<P: Peer>(self, scale: Scale) -> Metrics {
        let ops = scale.of(2_000_000);
        Place::MultiThread(1).build().block_on(async {
            let task = unconstrained(async move {
                let peer = P::here();
                let mut random = Random::new(1);
                let start = Instant::now();
                // The first is never moved: it is what the driver sleeps until.
                let deadline = |index| Duration::from_secs(if index == 0 { 20 } else { 60 });
                let make = |index| peer.sleep_until(start + deadline(index));
                let mut row = poll_fn(|cx| Poll::Ready(Row::armed(LIVE, cx, make))).await;
                let mark = Mark::now();
                let mut step = 0;
                while step < ops {
                    for _ in 0..BATCH {
                        let index = row.pick(&mut random).max(1);
                        P::reset(row.pinned(index), start + self.offset(step));
                        step += 1;
                    }
                    yield_now().await;
                }
                per_op(&mark, step)
            });
            tokio::spawn(task).await.expect("no panic")
        })
    }
}
