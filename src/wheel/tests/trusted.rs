//! The hierarchy alone, as the driver uses it: trusted ids and a turn that sweeps.

#![forbid(unsafe_code)]

use proptest::prelude::*;

use super::{geometry, start};
use crate::tick::Tick;
use crate::wheel::{Geometry, Hierarchy};

fn small() -> Hierarchy<u32> {
    let mut wheel = Hierarchy::new(Geometry::new(0, 2).unwrap(), Tick::ZERO);
    wheel.small = 0;
    wheel
}

#[test]
fn a_bucket_full_of_unwanted_entries_costs_one_look() {
    let mut wheel = Hierarchy::new(Geometry::STANDARD, Tick::ZERO);
    let base = 30_000_000_000;
    for n in 0..1000_u32 {
        wheel.insert(Tick::new(base + u64::from(n)), n);
    }
    let mut asked = 0;
    let turn = wheel.advance(Tick::new(base - 1), |_| {
        unreachable!("nothing is touched yet")
    });
    assert_eq!((turn.dropped, turn.next), (0, Some(Tick::new(base))));
    let turn = wheel.advance(Tick::new(base), |_| {
        asked += 1;
        false
    });
    assert_eq!((turn.fired, turn.dropped, asked), (1, 999, 999));
    assert_eq!(wheel.pop_due(), Some((Tick::new(base), 0)));
    assert!(wheel.is_empty());
    assert_eq!(wheel.next_deadline(), None);
}

#[test]
fn a_removed_earliest_entry_costs_at_most_one_turn_in_vain_per_bucket() {
    let mut wheel = small();
    let doomed: Vec<_> = (0..16)
        .map(|n| wheel.insert(Tick::new(1000 + n), 0))
        .collect();
    wheel.insert(Tick::new(1023), 1);
    for id in doomed {
        wheel.remove(id);
    }
    let mut turns = 0;
    while let Some(next) = wheel.next_deadline() {
        turns += 1;
        wheel.advance(next, |_| true);
        wheel.assert_valid();
        if let Some((deadline, payload)) = wheel.pop_due() {
            assert_eq!((deadline, payload), (Tick::new(1023), 1));
        }
    }
    assert!(turns <= 2, "{turns} turns");
}

#[test]
fn the_due_list_is_first_in_first_out_within_a_bucket() {
    let mut wheel = Hierarchy::new(Geometry::STANDARD, Tick::ZERO);
    for n in 0..100 {
        wheel.insert(Tick::new(77), n);
    }
    wheel.advance(Tick::new(77), |_| true);
    let order: Vec<_> = core::iter::from_fn(|| wheel.pop_due())
        .map(|due| due.1)
        .collect();
    assert!(order.into_iter().eq(0..100));
}

#[test]
fn a_due_entry_can_be_removed_and_reset_until_it_is_popped() {
    let mut wheel = small();
    let ids: Vec<_> = (0..4).map(|n| wheel.insert(Tick::new(5), n)).collect();
    wheel.advance(Tick::new(9), |_| true);
    assert!(wheel.is_due(ids[1]));
    assert_eq!(wheel.remove(ids[1]), 1);
    wheel.reset(ids[2], Tick::new(12));
    wheel.reset(ids[0], Tick::new(3));
    wheel.assert_valid();
    assert_eq!(wheel.pop_due(), Some((Tick::new(3), 0)));
    assert_eq!(wheel.pop_due(), Some((Tick::new(5), 3)));
    assert_eq!(wheel.pop_due(), None);
    assert_eq!(wheel.next_deadline(), Some(Tick::new(12)));
}

proptest! {
    /// Sweeping must never lose an entry that is wanted, nor fire one twice.
    #[test]
    fn a_turn_drops_only_what_it_is_told_to(
        geometry in geometry(),
        start in start(),
        entries in prop::collection::vec((0_u32..40, any::<u64>(), any::<bool>()), 1..60),
        steps in prop::collection::vec(0_u32..40, 1..30),
    ) {
        let mut wheel = Hierarchy::new(geometry, start);
        wheel.small = 0;
        let mut wanted = Vec::new();
        for (n, &(bits, seed, keep)) in entries.iter().enumerate() {
            let ahead = seed & ((1 << bits) - 1);
            let deadline = Tick::new(start.count().saturating_add(ahead));
            wheel.insert(deadline, (n, keep));
            if keep {
                wanted.push((deadline, n));
            }
        }
        let mut left = entries.len();
        let mut fired = Vec::new();
        for bits in steps.into_iter().chain([63, 63, 63]) {
            let before = wheel.elapsed();
            let now = Tick::new(before.count().saturating_add(1 << bits));
            let turn = wheel.advance(now, |&(_, keep)| keep);
            wheel.assert_valid();
            left -= turn.dropped;
            while let Some((deadline, (n, keep))) = wheel.pop_due() {
                left -= 1;
                prop_assert!(deadline <= now);
                prop_assert!(deadline > before || before == start);
                if keep {
                    fired.push((deadline, n));
                }
            }
            prop_assert_eq!(wheel.len(), left);
        }
        wanted.sort_unstable();
        fired.sort_unstable();
        prop_assert_eq!(fired, wanted);
    }
}
