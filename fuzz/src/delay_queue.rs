//! `DelayQueue` and the task that polls it, against a sorted map and what that task was told.
//!
//! After every action: what the call returned, every view of the queue, and whether a wake-up came
//! that had to, or one that had not. Three tasks take turns to poll; only the last one may be woken.
//! Time is a `ManualClock`, so everything is exact to the nanosecond. At the end everything comes out
//! in the order of (deadline, insertion).
//!
//! Seen to fail with: no wake-up when the queue becomes empty or its first item is put off; no wake-up
//! for an item that comes first; a key of another queue that is taken for one of this.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use cogwheel::delay_queue::{Expired, Key};
use cogwheel::{DelayQueue, ManualClock, Timer};
use tokio::time::Instant;

use crate::input::Input;
use crate::time;

/// Items that one input may insert.
const MOST: usize = 400;
/// Keys of the past that are tried after every action.
const STALE: usize = 16;
const TASKS: usize = 3;

/// Does what `bytes` say to a queue and to its model.
///
/// # Panics
///
/// If they disagree.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without threads");
    let _context = runtime.enter();
    let clock = time::clock(&mut input, Timer::builder());
    let default = clock.timer().make_default();
    default.expect("it is open, and this is a runtime");
    let mut pair = Pair::new(clock);
    while !input.is_empty() {
        let before = pair.clock.now();
        pair.act(&mut input);
        pair.check_wakes(before != pair.clock.now());
        pair.compare();
    }
    pair.drain();
}

/// A task that counts how often it was woken.
#[derive(Default)]
struct Task(AtomicUsize);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the task that polled last may rely on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// It does not wait.
    Nothing,
    /// That the queue is empty.
    Empty,
    /// To wait, and not for longer than until then.
    Until(Instant),
}

struct Pair {
    clock: ManualClock,
    queue: DelayQueue<usize>,
    foreign: DelayQueue<usize>,
    /// Deadline and sequence to value, which is the sequence.
    items: BTreeMap<(Instant, usize), usize>,
    /// Every key ever given; its index is the sequence.
    keys: Vec<Key>,
    live: HashMap<Key, (Instant, usize)>,
    tasks: [Arc<Task>; TASKS],
    /// Which task polled last, and what it was told.
    poller: usize,
    told: Told,
    /// Items that were removed or moved, and wake-ups before anything was due.
    put_off: usize,
    empty_wakes: usize,
}

impl Pair {
    fn new(clock: ManualClock) -> Self {
        Self {
            clock,
            queue: DelayQueue::new(),
            foreign: DelayQueue::new(),
            items: BTreeMap::new(),
            keys: Vec::new(),
            live: HashMap::new(),
            tasks: Default::default(),
            poller: 0,
            told: Told::Nothing,
            put_off: 0,
            empty_wakes: 0,
        }
    }

    fn act(&mut self, input: &mut Input<'_>) {
        let now = self.clock.now();
        match input.below(32) {
            0..=6 => {
                let at = time::deadline(input, now);
                self.insert(at, |queue, value| queue.insert_at(value, at));
            }
            7 => {
                let delay = Duration::from_nanos(input.ticks() >> 2);
                let at = time::after(now, delay);
                self.insert(at, |queue, value| queue.insert(value, delay));
            }
            8 => self.insert(time::never(), |queue, value| {
                queue.insert(value, Duration::MAX)
            }),
            9..=11 => self.remove(input),
            12..=15 => self.reset(input),
            16..=19 => {
                self.poller = input.below(TASKS);
                self.poll();
            }
            20 => {
                let due = self.due();
                let popped = self.queue.pop_expired().map(parts);
                assert_eq!(popped, due);
                due.map(|(key, ..)| self.forget(&key));
            }
            21 => self.poll_many(input),
            22 => {
                let limit = input.below(5);
                let mut batch = Vec::new();
                let taken = self.queue.pop_expired_into(&mut batch, limit);
                assert_eq!(taken, batch.len());
                self.took(batch, limit);
            }
            23..=25 => {
                self.clock.advance_to(time::deadline(input, now));
            }
            26 | 27 => {
                // To the first deadline, or a tick beside it.
                let first = self.first().unwrap_or(now).min(time::instant_at(u64::MAX));
                let nanos = Duration::from_nanos(input.below(3) as u64);
                self.clock
                    .advance_to(first + nanos - Duration::from_nanos(1));
            }
            28 => {
                self.clock.advance_to_next();
            }
            29 => self.take_all(input),
            30 => self.retain(input),
            _ => match input.below(4) {
                0 => self.queue.shrink_to_fit(),
                1 => self.clear(),
                _ => {
                    self.queue.compact();
                    assert!(self.queue.capacity() >= self.items.len());
                }
            },
        }
    }

