//! `DelayQueue` against the obvious queue: a sorted map, and a poller that is told what it says.
//!
//! The properties, checked after every action:
//!
//! * a poll yields exactly the item that comes first in (deadline, insertion) order, if its
//!   deadline is not after the clock, with its key, its value and its exact deadline;
//! * every view (`len`, `peek`, `next_deadline`, `deadline`, `get`, `iter`) shows the model's
//!   state;
//! * a stale key and a key of another queue give `None` and change nothing;
//! * a pending poller is woken by every action that changes its answer or makes its wait shorter,
//!   and by no other; once an item is due it has been woken.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read the clock they control"
)]
#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]

use std::collections::{BTreeMap, HashMap};
use std::task::Poll;

use cogwheel::DelayQueue;
use cogwheel::delay_queue::{Expired, Key};
use proptest::prelude::*;
use tokio::time::{Duration, Instant, advance};
use tokio_test::task::{self, Spawn};

#[derive(Clone, Debug)]
enum Action {
    Insert(Delay),
    InsertFor(u64),
    Remove(usize),
    Reset(usize, Delay),
    ResetFor(usize, u64),
    Poll,
    Pop,
    PollMany(usize),
    PopInto(usize),
    TakeAll(usize),
    Retain(usize),
    Drain,
    Advance(u64),
    AdvanceToNext,
    Compact,
    Shrink,
    Clear,
}

/// A deadline relative to now.
#[derive(Clone, Copy, Debug)]
enum Delay {
    Past(u64),
    Future(u64),
}

impl Delay {
    fn from(self, now: Instant) -> Instant {
        match self {
            Self::Past(nanos) => now - Duration::from_nanos(nanos),
            Self::Future(nanos) => now + Duration::from_nanos(nanos),
        }
    }
}

/// Spans that lie in, on and beside the edges of the wheel's levels, and at random.
fn nanos() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => 0..3_u64,
        3 => (20..50_u32, -2..3_i64).prop_map(|(bit, off)| (1_u64 << bit).saturating_add_signed(off)),
        4 => 0..5_000_000_u64,
        4 => (0..2_000_u64).prop_map(|ms| ms * 1_000_000),
        1 => 0..10_000_000_000_000_u64,
    ]
}

fn delay() -> impl Strategy<Value = Delay> {
    prop_oneof![
        1 => (0..5_000_000_u64).prop_map(Delay::Past),
        6 => nanos().prop_map(Delay::Future),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => delay().prop_map(Action::Insert),
        2 => nanos().prop_map(Action::InsertFor),
        4 => any::<usize>().prop_map(Action::Remove),
        5 => (any::<usize>(), delay()).prop_map(|(n, delay)| Action::Reset(n, delay)),
        2 => (any::<usize>(), nanos()).prop_map(|(n, nanos)| Action::ResetFor(n, nanos)),
        6 => Just(Action::Poll),
        2 => Just(Action::Pop),
        2 => (0..4_usize).prop_map(Action::PollMany),
        1 => (0..4_usize).prop_map(Action::PopInto),
        1 => (0..6_usize).prop_map(Action::TakeAll),
        1 => (0..5_usize).prop_map(Action::Retain),
        1 => Just(Action::Drain),
        5 => nanos().prop_map(Action::Advance),
        4 => Just(Action::AdvanceToNext),
        1 => Just(Action::Compact),
        1 => Just(Action::Shrink),
        1 => Just(Action::Clear),
    ]
}

/// What the pending poller may rely on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// It is not waiting.
    Nothing,
    Empty,
    /// It waits, and not for longer than until then.
    Until(Instant),
}

struct Pair {
    queue: Spawn<DelayQueue<usize>>,
    foreign: DelayQueue<usize>,
    sorted: BTreeMap<(Instant, u64), usize>,
    /// Every key there ever was, and where it is in `sorted` if it is live.
    keys: Vec<Key>,
    live: HashMap<Key, (Instant, u64)>,
    inserted: u64,
    told: Told,
    /// Items that were removed or moved, and wakes before anything was due.
    put_off: usize,
    empty_wakes: usize,
}

impl Pair {
    fn new() -> Self {
        Self {
            queue: task::spawn(DelayQueue::new()),
            foreign: DelayQueue::new(),
            sorted: BTreeMap::new(),
            keys: Vec::new(),
            live: HashMap::new(),
            inserted: 0,
            told: Told::Nothing,
            put_off: 0,
            empty_wakes: 0,
        }
    }

    fn first(&self) -> Option<Instant> {
        self.sorted.first_key_value().map(|(&(at, _), _)| at)
    }

    fn inserted(&mut self, key: Key, at: Instant, value: usize) {
        assert!(!self.keys.contains(&key), "a key was given out twice");
        self.keys.push(key);
        self.live.insert(key, (at, self.inserted));
        self.sorted.insert((at, self.inserted), value);
        self.inserted += 1;
        let foreign = self.foreign.insert(value, Duration::ZERO);
        assert!(!self.live.contains_key(&foreign));
    }

