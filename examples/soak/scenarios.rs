//! What is run, and on what terms.

use std::time::Duration;

use crate::ledger::Ledger;
use crate::random::Random;
use crate::{clocks, edges, faults, load};

/// What a scenario is given.
pub(crate) struct Stage {
    pub(crate) ledger: &'static Ledger,
    pub(crate) random: Random,
    pub(crate) seed: u64,
    /// How long a scenario in real time is to take.
    pub(crate) time: Duration,
}

impl Stage {
    /// Repetitions of something of which a run of a minute does `count`.
    pub(crate) fn count(&self, count: u64) -> u64 {
        (count * self.time.as_secs())
            .div_ceil(10)
            .clamp(1, 10 * count)
    }
}

/// A part of a round.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) run: fn(&mut Stage),
}

const fn scenario(name: &'static str, what: &'static str, run: fn(&mut Stage)) -> Scenario {
    Scenario { name, what, run }
}

/// All of them, in the order in which they run.
pub(crate) const SCENARIOS: &[Scenario] = &[
    scenario(
        "load",
        "users of all kinds, blocked workers, panics, threads that end",
        load::run,
    ),
    scenario(
        "dropped",
        "runtimes that end in the middle of everything",
        faults::dropped,
    ),
    scenario(
        "runtimes",
        "ten thousand runtimes, built and dropped",
        faults::runtimes,
    ),
    scenario(
        "back",
        "a clock by hand that is told to step back",
        clocks::back,
    ),
    scenario("forked", "paused clocks beside each other", clocks::forked),
    scenario("equal", "a million equal deadlines", edges::equal),
    scenario(
        "edges",
        "far deadlines on every edge, after 2^36 and 2^50 milliseconds",
        edges::edges,
    ),
];
