//! The channel against the obvious queue: a sorted map, a line of waiting receivers, a line of
//! waiting senders. Under a paused clock.
//!
//! The properties, checked after every action:
//!
//! * whoever takes gets exactly the item that comes first in (deadline, insertion) order, if it is
//!   due, and otherwise waits, or sees the end;
//! * no more items wait than may, and senders that wait get in in their order;
//! * whenever an item is due (or the end has come) and receivers wait, one of them (or all) has
//!   been woken; and there are no more wakes than there were reasons.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read the clock they control"
)]
#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]

#[path = "common/drive.rs"]
mod drive;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

use cogwheel::delay_queue::{
    Expired, Key, Receiver, SendError, Sender, TryInsertError, TryRecvError, channel,
    channel_bounded,
};
use drive::{Wakes, paused, poll};
use proptest::prelude::*;
use tokio::time::{Duration, Instant, advance};

type Item = usize;
type Recv = Pin<Box<dyn Future<Output = Option<Expired<Item>>>>>;
type Send = Pin<Box<dyn Future<Output = Result<Key, SendError<Item>>>>>;

#[derive(Clone, Debug)]
enum Action {
    Insert(u64),
    Send(u64),
    GiveUpSend(usize),
    Remove(usize),
    Reset(usize, u64),
    TryRecv,
    RecvMany(usize),
    Wait,
    /// Lets one that was woken, or any, poll.
    Poll(usize),
    GiveUpWait(usize),
    Advance(u64),
    AdvanceToNext,
    Close,
}

fn nanos() -> impl Strategy<Value = u64> {
    prop_oneof![
        1 => Just(0),
        3 => (20..40_u32, -2..3_i64).prop_map(|(bit, off)| (1_u64 << bit).saturating_add_signed(off)),
        4 => 0..5_000_000_u64,
        4 => (0..300_u64).prop_map(|ms| ms * 1_000_000),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => nanos().prop_map(Action::Insert),
        3 => nanos().prop_map(Action::Send),
        1 => any::<usize>().prop_map(Action::GiveUpSend),
        4 => any::<usize>().prop_map(Action::Remove),
        5 => (any::<usize>(), nanos()).prop_map(|(n, nanos)| Action::Reset(n, nanos)),
        2 => Just(Action::TryRecv),
        1 => (0..4_usize).prop_map(Action::RecvMany),
        5 => Just(Action::Wait),
        8 => any::<usize>().prop_map(Action::Poll),
        2 => any::<usize>().prop_map(Action::GiveUpWait),
        5 => nanos().prop_map(Action::Advance),
        4 => Just(Action::AdvanceToNext),
        1 => prop::bool::weighted(0.1).prop_map(|close| if close { Action::Close } else { Action::Wait }),
    ]
}

struct Waiting {
    recv: Recv,
    wakes: Arc<Wakes>,
    waker: Waker,
    /// How often it was woken when it was last polled.
    seen: usize,
}

struct Blocked {
    send: Send,
    waker: Waker,
    item: Item,
    deadline: Instant,
}

struct World {
    sender: Sender<Item>,
    receiver: Receiver<Item>,
    capacity: usize,
    closed: bool,
    sorted: BTreeMap<(Instant, u64), Item>,
    keys: Vec<Key>,
    live: HashMap<Key, (Instant, u64)>,
    inserted: u64,
    made: Item,
    waiting: Vec<Waiting>,
    blocked: VecDeque<Blocked>,
    /// Wakes there may have been: items that came first or due, receivers that gave up, ends.
    reasons: usize,
    /// Wakes of receivers that are gone.
    past_wakes: usize,
}

impl World {
    fn new(capacity: Option<usize>) -> Self {
        let (sender, receiver) = capacity.map_or_else(channel, channel_bounded);
        Self {
            sender,
            receiver,
            capacity: capacity.unwrap_or(usize::MAX),
            closed: false,
            sorted: BTreeMap::new(),
            keys: Vec::new(),
            live: HashMap::new(),
            inserted: 0,
            made: 0,
            waiting: Vec::new(),
            blocked: VecDeque::new(),
            reasons: 0,
            past_wakes: 0,
        }
    }

    fn item(&mut self) -> Item {
        self.made += 1;
        self.made
    }

    fn inserted(&mut self, key: Key, deadline: Instant, item: Item) {
        assert!(!self.keys.contains(&key), "a key was given out twice");
        self.keys.push(key);
        let place = (deadline, self.inserted);
        self.inserted += 1;
        self.live.insert(key, place);
        self.sorted.insert(place, item);
        self.reasons += 2;
    }

    fn due(&self) -> Option<(Instant, Item)> {
        let (place, item) = self.sorted.first_key_value()?;
        (place.0 <= Instant::now()).then_some((place.0, *item))
    }

