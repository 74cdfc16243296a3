//! What can be done to a wheel, generated so that edges are met more often than not.

#![forbid(unsafe_code)]

use proptest::prelude::*;

/// One thing to do.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Insert(Distance),
    /// Removes the entry of one of all keys ever made, stale ones too.
    Remove(prop::sample::Index),
    Reset(prop::sample::Index, Distance),
    Advance(Step),
    /// Pops no more than so many.
    Pop(usize),
    Compact,
    Shrink,
    /// Keeps every third entry, from this one on; from more than two on, none.
    Retain(u32),
    Clear,
}

/// Where a deadline lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Distance {
    /// So many ticks from the wheel's time, in either direction.
    Near(i64),
    /// So many ticks from the end of the current block of a level, plus so many blocks.
    Edge {
        level: u32,
        blocks: u64,
        offset: i64,
    },
    /// One, two or so blocks of a level from the wheel's time, give or take a tick.
    Span {
        level: u32,
        blocks: u64,
        offset: i64,
    },
    /// Anywhere ahead, at all magnitudes alike.
    Ahead {
        bits: u32,
        seed: u64,
    },
    /// So many ticks before the last.
    Huge(u64),
    Past(u64),
    /// The deadline of another entry.
    Same(prop::sample::Index),
}

/// How far time moves.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// To the given place.
    To(Distance),
    /// To the next deadline, give or take so many ticks.
    Next(i64),
    Back(u64),
}

pub(super) fn distance() -> impl Strategy<Value = Distance> {
    let edge = (0_u32..9, 0_u64..3, -1_i64..=1);
    prop_oneof![
        4 => (-3_i64..=20).prop_map(Distance::Near),
        3 => edge.clone().prop_map(|(level, blocks, offset)| Distance::Edge { level, blocks, offset }),
        3 => edge.prop_map(|(level, blocks, offset)| Distance::Span { level, blocks, offset }),
        4 => (0_u32..64, any::<u64>()).prop_map(|(bits, seed)| Distance::Ahead { bits, seed }),
        1 => (0_u64..4).prop_map(Distance::Huge),
        1 => any::<u64>().prop_map(Distance::Past),
        1 => any::<prop::sample::Index>().prop_map(Distance::Same),
    ]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => distance().prop_map(Step::To),
        3 => (-1_i64..=1).prop_map(Step::Next),
        1 => any::<u64>().prop_map(Step::Back),
        1 => (0_u64..300).prop_map(Step::Back),
    ]
}

pub(super) fn action() -> impl Strategy<Value = Action> {
    let key = any::<prop::sample::Index>;
    prop_oneof![
        20 => distance().prop_map(Action::Insert),
        6 => key().prop_map(Action::Remove),
        6 => (key(), distance()).prop_map(|(key, distance)| Action::Reset(key, distance)),
        12 => step().prop_map(Action::Advance),
        5 => (0_usize..4).prop_map(Action::Pop),
        1 => Just(Action::Pop(usize::MAX)),
        1 => Just(Action::Compact),
        1 => Just(Action::Shrink),
        1 => (0_u32..6).prop_map(Action::Retain),
        1 => prop::bool::weighted(0.2).prop_map(|clear| if clear { Action::Clear } else { Action::Compact }),
    ]
}
