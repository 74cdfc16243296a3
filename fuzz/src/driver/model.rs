//! What a timer must do, said in the obvious way: a sorted map of those that wait.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::task::Event;
use crate::time;

/// When it is to be woken, and how many were armed before.
pub(super) type Key = (Instant, u64);

/// Whose timer it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Owner {
    /// The entry's of this number.
    Entry(u64),
    /// The task's that arms one when it is woken.
    Armer,
    /// Of one that has completed.
    Nobody,
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) now: Instant,
    /// Wake-ups are multiples of this, unless it is zero.
    grid: u64,
    waiting: BTreeMap<Key, (Owner, usize)>,
    armed: u64,
    /// The entries that have fired since this was asked for.
    fired: BTreeSet<u64>,
    /// The task that arms a timer whenever it is woken, and how far ahead.
    armer: Option<(usize, Duration)>,
}

impl Model {
    pub(super) fn new(now: Instant, grid: u64, armer: Option<(usize, Duration)>) -> Self {
        Self {
            now,
            grid,
            waiting: BTreeMap::new(),
            armed: 0,
            fired: BTreeSet::new(),
            armer,
        }
    }

    /// A new timer begins, which does not coalesce.
    pub(super) fn renew(&mut self, now: Instant) {
        *self = Self::new(now, 0, self.armer);
    }

    /// When a timer of this deadline is to be woken.
    fn wake_up(&self, deadline: Instant) -> Instant {
        if self.grid < 2 {
            return deadline;
        }
        // Places on the line begin at a multiple of the finest grids only.
        let tick = u128::from(time::place_of(deadline)) + (1 << 61);
        let late = tick.next_multiple_of(u128::from(self.grid)) - tick;
        let late = u64::try_from(late).unwrap_or(u64::MAX);
        let end = time::never() - Duration::from_nanos(1);
        (deadline + Duration::from_nanos(late)).min(end)
    }

    pub(super) fn arm(&mut self, deadline: Instant, owner: Owner, task: usize) -> Key {
        let key = (self.wake_up(deadline), self.armed);
        self.armed += 1;
        self.waiting.insert(key, (owner, task));
        key
    }

    pub(super) fn cancel(&mut self, key: Key) -> (Owner, usize) {
        self.waiting.remove(&key).expect("it waits")
    }

    pub(super) fn reset(&mut self, key: Key, deadline: Instant) -> Key {
        let (owner, task) = self.cancel(key);
        self.arm(deadline, owner, task)
    }

    /// Another task polls what waits.
    pub(super) fn polled_by(&mut self, key: Key, task: usize) {
        self.waiting.get_mut(&key).expect("it waits").1 = task;
    }

    /// The first wake-up.
    pub(super) fn first(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|(key, _)| key.0)
    }

    pub(super) fn pending(&self) -> usize {
        self.waiting.len()
    }

    /// How many timers wait for a task.
    pub(super) fn waiting(&self, task: usize) -> usize {
        let tasks = self.waiting.values().map(|(_, task)| *task);
        tasks.filter(|of| *of == task).count()
    }

    /// Moves the clock and gives the wake-ups that happen in that.
    pub(super) fn advance(&mut self, target: Instant) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(key) = self.waiting.keys().next().copied() {
            if key.0 > target {
                break;
            }
            self.now = self.now.max(key.0);
            let (owner, task) = self.cancel(key);
            events.push(Event { at: self.now, task });
            if let Owner::Entry(number) = owner {
                self.fired.insert(number);
            }
            if let Some((armer, delay)) = self.armer.filter(|(armer, _)| *armer == task) {
                self.arm(self.now + delay, Owner::Armer, echo(armer));
            }
        }
        self.now = self.now.max(target);
        events
    }

    /// All that wait are woken.
    pub(super) fn close(&mut self) -> Vec<Event> {
        let at = self.now;
        let waiting = std::mem::take(&mut self.waiting);
        for (owner, _) in waiting.values() {
            if let Owner::Entry(number) = owner {
                self.fired.insert(*number);
            }
        }
        let tasks = waiting.into_values().map(|(_, task)| task);
        tasks.map(|task| Event { at, task }).collect()
    }

    pub(super) fn take_fired(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.fired)
    }
}

/// The number under which the timer of an armer is woken.
pub(super) const fn echo(armer: usize) -> usize {
    armer + 100
}