    fn insert(&mut self, at: Instant, insert: impl FnOnce(&mut DelayQueue<usize>, usize) -> Key) {
        let sequence = self.keys.len();
        if sequence == MOST {
            return;
        }
        let key = insert(&mut self.queue, sequence);
        assert!(!self.keys.contains(&key), "a key was given out twice");
        self.keys.push(key);
        self.live.insert(key, (at, sequence));
        self.items.insert((at, sequence), sequence);
        let foreign = self.foreign.insert(sequence, Duration::ZERO);
        assert!(!self.live.contains_key(&foreign));
    }

    /// One of the keys given last.
    fn key(&self, input: &mut Input<'_>) -> Option<Key> {
        let back = input.below(256) % self.keys.len().max(1);
        self.keys.iter().rev().nth(back).copied()
    }

    fn forget(&mut self, key: &Key) -> Option<(Instant, usize)> {
        let place = self.live.remove(key)?;
        self.put_off += 1;
        Some((place.0, self.items.remove(&place)?))
    }

    fn remove(&mut self, input: &mut Input<'_>) {
        let Some(key) = self.key(input) else { return };
        let removed = self.queue.try_remove(&key);
        let removed = removed.map(|item| (item.deadline(), item.into_inner()));
        assert_eq!(removed, self.forget(&key));
    }

    fn reset(&mut self, input: &mut Input<'_>) {
        let Some(key) = self.key(input) else { return };
        let now = self.clock.now();
        let (at, moved) = if input.once_in(3) {
            let delay = Duration::from_nanos(input.ticks() >> 2);
            (time::after(now, delay), self.queue.try_reset(&key, delay))
        } else {
            let at = time::deadline(input, now);
            (at, self.queue.try_reset_at(&key, at))
        };
        assert_eq!(moved, self.live.contains_key(&key));
        if let Some(place) = self.live.get_mut(&key) {
            self.put_off += 1;
            let value = self.items.remove(place).expect("it is in both maps");
            place.0 = at;
            self.items.insert(*place, value);
        }
    }

    /// The key, deadline and value of the first item, if it is due.
    fn due(&self) -> Option<(Key, Instant, usize)> {
        let (&(deadline, sequence), &value) = self.items.first_key_value()?;
        (deadline <= self.clock.now()).then(|| (self.keys[sequence], deadline, value))
    }

    fn first(&self) -> Option<Instant> {
        self.items.first_key_value().map(|(place, _)| place.0)
    }

    fn poll_with<R>(
        &mut self,
        poll: impl FnOnce(&mut DelayQueue<usize>, &mut Context<'_>) -> R,
    ) -> R {
        self.tasks[self.poller].0.store(0, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&self.tasks[self.poller]));
        let polled = poll(&mut self.queue, &mut Context::from_waker(&waker));
        for (n, task) in self.tasks.iter().enumerate() {
            if n != self.poller {
                task.0.store(0, Ordering::Relaxed);
            }
        }
        polled
    }

    /// One poll, compared. Whether it gave an item.
    fn poll(&mut self) -> bool {
        let due = self.due();
        let polled = self.poll_with(DelayQueue::poll_expired);
        let expected = match (due, self.first()) {
            (Some(due), _) => Poll::Ready(Some(due)),
            (None, None) => Poll::Ready(None),
            (None, Some(_)) => Poll::Pending,
        };
        assert_eq!(polled.map(|item| item.map(parts)), expected);
        if let Some((key, ..)) = due {
            self.forget(&key);
        }
        self.told = match (due, self.first()) {
            (Some(_), _) => Told::Nothing,
            (None, None) => Told::Empty,
            (None, Some(first)) => Told::Until(first),
        };
        due.is_some()
    }

    fn poll_many(&mut self, input: &mut Input<'_>) {
        self.poller = input.below(TASKS);
        let limit = input.below(4) + 1;
        let (due, first) = (self.due(), self.first());
        let mut batch = Vec::new();
        let polled = self.poll_with(|queue, cx| queue.poll_expired_many(cx, &mut batch, limit));
        let (expected, told) = match (due, first) {
            (Some(_), _) => (Poll::Ready(batch.len()), Told::Nothing),
            (None, None) => (Poll::Ready(0), Told::Empty),
            (None, Some(first)) => (Poll::Pending, Told::Until(first)),
        };
        assert_eq!(polled, expected);
        assert_eq!(due.is_some(), !batch.is_empty());
        self.told = told;
        self.took(batch, limit);
    }

