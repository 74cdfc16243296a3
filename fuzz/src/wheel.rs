//! `Wheel` against a sorted map.
//!
//! After every action: what the call returned, the number of entries, the time, the first entry, the
//! bounds of the next deadline, and every entry with its deadline and value; keys of entries that have
//! left give nothing. At the end everything comes out in the order of (deadline, insertion).
//!
//! Geometries with few slots bring edges near; up to 600 entries make buckets long enough to be moved
//! down ahead of time.
//!
//! Seen to fail with: what a turn made due left unsorted; a key that is taken for whatever entry is in
//! its place; a compaction that does not note what it moved.

use std::collections::{BTreeMap, HashMap};

use cogwheel::wheel::{Geometry, Key};
use cogwheel::{Tick, Wheel};

use crate::input::Input;

/// Entries that one input may insert; so many are compared after every action in no time.
const MOST: usize = 600;
/// Keys of the past that are tried after every action.
const STALE: usize = 16;

/// Does what `bytes` say to a wheel and to its model.
///
/// # Panics
///
/// If they disagree.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut pair = Pair::new(&mut input);
    while !input.is_empty() {
        pair.act(&mut input);
        pair.compare();
    }
    pair.drain();
}

struct Pair {
    wheel: Wheel<u64>,
    elapsed: u64,
    /// Deadline and sequence to value, which is the sequence, marked if it was written to.
    entries: BTreeMap<(u64, u64), u64>,
    /// Every key ever given; its index is the sequence.
    keys: Vec<Key>,
    live: HashMap<Key, (u64, u64)>,
    /// Whether nothing was removed or reset yet, so that the next deadline is exact.
    exact: bool,
}

impl Pair {
    fn new(input: &mut Input<'_>) -> Self {
        let geometry = match input.below(4) {
            0 => Geometry::STANDARD,
            _ => {
                let base = [0, 0, 1, 3, 20, 63][input.below(6)];
                let slots = input.below(6) as u32 + 1;
                Geometry::new(base, slots).expect("these are valid shapes")
            }
        };
        let elapsed = match input.below(3) {
            0 => 0,
            _ => input.ticks(),
        };
        Self {
            wheel: Wheel::with_geometry(geometry, Tick::new(elapsed)),
            elapsed,
            entries: BTreeMap::new(),
            keys: Vec::new(),
            live: HashMap::new(),
            exact: true,
        }
    }

    fn act(&mut self, input: &mut Input<'_>) {
        match input.below(32) {
            0..=8 => {
                let deadline = input.place(self.elapsed);
                self.insert(deadline);
            }
            9 => {
                let (first, step) = (input.place(self.elapsed), input.ticks());
                let many = input.byte();
                for n in 0..u64::from(many) {
                    self.insert(first.saturating_add(step.saturating_mul(n)));
                }
            }
            10..=12 => self.remove(input),
            13..=16 => self.reset(input),
            17..=21 => {
                let now = input.place(self.elapsed);
                self.advance(now);
            }
            22..=24 => {
                let next = self.wheel.next_deadline().map_or(self.elapsed, Tick::count);
                let now = next.saturating_add(1).saturating_sub(input.below(3) as u64);
                self.advance(now);
            }
            25 | 26 => {
                for _ in 0..input.below(8) {
                    self.pop();
                }
            }
            27 => while self.pop() {},
            28 => self.retain(input),
            29 => {
                self.wheel.compact();
                assert!(self.wheel.capacity() >= self.wheel.len());
            }
            30 => match input.below(3) {
                0 => self.wheel.shrink_to_fit(),
                1 => self.wheel.reserve(input.below(200)),
                _ => self.clear(),
            },
            _ => self.write(input),
        }
    }

    fn insert(&mut self, deadline: u64) {
        let sequence = self.keys.len() as u64;
        if self.keys.len() == MOST {
            return;
        }
        let key = self.wheel.insert(Tick::new(deadline), sequence);
        let place = (deadline, sequence);
        assert!(
            self.live.insert(key, place).is_none() && !self.keys.contains(&key),
            "no key is given twice"
        );
        self.entries.insert(place, sequence);
        self.keys.push(key);
    }

    /// One of the keys ever given.
    fn key(&self, input: &mut Input<'_>) -> Option<Key> {
        let (high, low) = (input.below(4), input.below(256));
        let back = (high * 256 + low) % self.keys.len().max(1);
        self.keys.iter().rev().nth(back).copied()
    }

    fn forget(&mut self, key: Key) -> Option<u64> {
        let place = self.live.remove(&key)?;
        self.entries.remove(&place)
    }

    fn remove(&mut self, input: &mut Input<'_>) {
        let Some(key) = self.key(input) else { return };
        self.exact = false;
        assert_eq!(self.wheel.remove(key), self.forget(key));
    }

