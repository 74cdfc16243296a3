//! Timers that are moved: 100,000 live ones, a random one at a time.

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::Duration;

use tokio::task::{unconstrained, yield_now};
use tokio::time::Instant;

use crate::clock::{Clock, Handle, Tokio};
use crate::load::{Load, Target};
use crate::measure::{Mark, Metrics};
use crate::world::{Place, Random, Row, Scale};

const LIVE: u64 = 100_000;
const BATCH: u64 = 1024;

/// Where the deadlines go, relative to the start: each reset is a step further.
#[derive(Debug, Clone, Copy)]
enum Move {
    Later,
    Earlier,
    /// Every other one is earlier.
    Alternating,
}

impl Move {
    fn offset(self, step: u64) -> Duration {
        let drift = Duration::from_micros(step / 1024 * 5000);
        match self {
            Self::Later => Duration::from_secs(60) + drift,
            Self::Earlier => Duration::from_secs(60) - drift,
            Self::Alternating if step.is_multiple_of(2) => Duration::from_secs(90) + drift,
            Self::Alternating => Duration::from_secs(60) - drift,
        }
    }
}

/// The loads of this file.
pub(crate) fn loads() -> Vec<Load> {
    let half = || {
        vec![
            ("cpu ns/op", Target::Ratio(0.5)),
            ("allocations/op", Target::Most(0.0)),
        ]
    };
    vec![
        load(
            "reset-later",
            "reset of a random one of 100,000 to later",
            Move::Later,
            false,
            half(),
        ),
        load(
            "reset-later-poll",
            "the same, and a poll",
            Move::Later,
            true,
            vec![],
        ),
        load(
            "reset-earlier",
            "reset of a random one of 100,000 to earlier",
            Move::Earlier,
            false,
            vec![],
        ),
        load(
            "reset-alternating",
            "reset of a random one of 100,000, later and earlier in turn",
            Move::Alternating,
            false,
            vec![],
        ),
    ]
}

fn load(
    name: &'static str,
    about: &'static str,
    way: Move,
    polled: bool,
    targets: Vec<(&'static str, Target)>,
) -> Load {
    Load {
        name,
        about,
        targets,
        tokio: Box::new(move |scale| reset::<Tokio>(way, polled, scale)),
        cogwheel: Box::new(move |scale| reset::<Handle>(way, polled, scale)),
        slow: false,
    }
}

fn reset<C: Clock>(way: Move, polled: bool, scale: Scale) -> Metrics {
    let ops = scale.of(2_000_000);
    Place::MultiThread(1).build().block_on(async {
        let task = unconstrained(async move {
            let clock = C::here();
            let mut random = Random::new(1);
            let start = Instant::now();
            // The first is never moved: it is what the driver sleeps until.
            let deadline = |index| Duration::from_secs(if index == 0 { 20 } else { 60 });
            let make = |index| clock.sleep_until(start + deadline(index));
            let mut row = poll_fn(|cx| Poll::Ready(Row::armed(LIVE, cx, make))).await;
            let mark = Mark::now();
            let mut step = 0;
            while step < ops {
                poll_fn(|cx| {
                    for _ in 0..BATCH {
                        let index = row.pick(&mut random).max(1);
                        let mut sleep = row.pinned(index);
                        C::reset(sleep.as_mut(), start + way.offset(step));
                        if polled {
                            assert!(sleep.poll(cx).is_pending());
                        }
                        step += 1;
                    }
                    Poll::Ready(())
                })
                .await;
                yield_now().await;
            }
            mark.per_op(step)
        });
        tokio::spawn(task).await.expect("no panic")
    })
}