    /// What a batch must have been: the first items that are due, as many as fit.
    fn took(&mut self, batch: Vec<Expired<usize>>, limit: usize) {
        assert!(batch.len() <= limit);
        let full = batch.len() == limit;
        for item in batch {
            let item = parts(item);
            assert_eq!(Some(item), self.due());
            self.forget(&item.0);
        }
        assert!(full || self.due().is_none());
    }

    fn take_all(&mut self, input: &mut Input<'_>) {
        let most = input.below(6);
        let expected: Vec<_> = self
            .items
            .iter()
            .map(|(place, item)| (place.0, *item))
            .collect();
        let all = self.queue.drain().take(most);
        let taken: Vec<_> = all
            .map(|item| (item.deadline(), item.into_inner()))
            .collect();
        assert_eq!(taken, expected[..most.min(expected.len())]);
        self.items.clear();
        self.live.clear();
    }

    fn retain(&mut self, input: &mut Input<'_>) {
        let (parts, rest) = (input.below(4) + 1, input.below(5));
        let before = self.items.len();
        let mut asked = 0;
        let (live, items) = (&self.live, &self.items);
        self.queue.retain(|key, deadline, item| {
            let place = live[key];
            assert_eq!((place.0, items[&place]), (deadline, *item));
            asked += 1;
            *item % parts != rest
        });
        assert_eq!(asked, before, "each is asked for once");
        self.items.retain(|_, item| *item % parts != rest);
        self.live.retain(|_, place| self.items.contains_key(place));
        self.put_off += before - self.items.len();
    }

    fn clear(&mut self) {
        self.queue.clear();
        self.items.clear();
        self.live.clear();
    }

    /// Whether a wake-up came since the last check, and whether that is right.
    fn check_wakes(&mut self, clock_moved: bool) {
        let now = self.clock.now();
        let woken = self.tasks[self.poller].0.swap(0, Ordering::Relaxed) > 0;
        let others = self.tasks.iter().map(|task| task.0.load(Ordering::Relaxed));
        assert_eq!(
            others.sum::<usize>(),
            0,
            "a task that no longer waits was woken"
        );
        match (self.told, self.first()) {
            (Told::Nothing, _) => {}
            (Told::Empty, None) => assert!(!woken, "woken, but it is still empty"),
            (Told::Empty, Some(_)) => assert!(woken, "not told that there is an item"),
            (Told::Until(_), None) => assert!(woken, "not told that it is empty"),
            (Told::Until(until), Some(first)) if woken => {
                // A removal may leave the timer at the deadline of what was removed, once.
                if first >= until && now < until {
                    assert!(clock_moved, "woken for a change that does not concern it");
                    self.empty_wakes += 1;
                    assert!(self.empty_wakes <= self.put_off, "woken for nothing");
                }
            }
            (Told::Until(_), Some(first)) => {
                assert!(now < first, "not woken for {first:?} at {now:?}");
                self.told = Told::Until(first);
            }
        }
        if woken {
            self.told = Told::Nothing;
        }
    }

    fn compare(&self) {
        assert_eq!(self.queue.len(), self.items.len());
        assert_eq!(self.queue.is_empty(), self.items.is_empty());
        assert_eq!(self.queue.next_deadline(), self.first());
        let first = self.items.first_key_value();
        let first = first.map(|(&(_, sequence), _)| self.keys[sequence]);
        assert_eq!(self.queue.peek(), first);
        for key in self.live.keys().chain(self.keys.iter().rev().take(STALE)) {
            let place = self.live.get(key);
            assert_eq!(self.queue.try_deadline(key), place.map(|place| place.0));
            assert_eq!(self.queue.get(key), place.map(|place| &self.items[place]));
            assert!(self.foreign.get(key).is_none(), "a key of another queue");
        }
        let mut seen = 0;
        for (key, deadline, item) in self.queue.iter() {
            let place = self.live[&key];
            assert_eq!((place.0, self.items[&place]), (deadline, *item));
            seen += 1;
        }
        assert_eq!(seen, self.items.len(), "each is shown once");
    }

    /// Lets everything come out but what never does.
    fn drain(&mut self) {
        while let Some(first) = self.first().filter(|first| *first < time::never()) {
            self.clock.advance_to(first);
            self.check_wakes(true);
            assert!(self.poll());
        }
        self.clear();
        self.check_wakes(false);
        assert!(!self.poll());
        self.compare();
    }
}

fn parts(item: Expired<usize>) -> (Key, Instant, usize) {
    (item.key(), item.deadline(), item.into_inner())
}
