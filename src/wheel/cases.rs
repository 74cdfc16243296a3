//! The cases of other timers' test suites that a wheel without clock and tasks can have, by the
//! number and in the words of the collection they were gathered in. One file per family.
//!
//! Where a case speaks of rounding to a tick, this wheel is exact. Wheels of three or five slots
//! are wheels of four here, as slots are powers of two.
//!
//! `docs/cases.md` lists them all. Those that are not here speak of futures, executors, closing,
//! shared owners and wakers, which a wheel does not have: they are in `tests/`. In 24 to 26 the
//! limit on pending timers is the owner's; the cases check the count that it needs.

#![forbid(unsafe_code)]

mod agrona;
mod caffeine;
mod folly;
mod kafka;
mod netty;
mod russell_luo;
mod tokio;
mod wahern;

use crate::tick::Tick;
use crate::wheel::{Geometry, Wheel};

/// Milliseconds in nanoseconds, for the cases on the standard geometry.
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const DAY: u64 = 86_400 * SECOND;

/// A wheel with slots of one tick and four slots per level.
fn small<T>(start: u64) -> Wheel<T> {
    let mut wheel = Wheel::with_geometry(Geometry::new(0, 2).unwrap(), Tick::new(start));
    wheel.hierarchy.small = 0;
    wheel
}

/// Turns the wheel and gives what is due, in order.
fn turn<T>(wheel: &mut Wheel<T>, now: u64) -> Vec<T> {
    wheel.advance(Tick::new(now));
    wheel.assert_valid();
    let due: Vec<_> = core::iter::from_fn(|| wheel.pop()).collect();
    assert!(due.iter().all(|expired| expired.deadline.count() <= now));
    due.into_iter().map(|expired| expired.value).collect()
}

/// Turns the wheel tick by tick up to `until` and gives when which value was due.
fn walk<T>(wheel: &mut Wheel<T>, until: u64) -> Vec<(u64, T)> {
    let mut fired = Vec::new();
    while wheel.elapsed().count() < until {
        let now = wheel.elapsed().count() + 1;
        fired.extend(turn(wheel, now).into_iter().map(|value| (now, value)));
    }
    fired
}

/// Turns the wheel at each of its next deadlines up to `until` and gives when which value was due.
fn hop<T>(wheel: &mut Wheel<T>, until: u64) -> Vec<(u64, T)> {
    let mut fired = Vec::new();
    while let Some(next) = wheel.next_deadline() {
        if next.count() > until {
            break;
        }
        let now = next.count();
        fired.extend(turn(wheel, now).into_iter().map(|value| (now, value)));
    }
    fired
}
