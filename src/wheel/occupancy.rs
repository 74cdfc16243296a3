//! What a wheel looks like from outside: for those who watch it, not for those who turn it.

#![forbid(unsafe_code)]

use core::mem::size_of;

use crate::wheel::bucket::Bucket;
use crate::wheel::entries::Entry;
use crate::wheel::geometry::RING;
use crate::wheel::hierarchy::Hierarchy;

/// How things stand in one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Occupancy {
    /// Ticks of one bucket.
    pub(crate) bucket: u64,
    /// Ticks of one block of buckets, at most `u64::MAX`.
    pub(crate) span: u64,
    /// Bit `n` is set if the bucket `n` after that of the present is not empty.
    pub(crate) occupied: u128,
    /// How many entries lie in these buckets.
    pub(crate) entries: u64,
}

impl<P> Hierarchy<P> {
    /// The levels made so far, the finest first.
    pub(crate) fn occupancy(&self) -> impl Iterator<Item = Occupancy> {
        let geometry = self.geometry();
        (0_u32..)
            .zip(self.agenda.levels())
            .map(move |(level, ring)| {
                let bucket: u64 = 1 << geometry.shift(level);
                let slots = (0..RING).filter(|slot| ring.occupied >> slot & 1 == 1);
                Occupancy {
                    bucket,
                    span: bucket.saturating_mul(geometry.slots() as u64),
                    occupied: ahead(
                        ring.occupied,
                        geometry.slot(level, self.elapsed()),
                        2 * geometry.slots(),
                    ),
                    entries: slots
                        .map(|slot| u64::from(ring.bucket(slot).list.len))
                        .sum(),
                }
            })
    }

    /// The memory of the entries and the levels.
    pub(crate) fn bytes(&self) -> usize {
        self.capacity() * size_of::<Entry<P>>() + self.levels() * RING * size_of::<Bucket>()
    }
}

/// The bits of a ring of `len` slots, counted from `current` on.
fn ahead(occupied: u128, current: usize, len: usize) -> u128 {
    (0..len)
        .filter(|place| occupied >> ((current + place) % len) & 1 == 1)
        .fold(0, |bits, place| bits | 1 << place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tick::Tick;
    use crate::wheel::Geometry;

    #[test]
    fn buckets_are_counted_from_the_present_on_in_every_shape() {
        for slot_bits in 1..=6 {
            let geometry = Geometry::new(3, slot_bits).expect("a valid shape");
            for start in [0_u64, 5, 100, 1 << 20] {
                let start = start << 3;
                let mut wheel = Hierarchy::new(geometry, Tick::new(start));
                wheel.insert(Tick::new(start + 8), ());
                wheel.insert(Tick::new(start + 15), ());
                let finest = wheel.occupancy().next().expect("a level was made");
                assert_eq!((finest.occupied, finest.entries), (0b10, 2));
                assert_eq!((finest.bucket, finest.span), (8, 8 << slot_bits));
                wheel.advance(Tick::new(start + 8), |_| true, |_, _, _| {});
                let finest = wheel.occupancy().next().expect("a level was made");
                assert_eq!((finest.occupied, finest.entries), (0b1, 1));
            }
        }
    }

    #[test]
    fn a_far_deadline_shows_on_the_highest_level() {
        let mut wheel = Hierarchy::new(Geometry::STANDARD, Tick::ZERO);
        wheel.insert(Tick::MAX, 1_u32);
        let levels: Vec<_> = wheel.occupancy().collect();
        assert_eq!(levels.len(), 8);
        assert_eq!(levels[7].bucket, 1 << 62);
        assert_eq!(levels[7].span, u64::MAX);
        assert_eq!((levels[7].occupied, levels[7].entries), (0b1000, 1));
        assert!(
            levels[..7]
                .iter()
                .all(|level| level.occupied == 0 && level.entries == 0)
        );
        let entries = wheel.capacity() * size_of::<Entry<u32>>();
        assert!(wheel.capacity() > 0);
        assert_eq!(wheel.bytes(), entries + 8 * RING * size_of::<Bucket>());
    }
}