    fn take(&mut self, key: &Key) -> Option<(Instant, usize)> {
        let place = self.live.remove(key)?;
        self.put_off += 1;
        Some((place.0, self.sorted.remove(&place).unwrap()))
    }

    fn pick(&self, n: usize) -> Option<Key> {
        // Among the last ones, so that many are live and some are not.
        let recent = &self.keys[self.keys.len().saturating_sub(24)..];
        (!recent.is_empty()).then(|| recent[n % recent.len()])
    }

    /// The key, deadline and value of the first item, if it is due.
    fn due(&self) -> Option<(Key, Instant, usize)> {
        let (&place, &value) = self.sorted.first_key_value()?;
        let (key, _) = self.live.iter().find(|(_, other)| **other == place)?;
        (place.0 <= Instant::now()).then_some((*key, place.0, value))
    }

    /// One poll, compared. Whether it gave an item.
    fn poll(&mut self) -> bool {
        let due = self.due();
        let polled = self.queue.enter(|cx, mut queue| queue.poll_expired(cx));
        let polled =
            polled.map(|item| item.map(|item| (item.key(), item.deadline(), item.into_inner())));
        let expected = match (due, self.sorted.is_empty()) {
            (Some(due), _) => Poll::Ready(Some(due)),
            (None, true) => Poll::Ready(None),
            (None, false) => Poll::Pending,
        };
        assert_eq!(polled, expected);
        self.told = match polled {
            Poll::Ready(Some((key, ..))) => {
                self.take(&key);
                Told::Nothing
            }
            Poll::Ready(None) => Told::Empty,
            Poll::Pending => Told::Until(self.first().unwrap()),
        };
        due.is_some()
    }

    /// What a batch must have been: the first items that are due, as many as fit.
    fn took(&mut self, batch: Vec<Expired<usize>>, limit: usize) {
        assert!(batch.len() <= limit);
        let full = batch.len() == limit;
        for item in batch {
            let item = (item.key(), item.deadline(), item.into_inner());
            assert_eq!(Some(item), self.due());
            self.take(&item.0);
        }
        assert!(full || self.due().is_none());
    }

    fn poll_many(&mut self, limit: usize) {
        let mut batch = Vec::new();
        let polled = self
            .queue
            .enter(|cx, mut queue| queue.poll_expired_many(cx, &mut batch, limit));
        if limit == 0 {
            assert_eq!(polled, Poll::Ready(0));
            return;
        }
        self.told = match (self.due(), self.first()) {
            (Some(_), _) => {
                assert_eq!(polled, Poll::Ready(batch.len()));
                assert_ne!(batch.len(), 0);
                Told::Nothing
            }
            (None, None) => {
                assert_eq!(polled, Poll::Ready(0));
                Told::Empty
            }
            (None, Some(first)) => {
                assert_eq!(polled, Poll::Pending);
                Told::Until(first)
            }
        };
        self.took(batch, limit);
    }

    async fn act(&mut self, action: Action) {
        let now = Instant::now();
        match action {
            Action::Insert(delay) => {
                let at = delay.from(now);
                let value = self.keys.len();
                let key = self.queue.insert_at(value, at);
                self.inserted(key, at, value);
            }
            Action::InsertFor(nanos) => {
                let value = self.keys.len();
                let key = self.queue.insert(value, Duration::from_nanos(nanos));
                self.inserted(key, now + Duration::from_nanos(nanos), value);
            }
            Action::Remove(n) => {
                let Some(key) = self.pick(n) else { return };
                let removed = self.queue.try_remove(&key);
                let removed = removed.map(|item| (item.deadline(), item.into_inner()));
                assert_eq!(removed, self.take(&key));
            }
            Action::Reset(n, delay) => {
                let Some(key) = self.pick(n) else { return };
                let at = delay.from(now);
                let moved = self.queue.try_reset_at(&key, at);
                self.moved(key, at, moved);
            }
            Action::ResetFor(n, nanos) => {
                let Some(key) = self.pick(n) else { return };
                let delay = Duration::from_nanos(nanos);
                let moved = self.queue.try_reset(&key, delay);
                self.moved(key, now + delay, moved);
            }
            Action::Poll => {
                self.poll();
            }
            Action::Pop => {
                let due = self.due();
                let popped = self.queue.pop_expired();
                let popped = popped.map(|item| (item.key(), item.deadline(), item.into_inner()));
                assert_eq!(popped, due);
                if let Some((key, ..)) = popped {
                    self.take(&key);
                }
            }
            Action::PollMany(limit) => self.poll_many(limit),
            Action::PopInto(limit) => {
                let mut batch = Vec::new();
                let taken = self.queue.pop_expired_into(&mut batch, limit);
                assert_eq!(taken, batch.len());
                self.took(batch, limit);
            }
            Action::TakeAll(most) => {
                let expected: Vec<_> = self
                    .sorted
                    .iter()
                    .map(|(place, item)| (place.0, *item))
                    .collect();
                let taken: Vec<_> = self
                    .queue
                    .drain()
                    .map(|item| (item.deadline(), item.into_inner()))
                    .take(most)
                    .collect();
                assert_eq!(taken, expected[..most.min(expected.len())]);
                self.sorted.clear();
                self.live.clear();
            }
            Action::Retain(rest) => {
                let before = self.sorted.len();
                let mut asked = 0;
                self.queue.retain(|key, deadline, item| {
                    let place = self.live[key];
                    assert_eq!((place.0, self.sorted[&place]), (deadline, *item));
                    asked += 1;
                    *item % 4 != rest
                });
                assert_eq!(asked, before);
                self.sorted.retain(|_, item| *item % 4 != rest);
                self.live.retain(|_, place| self.sorted.contains_key(place));
                self.put_off += before - self.sorted.len();
            }
            Action::Drain => while self.poll() {},
            Action::Advance(nanos) => advance(Duration::from_nanos(nanos)).await,
            Action::AdvanceToNext => {
                if let Some(first) = self.first() {
                    advance(first.saturating_duration_since(now)).await;
                }
            }
            Action::Compact => {
                self.queue.compact();
                assert_eq!(self.queue.capacity(), self.sorted.len());
            }
            Action::Shrink => self.queue.shrink_to_fit(),
            Action::Clear => {
                self.queue.clear();
                self.sorted.clear();
                self.live.clear();
            }
        }
    }

