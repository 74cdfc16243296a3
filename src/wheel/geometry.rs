//! Index arithmetic: which level and slot a deadline belongs to.
//!
//! A deadline is cut into bit fields. The lowest `base_bits` are what the finest bucket does not
//! tell apart, then come `slot_bits` per level:
//!
//! ```text
//! 63            32            26            20                       0
//! ├── … ─────────┼─── level 1 ─┼─── level 0 ─┼───────── base ─────────┤   (standard)
//! ```
//!
//! The *value* of a deadline at a level is everything from that level's field upwards, its *block*
//! is everything above the field, and its *slot* is the value modulo two blocks.

#![forbid(unsafe_code)]

use crate::tick::Tick;

/// The shape of a wheel: how wide its finest bucket is and how many slots a level has.
///
/// # Units and rounding
///
/// The finest bucket is `2^base_bits` ticks wide and a block of a level has `2^slot_bits` slots.
/// The shape changes only cost, never when an entry fires. One turn looks at every entry of the
/// finest bucket in which something is due, so `2^base_bits` ticks should be about the distance
/// of two turns: [`STANDARD`](Self::STANDARD) suits ticks of a nanosecond and turns a millisecond
/// apart, `Geometry::new(0, 6)` suits a wheel that is turned tick by tick.
///
/// # Examples
///
/// ```
/// use cogwheel::wheel::Geometry;
///
/// assert_eq!(Geometry::new(20, 6), Some(Geometry::STANDARD));
/// assert_eq!(Geometry::STANDARD.levels(), 8);
/// assert_eq!(Geometry::new(20, 7), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    base_bits: u32,
    slot_bits: u32,
    /// `ceil(2^16 / slot_bits)`: turns the division on the insertion path into a multiplication.
    reciprocal: u32,
}

/// Most slots that a level's ring of two blocks can have.
pub(super) const RING: usize = 128;

impl Geometry {
    /// Buckets of 2^20 ticks (about a millisecond of nanoseconds) and 64 slots per level, so that
    /// eight levels reach every [`Tick`].
    pub const STANDARD: Self = match Self::new(20, 6) {
        Some(geometry) => geometry,
        None => unreachable!(),
    };

    /// A shape with `2^base_bits` ticks per finest bucket and `2^slot_bits` slots per level, or
    /// `None` unless `base_bits` is at most 63 and `slot_bits` is 1 to 6.
    #[must_use]
    pub const fn new(base_bits: u32, slot_bits: u32) -> Option<Self> {
        if base_bits > 63 || slot_bits == 0 || slot_bits > 6 {
            return None;
        }
        Some(Self {
            base_bits,
            slot_bits,
            reciprocal: (1_u32 << 16).div_ceil(slot_bits),
        })
    }

    /// How many levels it takes to reach every [`Tick`].
    #[must_use]
    pub const fn levels(self) -> u32 {
        (64 - self.base_bits).div_ceil(self.slot_bits)
    }

    /// How many slots a block of a level has.
    pub(super) const fn slots(self) -> usize {
        1 << self.slot_bits
    }

    /// The lowest bit of the field of `level`: one slot of it lasts `2^shift` ticks.
    #[inline]
    pub(super) const fn shift(self, level: u32) -> u32 {
        self.base_bits + self.slot_bits * level
    }

    /// The number of the slot-wide stretch of time at `level` in which `tick` lies.
    #[inline]
    pub(super) const fn value(self, level: u32, tick: Tick) -> u64 {
        tick.count() >> self.shift(level)
    }

    /// Where in the ring of `level` the bucket of `tick` lies.
    #[inline]
    pub(super) const fn slot(self, level: u32, tick: Tick) -> usize {
        self.slot_of_value(self.value(level, tick))
    }

