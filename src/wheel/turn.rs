//! What a turn of the wheel did.

#![forbid(unsafe_code)]

use crate::tick::Tick;

/// What one call of [`Wheel::advance`](crate::Wheel::advance) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// The time of the wheel after the turn: never earlier than before it.
    pub now: Tick,
    /// How many entries became due in this turn.
    pub fired: usize,
    /// How many entries of a bucket that was looked at moved to a lower level.
    pub cascaded: usize,
    /// How many entries moved to a lower level ahead of time, so that no later turn must move many
    /// at once.
    pub relinked: usize,
    /// How many entries were found to be no longer wanted. Always zero for a
    /// [`Wheel`](crate::Wheel), where nothing is removed but by [`remove`](crate::Wheel::remove).
    pub dropped: usize,
    /// When to turn next: [`Wheel::next_deadline`](crate::Wheel::next_deadline) after the turn.
    pub next: Option<Tick>,
}

impl Turn {
    /// A turn at `now` that did nothing yet.
    pub(super) const fn at(now: Tick) -> Self {
        Self {
            now,
            fired: 0,
            cascaded: 0,
            relinked: 0,
            dropped: 0,
            next: None,
        }
    }
}