    fn received(&mut self, expired: &Expired<Item>) {
        let expected = self.due();
        assert_eq!(Some((expired.deadline(), *expired.get_ref())), expected);
        let place = self.live.remove(&expired.key()).unwrap();
        self.sorted.remove(&place).unwrap();
        self.let_in();
    }

    /// Polls the senders that wait, first of all those who must not get in.
    fn let_in(&mut self) {
        let free = self.capacity - self.sorted.len();
        let admitted = free.min(self.blocked.len());
        for blocked in self.blocked.iter_mut().skip(admitted) {
            assert!(poll(&mut blocked.send, &blocked.waker).is_pending());
        }
        for _ in 0..admitted {
            let mut first = self.blocked.pop_front().unwrap();
            match poll(&mut first.send, &first.waker) {
                Poll::Ready(Ok(key)) => self.inserted(key, first.deadline, first.item),
                other => panic!("there is room, and it was its turn: {other:?}"),
            }
        }
    }

    fn pick(&self, n: usize) -> Option<Key> {
        let recent = &self.keys[self.keys.len().saturating_sub(16)..];
        (!recent.is_empty()).then(|| recent[n % recent.len()])
    }

    fn poll(&mut self, index: usize) {
        let waiting = &mut self.waiting[index];
        waiting.seen = waiting.wakes.count();
        match poll(&mut waiting.recv, &waiting.waker) {
            Poll::Pending => {
                assert!(self.due().is_none());
                assert!(!(self.closed && self.sorted.is_empty()));
            }
            Poll::Ready(None) => {
                assert!(self.closed && self.sorted.is_empty());
                self.gone(index);
            }
            Poll::Ready(Some(expired)) => {
                self.gone(index);
                self.received(&expired);
            }
        }
    }

    fn gone(&mut self, index: usize) {
        self.past_wakes += self.waiting.swap_remove(index).wakes.count();
    }

    async fn act(&mut self, action: Action) {
        let now = Instant::now();
        match action {
            Action::Insert(nanos) => {
                let (item, delay) = (self.item(), Duration::from_nanos(nanos));
                match self.sender.try_insert(item, delay) {
                    Ok(key) => {
                        assert!(!self.closed && self.sorted.len() < self.capacity);
                        self.inserted(key, now + delay, item);
                    }
                    Err(TryInsertError::Full(back)) => {
                        assert!(!self.closed && self.sorted.len() == self.capacity);
                        assert_eq!(back, item);
                    }
                    Err(TryInsertError::Closed(back)) => {
                        assert!(self.closed);
                        assert_eq!(back, item);
                    }
                }
            }
            Action::Send(nanos) => {
                let (item, deadline) = (self.item(), now + Duration::from_nanos(nanos));
                let sender = self.sender.clone();
                let mut send: Send = Box::pin(async move { sender.send_at(item, deadline).await });
                let (_, waker) = Wakes::new();
                match poll(&mut send, &waker) {
                    Poll::Ready(Ok(key)) => {
                        assert!(!self.closed && self.sorted.len() < self.capacity);
                        self.inserted(key, deadline, item);
                    }
                    Poll::Ready(Err(back)) => assert_eq!((self.closed, back.0), (true, item)),
                    Poll::Pending => {
                        assert!(!self.closed && self.sorted.len() == self.capacity);
                        self.blocked.push_back(Blocked {
                            send,
                            waker,
                            item,
                            deadline,
                        });
                    }
                }
            }
            Action::GiveUpSend(n) => {
                if !self.blocked.is_empty() {
                    drop(self.blocked.remove(n % self.blocked.len()));
                }
            }
            Action::Remove(n) => {
                let Some(key) = self.pick(n) else { return };
                let removed = self.sender.remove(&key);
                let removed = removed.map(|item| (item.deadline(), item.into_inner()));
                let place = self.live.remove(&key);
                let expected = place.map(|place| (place.0, self.sorted.remove(&place).unwrap()));
                assert_eq!(removed, expected);
                if expected.is_some() {
                    self.let_in();
                }
            }
            Action::Reset(n, nanos) => {
                let Some(key) = self.pick(n) else { return };
                let delay = Duration::from_nanos(nanos);
                let moved = self.sender.reset(&key, delay);
                assert_eq!(moved, self.live.contains_key(&key));
                if let Some(place) = self.live.get_mut(&key) {
                    let item = self.sorted.remove(place).unwrap();
                    place.0 = now + delay;
                    self.sorted.insert(*place, item);
                    self.reasons += 2;
                }
            }
            Action::TryRecv => match self.receiver.try_recv() {
                Ok(expired) => self.received(&expired),
                Err(TryRecvError::Empty) => {
                    assert!(self.due().is_none() && !(self.closed && self.sorted.is_empty()));
                }
                Err(TryRecvError::Closed) => assert!(self.closed && self.sorted.is_empty()),
            },
            Action::RecvMany(limit) => {
                let mut batch = Vec::new();
                let mut receiver = self.receiver.clone();
                let mut recv = Box::pin(receiver.recv_many(&mut batch, limit));
                let polled = poll(&mut recv, Waker::noop());
                // Whoever waits for a moment may be called, and gives that on.
                self.reasons += 1;
                drop(recv);
                match polled {
                    Poll::Pending => assert!(self.due().is_none() && batch.is_empty()),
                    Poll::Ready(taken) => {
                        assert_eq!(taken, batch.len());
                        let (due, over) =
                            (self.due().is_some(), self.closed && self.sorted.is_empty());
                        assert!(
                            (taken > 0) == (limit > 0 && due) && (taken > 0 || limit == 0 || over)
                        );
                    }
                }
                let full = batch.len() == limit;
                for expired in &batch {
                    // Those who wait for room were let in behind all that was taken at once.
                    let place = self.live.remove(&expired.key()).unwrap();
                    assert_eq!(
                        self.sorted.first_key_value(),
                        Some((&place, expired.get_ref()))
                    );
                    assert!(place.0 <= now);
                    self.sorted.remove(&place);
                }
                assert!(full || self.due().is_none());
                self.let_in();
            }
            Action::Wait => {
                let mut receiver = self.receiver.clone();
                let recv: Recv = Box::pin(async move { receiver.recv().await });
                let (wakes, waker) = Wakes::new();
                self.waiting.push(Waiting {
                    recv,
                    wakes,
                    waker,
                    seen: 0,
                });
                self.poll(self.waiting.len() - 1);
            }
            Action::Poll(n) => {
                let woken = |waiting: &Waiting| waiting.wakes.count() > waiting.seen;
                match self.waiting.iter().position(woken) {
                    Some(index) => self.poll(index),
                    None if self.waiting.is_empty() => {}
                    None => self.poll(n % self.waiting.len()),
                }
            }
            Action::GiveUpWait(n) => {
                if !self.waiting.is_empty() {
                    self.gone(n % self.waiting.len());
                    self.reasons += 1;
                }
            }
            Action::Advance(nanos) => advance(Duration::from_nanos(nanos)).await,
            Action::AdvanceToNext => {
                if let Some((place, _)) = self.sorted.first_key_value() {
                    advance(place.0.saturating_duration_since(now)).await;
                }
            }
            Action::Close => {
                self.receiver.close();
                self.closed = true;
                for mut blocked in self.blocked.drain(..) {
                    let polled = poll(&mut blocked.send, &blocked.waker);
                    assert_eq!(polled, Poll::Ready(Err(SendError(blocked.item))));
                }
            }
        }
    }