    fn moved(&mut self, key: Key, at: Instant, moved: bool) {
        let taken = self.live.get(&key).copied();
        assert_eq!(moved, taken.is_some());
        if let Some(place) = taken {
            self.put_off += 1;
            let value = self.sorted.remove(&place).unwrap();
            self.sorted.insert((at, place.1), value);
            self.live.insert(key, (at, place.1));
        }
    }

    /// Whether there was a wake since the last check, and whether that is right.
    fn check_wakes(&mut self, clock_moved: bool) {
        // Tokio's clock fires its timers on whole milliseconds.
        const GRAIN: Duration = Duration::from_millis(1);
        let now = Instant::now();
        let woken = self.queue.is_woken();
        match (self.told, self.first()) {
            (Told::Nothing, _) => {}
            (Told::Empty, None) => assert!(!woken, "woken, but it is still empty"),
            (Told::Empty, Some(_)) => assert!(woken, "not told that there is an item"),
            (Told::Until(_), None) => assert!(woken, "not told that it is empty"),
            (Told::Until(until), Some(first)) if woken => {
                // A removal may leave the timer at the deadline of what was removed, once.
                if first >= until && now < until {
                    assert!(
                        clock_moved,
                        "woken for a change that does not concern the poller"
                    );
                    self.empty_wakes += 1;
                    assert!(self.empty_wakes <= self.put_off, "woken for nothing");
                }
            }
            (Told::Until(_), Some(first)) => {
                assert!(now < first + GRAIN, "not woken for {first:?} at {now:?}");
                self.told = Told::Until(first);
            }
        }
        if woken {
            self.told = Told::Nothing;
        }
    }

    fn check_views(&self) {
        assert_eq!(self.queue.len(), self.sorted.len());
        assert_eq!(self.queue.is_empty(), self.sorted.is_empty());
        assert_eq!(self.queue.next_deadline(), self.first());
        let peeked = self.queue.peek().map(|key| self.live[&key]);
        assert_eq!(
            peeked.as_ref(),
            self.sorted.first_key_value().map(|(place, _)| place)
        );
        for key in self.keys.iter().rev().take(24) {
            let place = self.live.get(key);
            assert_eq!(self.queue.try_deadline(key), place.map(|place| place.0));
            assert_eq!(self.queue.get(key), place.map(|place| &self.sorted[place]));
            assert!(self.foreign.get(key).is_none());
        }
        let mut all: Vec<_> = self
            .queue
            .iter()
            .map(|(key, at, _)| (self.live[&key], at))
            .collect();
        all.sort_unstable();
        assert!(all.iter().all(|(place, at)| place.0 == *at));
        assert!(all.iter().map(|(place, _)| place).eq(self.sorted.keys()));
    }
}

fn run(actions: Vec<Action>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    // The poll of a whole run is one poll of a task: its budget is not what is tested here.
    runtime.block_on(tokio::task::unconstrained(async {
        // So that there is a past to insert into.
        advance(Duration::from_secs(1)).await;
        let mut pair = Pair::new();
        for action in actions {
            let before = Instant::now();
            pair.act(action).await;
            pair.check_wakes(before != Instant::now());
            pair.check_views();
        }
        // Whatever is left comes out, in order.
        while let Some(first) = pair.first() {
            advance(first.saturating_duration_since(Instant::now())).await;
            assert!(pair.poll());
        }
        assert!(!pair.poll());
    }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_agrees_with_a_sorted_map(actions in prop::collection::vec(action(), 1..120)) {
        run(actions);
    }
}
