//! The hierarchy alone, as the driver uses it: trusted ids and a turn that sweeps.

#![forbid(unsafe_code)]

use proptest::prelude::*;

use super::{geometry, start};
use crate::tick::Tick;
use crate::wheel::{EntryId, Geometry, Hierarchy, Turn};

fn small() -> Hierarchy<u32> {
    let mut wheel = Hierarchy::new(Geometry::new(0, 2).unwrap(), Tick::ZERO);
    wheel.small = 0;
    wheel
}

/// Turns the wheel and gives as well what became due, in the order in which it was told.
fn turn<P>(
    wheel: &mut Hierarchy<P>,
    now: Tick,
    keep: impl FnMut(&P) -> bool,
) -> (Turn, Vec<EntryId>) {
    let mut due = Vec::new();
    let turn = wheel.advance(now, keep, |id, deadline, _| {
        assert!(deadline <= now);
        due.push(id);
    });
    (turn, due)
}

#[test]
fn a_bucket_full_of_unwanted_entries_costs_one_look() {
    let mut wheel = Hierarchy::new(Geometry::STANDARD, Tick::ZERO);
    let base = 30_000_000_000;
    for n in 0..1000_u32 {
        wheel.insert(Tick::new(base + u64::from(n)), n);
    }
    let mut asked = 0;
    let (before, _) = turn(&mut wheel, Tick::new(base - 1), |_| {
        unreachable!("nothing is touched yet")
    });
    assert_eq!((before.dropped, before.next), (0, Some(Tick::new(base))));
    let (at, due) = turn(&mut wheel, Tick::new(base), |_| {
        asked += 1;
        false
    });
    assert_eq!((at.fired, at.dropped, asked), (1, 999, 999));
    assert_eq!(due.len(), 1);
    assert_eq!(wheel.deadline(due[0]), Tick::new(base));
    assert_eq!(wheel.take_due(due[0]), Some(0));
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
        let (_, due) = turn(&mut wheel, next, |_| true);
        wheel.assert_valid();
        for id in due {
            assert_eq!(wheel.deadline(id), Tick::new(1023));
            assert_eq!(wheel.take_due(id), Some(1));
        }
    }
    assert!(turns <= 2, "{turns} turns");
}

#[test]
fn what_is_due_is_told_first_in_first_out_within_a_bucket() {
    let mut wheel = Hierarchy::new(Geometry::STANDARD, Tick::ZERO);
    for n in 0..100 {
        wheel.insert(Tick::new(77), n);
    }
    let (_, due) = turn(&mut wheel, Tick::new(77), |_| true);
    let order = due.into_iter().map(|id| wheel.take_due(id));
    assert!(order.eq((0..100).map(Some)));
}

#[test]
fn a_due_entry_can_be_removed_and_reset_until_it_is_taken_out() {
    let mut wheel = small();
    let ids: Vec<_> = (0..4).map(|n| wheel.insert(Tick::new(5), n)).collect();
    let (_, due) = turn(&mut wheel, Tick::new(9), |_| true);
    assert_eq!(due, ids);
    assert!(wheel.is_due(ids[1]));
    assert_eq!(wheel.remove(ids[1]), 1);
    wheel.reset(ids[2], Tick::new(12));
    wheel.reset(ids[0], Tick::new(3));
    wheel.assert_valid();
    assert_eq!(wheel.due_len(), 2);
    assert_eq!(wheel.deadline(ids[0]), Tick::new(3));
    let taken: Vec<_> = ids.iter().map(|&id| wheel.take_due(id)).collect();
    assert_eq!(taken, [Some(0), None, None, Some(3)]);
    assert_eq!(wheel.take_due(ids[0]), None);
    wheel.assert_valid();
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
        let mut late = Vec::new();
        for (n, &(bits, seed, keep)) in entries.iter().enumerate() {
            let ahead = seed & ((1 << bits) - 1);
            let deadline = Tick::new(start.count().saturating_add(ahead));
            let id = wheel.insert(deadline, (n, keep));
            if wheel.is_due(id) {
                late.push(id);
            }
            if keep {
                wanted.push((deadline, n));
            }
        }
        let mut left = entries.len();
        let mut fired = Vec::new();
        for bits in steps.into_iter().chain([63, 63, 63]) {
            let before = wheel.elapsed();
            let now = Tick::new(before.count().saturating_add(1 << bits));
            let (turn, due) = turn(&mut wheel, now, |&(_, keep)| keep);
            wheel.assert_valid();
            left -= turn.dropped;
            for id in late.drain(..).chain(due) {
                left -= 1;
                let deadline = wheel.deadline(id);
                let (n, keep) = wheel.take_due(id).expect("it was told to be due");
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

proptest! {
    #[test]
    fn the_earliest_wanted_entry_is_found_once_the_others_are_out_of_the_way(
        geometry in geometry(),
        first in prop::collection::vec((0..200_u64, any::<bool>()), 0..40),
        now in 0..20_000_u64,
        second in prop::collection::vec((0..200_u64, any::<bool>()), 0..40),
    ) {
        let at = |distance: u64| Tick::new(1 + distance * distance);
        let mut wheel = Hierarchy::new(geometry, Tick::ZERO);
        for (distance, wanted) in &first {
            wheel.insert(at(*distance), *wanted);
        }
        // What lay far away then may be earlier than what is near now.
        let (_, due) = turn(&mut wheel, Tick::new(now), |_| true);
        prop_assert!(due.into_iter().all(|id| wheel.take_due(id).is_some()));
        for (distance, wanted) in &second {
            wheel.insert(Tick::new(now + at(*distance).count()), *wanted);
        }
        let wanted = wheel.iter().filter(|(_, _, wanted)| **wanted);
        let least = wanted.map(|(_, deadline, _)| deadline).min();
        let mut stale = Vec::new();
        let found = loop {
            let found = wheel.earliest_wanted(|&wanted, _| wanted, &mut stale);
            if stale.is_empty() {
                break found;
            }
            for id in stale.drain(..) {
                prop_assert!(!wheel.remove(id), "only what is not wanted is told");
            }
        };
        prop_assert_eq!(found, least);
    }
}
