//! The cases of wahern's timeout.c, 89 and 91.

#![forbid(unsafe_code)]

use std::collections::HashMap;

use super::{small, turn};
use crate::tick::Tick;
use crate::wheel::{Geometry, Key, Wheel};

/// What one random run does.
struct Knobs {
    /// Shortest and longest timeout.
    timeout: (u64, u64),
    /// First and last time.
    time: (u64, u64),
    count: u64,
    step: u64,
    /// How many timers are removed per step.
    removals: usize,
}

/// A linear congruential generator (Knuth's MMIX): the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) % bound
    }
}

fn run(knobs: &Knobs, mut wheel: Wheel<u64>) {
    let mut random = Random(knobs.count);
    let mut pending: HashMap<u64, (Key, u64)> = HashMap::new();
    let (start, end) = knobs.time;
    let mut now = start;
    wheel.advance(Tick::new(now));
    for id in 0..knobs.count {
        let (shortest, longest) = knobs.timeout;
        let deadline = now + shortest + random.below(longest - shortest);
        pending.insert(id, (wheel.insert(Tick::new(deadline), id), deadline));
    }
    let mut steps = 0;
    while now < end {
        for _ in 0..knobs.removals {
            let id = random.below(knobs.count);
            let known = pending.remove(&id);
            let removed = known.and_then(|(key, _)| wheel.remove(key));
            assert_eq!(removed, known.map(|_| id));
        }
        let before = now;
        now = (now + 1 + random.below(2 * knobs.step)).min(end);
        wheel.advance(Tick::new(now));
        let earliest = pending.values().map(|&(_, deadline)| deadline).min();
        let next = wheel.next_deadline().map(Tick::count);
        assert_eq!(next.is_some(), earliest.is_some());
        assert!(next <= earliest.map(|earliest| earliest.max(now)));
        assert_eq!(
            next == Some(now),
            earliest.is_some_and(|earliest| earliest <= now)
        );
        while let Some(expired) = wheel.pop() {
            let (key, deadline) = pending
                .remove(&expired.value)
                .expect("never twice, never after its removal");
            assert_eq!(key, expired.key);
            assert!(
                before < deadline && deadline <= now,
                "it fires in the step of its deadline"
            );
        }
        steps += 1;
        if steps % 64 == 0 {
            wheel.assert_valid();
        }
    }
    let left = turn(&mut wheel, u64::MAX - 1).len();
    assert_eq!(left, pending.len());
    assert!(wheel.is_empty());
}

fn runs() -> [Knobs; 5] {
    let knobs = |timeout, time, count, step, removals| Knobs {
        timeout,
        time,
        count,
        step,
        removals,
    };
    [
        knobs((1, 100), (5, 1000), 1000, 10, 0),
        knobs((20, 1000), (10, 100), 1000, 5, 0),
        knobs((2000, 1 << 50), (100, 1 << 49), 1000, 1 << 40, 0),
        knobs((1 << 50, 1 << 52), (100, 1 << 53), 1000, 1 << 45, 0),
        knobs((2000, 1 << 30), (100, 1 << 26), 10_000, 1 << 16, 3),
    ]
}

#[test]
fn case_089_random_runs_fire_each_timer_in_the_step_of_its_deadline_and_never_twice() {
    for knobs in runs() {
        run(&knobs, small(0));
        run(
            &knobs,
            Wheel::with_geometry(Geometry::new(0, 6).unwrap(), Tick::ZERO),
        );
        run(&knobs, Wheel::new());
    }
}

#[test]
fn case_091_the_iterator_sees_pending_and_due_entries_exactly_once_each() {
    let mut wheel = small(0);
    for n in 0..200 {
        wheel.insert(Tick::new(n * 3), n);
    }
    wheel.advance(Tick::new(300));
    assert!(wheel.hierarchy.due_len() > 0);
    let mut seen: Vec<_> = wheel
        .iter()
        .map(|(key, deadline, &value)| {
            assert_eq!(wheel.deadline(key), Some(deadline));
            value
        })
        .collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..200));
}
