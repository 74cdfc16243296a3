//! The delay queue of non-empty buckets: which one must be looked at next, and when.
//!
//! A queue of buckets would hold stale items and cost a logarithm. Here the bitmaps *are* the
//! queue: within a level the first occupied slot in ring order is the earliest, as the buckets of
//! a level are disjoint stretches of time, so the next bucket is the one with the least bound
//! among the first of each level. Levels are made on demand and in order.

#![forbid(unsafe_code)]

use crate::tick::Tick;
use crate::wheel::bucket::{Bucket, BucketId};
use crate::wheel::geometry::Geometry;
use crate::wheel::level::Level;

/// The levels made so far.
#[derive(Debug)]
pub(super) struct Agenda {
    geometry: Geometry,
    levels: Vec<Level>,
}

impl Agenda {
    pub(super) const fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            levels: Vec::new(),
        }
    }

    pub(super) const fn geometry(&self) -> Geometry {
        self.geometry
    }

    pub(super) fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Where an entry with a `deadline` ahead belongs; makes the levels up to there.
    #[inline]
    pub(super) fn place(&mut self, elapsed: Tick, deadline: Tick) -> BucketId {
        let level = self.geometry.level(elapsed, deadline);
        if level as usize >= self.levels.len() {
            self.grow(level);
        }
        BucketId::new(level, self.geometry.slot(level, deadline))
    }

    /// The bucket `id`, marked occupied and with a bound that covers `deadline`, for an entry that
    /// is about to enter.
    #[inline]
    pub(super) fn admit(&mut self, id: BucketId, deadline: Tick) -> &mut Bucket {
        let level = &mut self.levels[id.level() as usize];
        level.mark(id.slot());
        let bucket = level.bucket_mut(id.slot());
        bucket.cover(deadline);
        bucket
    }

    #[inline]
    pub(super) fn bucket(&self, id: BucketId) -> &Bucket {
        self.levels[id.level() as usize].bucket(id.slot())
    }

    #[inline]
    pub(super) fn bucket_mut(&mut self, id: BucketId) -> &mut Bucket {
        self.levels[id.level() as usize].bucket_mut(id.slot())
    }

    /// Unmarks the bucket `id`, which has become empty.
    #[inline]
    pub(super) fn vacate(&mut self, id: BucketId) {
        self.levels[id.level() as usize].unmark(id.slot());
    }

    /// Empties the bucket `id` and gives what was in it.
    #[inline]
    pub(super) fn detach(&mut self, id: BucketId) -> Bucket {
        self.levels[id.level() as usize].detach(id.slot())
    }

    /// The earliest occupied bucket of each level with its bound.
    #[inline]
    pub(super) fn firsts(&self, elapsed: Tick) -> impl Iterator<Item = (Tick, BucketId)> {
        (0_u32..)
            .zip(&self.levels)
            .filter_map(move |(level, ring)| {
                let slot = ring.first_from(self.geometry.slot(level, elapsed))?;
                Some((ring.bucket(slot).bound, BucketId::new(level, slot)))
            })
    }

    /// The bucket that must be looked at next, and when.
    #[inline]
    pub(super) fn next(&self, elapsed: Tick) -> Option<(Tick, BucketId)> {
        self.firsts(elapsed).min_by_key(|&(bound, _)| bound)
    }

    /// Empties every bucket; the levels stay.
    pub(super) fn clear(&mut self) {
        for level in &mut self.levels {
            while level.occupied != 0 {
                level.detach(level.occupied.trailing_zeros() as usize);
            }
        }
    }

    #[cold]
    fn grow(&mut self, level: u32) {
        debug_assert!(level < self.geometry.levels());
        self.levels.resize_with(level as usize + 1, Level::new);
    }
}
