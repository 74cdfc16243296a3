//! A wheel and its model, told the same and compared.

#![forbid(unsafe_code)]

use super::actions::{Action, Distance, Step};
use crate::tick::Tick;
use crate::wheel::model::Model;
use crate::wheel::{Geometry, Key, Turn, Wheel};

#[derive(Debug)]
pub(super) struct Pair {
    pub(super) wheel: Wheel<u32>,
    pub(super) model: Model<u32>,
    geometry: Geometry,
    /// Every key ever made.
    keys: Vec<Key>,
    /// Whether nothing was removed or reset yet, so that the next deadline is exact.
    exact: bool,
}

impl Pair {
    pub(super) fn new(geometry: Geometry, start: Tick) -> Self {
        let mut wheel = Wheel::with_first_sequence(geometry, start, 7);
        // Relink ahead from the first entry on: the worlds of these tests are small.
        wheel.hierarchy.small = 0;
        Self {
            wheel,
            model: Model::starting_at(start),
            geometry,
            keys: Vec::new(),
            exact: true,
        }
    }

    pub(super) fn apply(&mut self, action: &Action) {
        match action {
            Action::Insert(distance) => self.insert(*distance),
            Action::Remove(index) if !self.keys.is_empty() => {
                let key = *index.get(&self.keys);
                self.exact = false;
                assert_eq!(self.wheel.remove(key), self.model.remove(key.sequence));
            }
            Action::Reset(index, distance) if !self.keys.is_empty() => {
                let key = *index.get(&self.keys);
                let deadline = self.tick(*distance);
                self.exact = false;
                assert_eq!(
                    self.wheel.reset(key, deadline),
                    self.model.reset(key.sequence, deadline)
                );
            }
            Action::Remove(_) | Action::Reset(..) => {}
            Action::Advance(step) => {
                let now = self.step(*step);
                self.advance(now);
            }
            Action::Pop(most) => {
                for _ in 0..*most {
                    if self.pop().is_none() {
                        break;
                    }
                }
            }
            Action::Compact => {
                self.wheel.compact();
                assert!(self.wheel.capacity() >= self.wheel.len());
            }
            Action::Shrink => self.wheel.shrink_to_fit(),
            Action::Retain(rest) => {
                self.exact = false;
                let mut asked = Vec::new();
                self.wheel.retain(|key, deadline, value| {
                    asked.push((deadline, key.sequence));
                    *value % 3 == *rest
                });
                asked.sort_unstable();
                assert!(
                    asked.iter().eq(self.model.entries.keys()),
                    "each is asked for once"
                );
                self.model.entries.retain(|_, value| *value % 3 == *rest);
            }
            Action::Clear => {
                self.wheel.clear();
                self.model.entries.clear();
            }
        }
    }

    pub(super) fn insert(&mut self, distance: Distance) {
        let deadline = self.tick(distance);
        let value = u32::try_from(self.keys.len()).unwrap();
        let key = self.wheel.insert(deadline, value);
        assert!(!self.keys.contains(&key), "no key is given twice");
        self.model.insert(deadline, key.sequence, value);
        self.keys.push(key);
    }

    pub(super) fn advance(&mut self, now: Tick) -> Turn {
        let fired = self.model.advance(now);
        let turn = self.wheel.advance(now);
        assert_eq!(turn.fired, fired, "as many become due as in the model");
        assert_eq!(turn.now, self.model.elapsed);
        assert_eq!(turn.next, self.wheel.next_deadline());
        assert_eq!(turn.dropped, 0);
        self.wheel.assert_valid();
        turn
    }

    /// Pops from both and gives the deadline and the value.
    fn pop(&mut self) -> Option<(Tick, u32)> {
        let expected = self.model.pop();
        let popped = self.wheel.pop();
        assert_eq!(
            popped.map(|e| (e.deadline, e.key.sequence, e.value)),
            expected,
            "entries come by deadline, equal ones first in first out"
        );
        popped.map(|e| (e.deadline, e.value))
    }

    pub(super) fn drain_due(&mut self) -> Vec<(Tick, u32)> {
        core::iter::from_fn(|| self.pop()).collect()
    }

    /// Fires and pops everything that is left.
    pub(super) fn drain(&mut self) {
        self.advance(Tick::MAX);
        self.drain_due();
        assert!(self.wheel.is_empty());
        self.assert_equal();
    }

    pub(super) fn assert_equal(&self) {
        self.wheel.assert_valid();
        let (wheel, model) = (&self.wheel, &self.model);
        assert_eq!(wheel.elapsed(), model.elapsed);
        assert_eq!(wheel.len(), model.entries.len());
        assert_eq!(wheel.is_empty(), model.entries.is_empty());
        assert_eq!(wheel.hierarchy.due_len(), model.due().count());
        let mut all: Vec<_> = wheel
            .iter()
            .map(|(k, d, v)| ((d, k.sequence), *v))
            .collect();
        all.sort_unstable();
        assert!(all.iter().map(|(k, v)| (k, v)).eq(&model.entries));
        assert_eq!(
            wheel.peek().map(|key| key.sequence),
            model.first().map(|first| first.1),
            "peek names the first by deadline and insertion"
        );
        if self.exact {
            assert_eq!(
                wheel.next_deadline(),
                model.first().map(|first| first.0.max(model.elapsed)),
                "the next deadline is exact as long as nothing was removed"
            );
        }
        for &key in &self.keys {
            let deadline = model.deadline(key.sequence);
            assert_eq!(wheel.deadline(key), deadline);
            assert_eq!(wheel.contains(key), deadline.is_some());
            assert_eq!(wheel.get(key).is_some(), deadline.is_some());
        }
    }

    pub(super) fn step(&self, step: Step) -> Tick {
        match step {
            Step::To(distance) => self.tick(distance),
            Step::Next(offset) => {
                let next = self.wheel.next_deadline().unwrap_or(self.model.elapsed);
                Tick::new(next.count().saturating_add_signed(offset))
            }
            Step::Back(ticks) => Tick::new(self.model.elapsed.count().saturating_sub(ticks)),
        }
    }

    fn tick(&self, distance: Distance) -> Tick {
        let now = self.model.elapsed.count();
        let block = |level: u32| {
            let level = level.min(self.geometry.levels());
            1_u64
                .checked_shl(self.geometry.shift(level))
                .unwrap_or(1 << 63)
        };
        Tick::new(match distance {
            Distance::Near(offset) => now.saturating_add_signed(offset),
            Distance::Edge {
                level,
                blocks,
                offset,
            } => {
                let span = block(level);
                let edge = (now / span).saturating_add(1).saturating_mul(span);
                edge.saturating_add(blocks.saturating_mul(span))
                    .saturating_add_signed(offset)
            }
            Distance::Span {
                level,
                blocks,
                offset,
            } => now
                .saturating_add(blocks.saturating_mul(block(level)))
                .saturating_add_signed(offset),
            Distance::Ahead { bits, seed } => now.saturating_add(seed >> bits),
            Distance::Huge(before) => u64::MAX - before,
            Distance::Past(seed) => seed % now.max(1),
            Distance::Same(index) => {
                let len = self.model.entries.len();
                if len == 0 {
                    return self.model.elapsed;
                }
                let mut deadlines = self.model.entries.keys();
                return deadlines.nth(index.index(len)).unwrap().0;
            }
        })
    }
}
