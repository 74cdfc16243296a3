//! What the bytes of an input mean. Beyond their end everything is zero.

use arbitrary::Unstructured;

/// The bytes that were not read yet.
#[derive(Debug)]
pub(crate) struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or_default()
    }

    /// A number below `end`, which is from 1 to 256; one byte.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// Whether, once in `n` times; one byte.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// Two bytes.
    fn short(&mut self) -> u16 {
        self.0.arbitrary().unwrap_or_default()
    }

    /// Eight bytes.
    fn word(&mut self) -> u64 {
        self.0.arbitrary().unwrap_or_default()
    }

    /// A number of ticks, more often than not on an edge of the wheel's levels or beside it.
    pub(crate) fn ticks(&mut self) -> u64 {
        const MILLISECOND: u64 = 1_000_000;
        match self.below(8) {
            0 => self.below(20) as u64,
            1 | 2 => self.beside(|bits| 1 << bits),
            3 => u64::from(self.short()),
            4 => self.below(256) as u64 * MILLISECOND,
            5 => u64::from(self.short()) * MILLISECOND,
            6 => {
                let bits = self.below(64);
                self.word() >> bits
            }
            _ => match self.byte() {
                255 => u64::MAX,
                few => u64::from(few % 3) * MILLISECOND,
            },
        }
    }

    /// A place on the line: so far from `now`, on an edge that comes after it, or before it.
    pub(crate) fn place(&mut self, now: u64) -> u64 {
        match self.below(6) {
            0..=2 => now.saturating_add(self.ticks()),
            3 => self.beside(|bits| (now >> bits << bits).saturating_add(1 << bits)),
            4 => u64::MAX - self.below(4) as u64,
            _ => now.saturating_sub(self.ticks()),
        }
    }

    /// What `edge` gives for some power of two, or one tick beside it.
    fn beside(&mut self, edge: impl Fn(usize) -> u64) -> u64 {
        let bits = self.below(64);
        let edge = edge(bits);
        match self.below(3) {
            0 => edge.saturating_sub(1),
            1 => edge,
            _ => edge.saturating_add(1),
        }
    }
}