    fn check(&mut self) {
        // Tokio's clock fires its timers on whole milliseconds.
        const GRAIN: Duration = Duration::from_millis(1);
        assert_eq!(self.sender.len(), self.sorted.len());
        assert_eq!(self.sender.is_full(), self.sorted.len() == self.capacity);
        assert!(self.sorted.len() <= self.capacity);
        let first = self.sorted.first_key_value().map(|(place, _)| place.0);
        assert_eq!(self.receiver.next_deadline(), first);
        for key in self
            .keys
            .iter()
            .rev()
            .take(16)
            .filter(|key| !self.live.contains_key(key))
        {
            assert!(!self.sender.reset(key, Duration::ZERO));
        }

        let woken = self
            .waiting
            .iter()
            .filter(|waiting| waiting.wakes.count() > waiting.seen);
        let woken = woken.count();
        if self.closed && self.sorted.is_empty() {
            assert_eq!(woken, self.waiting.len(), "the end is everybody's");
            self.reasons += self.waiting.len();
        } else if first.is_some_and(|first| first + GRAIN <= Instant::now()) {
            assert!(
                woken > 0 || self.waiting.is_empty(),
                "an item is due and nobody was woken"
            );
        }
        let wakes: usize = self
            .waiting
            .iter()
            .map(|waiting| waiting.wakes.count())
            .sum();
        let wakes = wakes + self.past_wakes;
        assert!(
            wakes <= self.reasons,
            "{wakes} wakes for {} reasons",
            self.reasons
        );
    }
}

fn run(capacity: Option<usize>, actions: Vec<Action>) {
    paused().block_on(tokio::task::unconstrained(async {
        let mut world = World::new(capacity);
        for action in actions {
            world.act(action).await;
            world.check();
        }
        // Whatever is left comes out, in order, and then the end.
        world.act(Action::Close).await;
        while let Some((place, _)) = world.sorted.first_key_value() {
            advance(place.0.saturating_duration_since(Instant::now())).await;
            world.act(Action::TryRecv).await;
            world.check();
        }
        world.act(Action::TryRecv).await;
    }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_unbounded_channel_agrees_with_a_sorted_map(actions in prop::collection::vec(action(), 1..120)) {
        run(None, actions);
    }

    #[test]
    fn a_bounded_channel_agrees_with_a_sorted_map(
        capacity in 1..5_usize,
        actions in prop::collection::vec(action(), 1..120),
    ) {
        run(Some(capacity), actions);
    }
}
