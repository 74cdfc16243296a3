//! A small seeded generator.

use std::time::Duration;

/// SplitMix64: one state word.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A generator of its own for somebody else.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.word())
    }

    /// A number below `end`, which must not be zero.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.word() % end
    }

    /// An index into what has `len` elements, which must not be none.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// Whether, once in `n` times.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A duration below `end`, all magnitudes from a microsecond on alike.
    pub(crate) fn duration(&mut self, end: Duration) -> Duration {
        let end = u64::try_from(end.as_nanos()).unwrap_or(u64::MAX).max(2_000);
        let magnitudes = u64::from(end.ilog2()) - 9;
        let longest = end >> self.below(magnitudes);
        Duration::from_nanos(self.below(longest.max(1)))
    }
}
