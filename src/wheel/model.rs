//! What the wheel must do, said in the obvious way: a sorted map.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use crate::tick::Tick;

/// Entries by deadline and sequence; what is not after `elapsed` is due.
#[derive(Debug)]
pub(super) struct Model<T> {
    pub(super) elapsed: Tick,
    pub(super) entries: BTreeMap<(Tick, u64), T>,
}

impl<T> Model<T> {
    pub(super) fn starting_at(elapsed: Tick) -> Self {
        Self {
            elapsed,
            entries: BTreeMap::new(),
        }
    }

    pub(super) fn insert(&mut self, deadline: Tick, sequence: u64, value: T) {
        self.entries.insert((deadline, sequence), value);
    }

    pub(super) fn deadline(&self, sequence: u64) -> Option<Tick> {
        let mut keys = self.entries.keys();
        keys.find(|key| key.1 == sequence).map(|key| key.0)
    }

    pub(super) fn remove(&mut self, sequence: u64) -> Option<T> {
        let deadline = self.deadline(sequence)?;
        self.entries.remove(&(deadline, sequence))
    }

    pub(super) fn reset(&mut self, sequence: u64, deadline: Tick) -> bool {
        match self.remove(sequence) {
            Some(value) => {
                self.insert(deadline, sequence, value);
                true
            }
            None => false,
        }
    }

    /// Moves time, never back, and gives how many entries became due.
    pub(super) fn advance(&mut self, now: Tick) -> usize {
        let before = self.due().count();
        self.elapsed = self.elapsed.max(now);
        self.due().count() - before
    }

    /// What is due, in order.
    pub(super) fn due(&self) -> impl Iterator<Item = (Tick, u64)> {
        let elapsed = self.elapsed;
        let keys = self.entries.keys().copied();
        keys.take_while(move |&(deadline, _)| deadline <= elapsed)
    }

    pub(super) fn pop(&mut self) -> Option<(Tick, u64, T)> {
        let (deadline, sequence) = self.due().next()?;
        let value = self.entries.remove(&(deadline, sequence))?;
        Some((deadline, sequence, value))
    }

    /// The deadline and sequence of the first entry, due or not.
    pub(super) fn first(&self) -> Option<(Tick, u64)> {
        self.entries.keys().next().copied()
    }
}