    fn reset(&mut self, input: &mut Input<'_>) {
        let Some(key) = self.key(input) else { return };
        let deadline = input.place(self.elapsed);
        self.exact = false;
        let moved = self.wheel.reset(key, Tick::new(deadline));
        assert_eq!(moved, self.live.contains_key(&key));
        if let Some(place) = self.live.get_mut(&key) {
            let value = self.entries.remove(place).expect("it is in both maps");
            place.0 = deadline;
            self.entries.insert(*place, value);
        }
    }

    /// Writes to a value in place.
    fn write(&mut self, input: &mut Input<'_>) {
        const MARK: u64 = 1 << 32;
        let Some(key) = self.key(input) else { return };
        let ours = self
            .live
            .get(&key)
            .and_then(|place| self.entries.get_mut(place));
        match (self.wheel.get_mut(key), ours) {
            (Some(theirs), Some(ours)) => {
                *theirs |= MARK;
                *ours |= MARK;
            }
            (theirs, ours) => assert_eq!(theirs, ours),
        }
    }

    fn advance(&mut self, now: u64) {
        let due = self.due();
        self.elapsed = self.elapsed.max(now);
        let turn = self.wheel.advance(Tick::new(now));
        assert_eq!(
            turn.fired,
            self.due() - due,
            "as many become due as in the model"
        );
        assert_eq!(turn.now, Tick::new(self.elapsed));
        assert_eq!(turn.next, self.wheel.next_deadline());
    }

    /// How many entries are due.
    fn due(&self) -> usize {
        let due = self.entries.range(..=(self.elapsed, u64::MAX));
        due.count()
    }

    /// Pops from both; whether there was something.
    fn pop(&mut self) -> bool {
        let expected = self.entries.first_key_value();
        let expected = expected.filter(|(place, _)| place.0 <= self.elapsed);
        let expected = expected.map(|(&(deadline, sequence), &value)| {
            (Tick::new(deadline), self.keys[sequence as usize], value)
        });
        let popped = self.wheel.pop();
        assert_eq!(
            popped.map(|entry| (entry.deadline, entry.key, entry.value)),
            expected,
            "entries come by deadline, equal ones first in first out"
        );
        expected.and_then(|(_, key, _)| self.forget(key)).is_some()
    }

    fn retain(&mut self, input: &mut Input<'_>) {
        let (parts, rest) = (input.below(4) as u64 + 1, input.below(5) as u64);
        self.exact = false;
        let mut asked = 0;
        let live = &self.live;
        self.wheel.retain(|key, deadline, value| {
            asked += 1;
            assert_eq!(Tick::new(live[&key].0), deadline);
            *value % parts != rest
        });
        assert_eq!(asked, self.entries.len(), "each is asked for once");
        self.entries.retain(|_, value| *value % parts != rest);
        self.live
            .retain(|_, place| self.entries.contains_key(place));
    }

    fn clear(&mut self) {
        self.wheel.clear();
        self.entries.clear();
        self.live.clear();
    }

    fn compare(&self) {
        let wheel = &self.wheel;
        assert_eq!(wheel.elapsed(), Tick::new(self.elapsed));
        assert_eq!(wheel.len(), self.entries.len());
        assert_eq!(wheel.is_empty(), self.entries.is_empty());
        self.compare_next();
        let mut seen = 0;
        for (key, deadline, value) in wheel.iter() {
            let place = self.live.get(&key).expect("it was inserted");
            assert_eq!(deadline, Tick::new(place.0));
            assert_eq!(Some(value), self.entries.get(place));
            seen += 1;
        }
        assert_eq!(seen, self.entries.len(), "each is shown once");
        for key in self.live.keys().chain(self.keys.iter().rev().take(STALE)) {
            let place = self.live.get(key);
            assert_eq!(wheel.deadline(*key), place.map(|place| Tick::new(place.0)));
            assert_eq!(wheel.contains(*key), place.is_some());
            let value = place.and_then(|place| self.entries.get(place));
            assert_eq!(wheel.get(*key), value);
        }
    }

    /// What comes next, and when to turn for it.
    fn compare_next(&self) {
        let first = self.entries.first_key_value().map(|(place, _)| *place);
        let key = first.map(|(_, sequence)| self.keys[sequence as usize]);
        assert_eq!(self.wheel.peek(), key, "peek names the first");
        let deadline = first.map(|(deadline, _)| deadline.max(self.elapsed));
        let next = self.wheel.next_deadline().map(Tick::count);
        assert_eq!(next.is_some(), deadline.is_some());
        assert!(
            next <= deadline,
            "told to turn too late: {next:?}, {deadline:?}"
        );
        assert!(next.is_none_or(|next| next >= self.elapsed));
        if self.exact {
            assert_eq!(next, deadline, "exact as long as nothing was removed");
        }
    }

    /// Turns when the wheel says so, a while, and then lets everything come due.
    fn drain(&mut self) {
        for _ in 0..64 {
            while self.pop() {}
            let Some(next) = self.wheel.next_deadline() else {
                break;
            };
            self.advance(next.count());
            self.compare_next();
        }
        self.advance(u64::MAX);
        while self.pop() {}
        self.compare();
        assert!(self.entries.is_empty() && self.wheel.is_empty());
    }
}