    /// Where in a ring the bucket of a `value` lies.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "at most seven bits are left"
    )]
    pub(super) const fn slot_of_value(self, value: u64) -> usize {
        (value & ((2 << self.slot_bits) - 1)) as usize
    }

    /// The first tick of a `value` of `level`, `None` if it lies beyond the last tick.
    pub(super) const fn start(self, level: u32, value: u64) -> Option<Tick> {
        let shift = self.shift(level);
        if value > u64::MAX >> shift {
            return None;
        }
        Some(Tick::new(value << shift))
    }

    /// The number of the block of `level` in which `tick` lies.
    #[cfg(test)]
    pub(super) fn block(self, level: u32, tick: Tick) -> u64 {
        tick.count().checked_shr(self.shift(level + 1)).unwrap_or(0)
    }

    /// The lowest level on which `deadline` lies in the block of `elapsed` or in the one after.
    ///
    /// A distance below one block means adjacent blocks, two blocks or more means more than
    /// adjacent. Hence the length of the distance gives the level, or the one above it, and one
    /// comparison decides between the two.
    #[inline]
    pub(super) fn level(self, elapsed: Tick, deadline: Tick) -> u32 {
        debug_assert!(elapsed < deadline, "only what lies ahead has a level");
        let distance = deadline.count() - elapsed.count();
        let length = u64::BITS - distance.leading_zeros();
        let level = self.divide(length.saturating_sub(self.base_bits + 1));
        let adjacent = self.value(level, deadline) - self.value(level, elapsed) <= 1;
        level.saturating_sub(u32::from(adjacent))
    }

    /// `bits / slot_bits` for what can be the length of a tick.
    #[inline]
    const fn divide(self, bits: u32) -> u32 {
        (bits * self.reciprocal) >> 16
    }
}

impl Default for Geometry {
    fn default() -> Self {
        Self::STANDARD
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Wheel case 49.
    #[test]
    fn the_reciprocal_divides_every_length_exactly() {
        for slot_bits in 1..=6 {
            let geometry = Geometry::new(0, slot_bits).unwrap();
            for bits in 0..=64 {
                assert_eq!(
                    geometry.divide(bits),
                    bits / slot_bits,
                    "{bits}/{slot_bits}"
                );
            }
        }
    }

    #[test]
    fn the_levels_of_every_shape_reach_the_last_tick_and_no_level_is_superfluous() {
        for base_bits in 0..=63 {
            for slot_bits in 1..=6 {
                let geometry = Geometry::new(base_bits, slot_bits).unwrap();
                let top = geometry.levels() - 1;
                assert_eq!(geometry.block(top, Tick::MAX), 0);
                assert!(top == 0 || geometry.block(top - 1, Tick::MAX) > 0);
                let value = geometry.value(top, Tick::MAX);
                assert!(geometry.start(top, value).is_some());
                assert_eq!(geometry.start(top, value + 1), None);
            }
        }
    }

    #[test]
    fn shapes_that_do_not_fit_the_bitmap_or_the_tick_are_refused() {
        assert_eq!(Geometry::new(64, 6), None);
        assert_eq!(Geometry::new(0, 0), None);
        assert_eq!(Geometry::new(0, 7), None);
    }

    proptest! {
        #[test]
        fn the_level_is_the_lowest_whose_blocks_are_equal_or_adjacent(
            base_bits in 0_u32..=63,
            slot_bits in 1_u32..=6,
            from in prop_oneof![Just(0), any::<u64>(), (0_u32..64, 0_u64..3).prop_map(|(k, n)| (1_u64 << k).wrapping_sub(n))],
            ahead in (0_u32..64, any::<u64>()).prop_map(|(k, n)| n >> k),
        ) {
            let geometry = Geometry::new(base_bits, slot_bits).unwrap();
            let (elapsed, deadline) = (Tick::new(from), Tick::new(from.saturating_add(ahead)));
            prop_assume!(elapsed < deadline);
            let obvious = (0..geometry.levels())
                .find(|&level| geometry.block(level, deadline) <= geometry.block(level, elapsed) + 1);
            prop_assert_eq!(Some(geometry.level(elapsed, deadline)), obvious);
        }
    }
}
