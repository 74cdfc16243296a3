//! The channel under load, on real clocks and threads: nothing is lost, doubled or early.
//!
//! `COGWHEEL_STRESS_ITEMS` sets the number of items; without it, 1,000,000 in a release build and
//! 60,000 in a debug build.

#![allow(
    clippy::disallowed_methods,
    reason = "the items and their consumers live by the real clock"
)]
#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]

#[path = "common/drive.rs"]
mod drive;

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::Poll;
use std::thread;

use cogwheel::delay_queue::{Expired, Key, Receiver, Sender, channel, channel_bounded};
use drive::{one_thread, two_workers};
use tokio::time::{Duration, Instant, timeout};

const PRODUCERS: usize = 4;
const CONSUMERS: usize = 2;
/// How long the whole may take before it is called hanging.
const PATIENCE: Duration = Duration::from_secs(300);

fn index(number: u64) -> usize {
    usize::try_from(number).expect("it is small")
}

fn items() -> usize {
    let asked = std::env::var("COGWHEEL_STRESS_ITEMS");
    asked.map_or(
        if cfg!(debug_assertions) {
            60_000
        } else {
            1_000_000
        },
        |asked| asked.parse().expect("a number of items"),
    )
}

/// A small generator of random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % end
    }

    /// Mostly within a few milliseconds, some at once, some in a while.
    fn delay(&mut self) -> Duration {
        match self.below(10) {
            0 => Duration::ZERO,
            9 => Duration::from_micros(self.below(300_000)),
            _ => Duration::from_micros(self.below(5_000)),
        }
    }
}

/// What has become of each item: how often it came out.
struct Ledger {
    outcomes: Vec<AtomicU8>,
    removed: AtomicUsize,
    received: AtomicUsize,
    resets: AtomicUsize,
}

impl Ledger {
    fn new(items: usize) -> Arc<Self> {
        Arc::new(Self {
            outcomes: (0..items).map(|_| AtomicU8::new(0)).collect(),
            removed: AtomicUsize::new(0),
            received: AtomicUsize::new(0),
            resets: AtomicUsize::new(0),
        })
    }

    fn out(&self, item: usize) {
        assert_eq!(
            self.outcomes[item].fetch_add(1, Ordering::Relaxed),
            0,
            "item {item} came twice"
        );
    }

    fn received(&self, expired: Expired<(usize, Instant)>) {
        let now = Instant::now();
        assert!(expired.deadline() <= now, "an item came early");
        let (item, earliest) = *expired.get_ref();
        assert!(earliest <= now, "an item came before it was made");
        self.out(item);
        self.received.fetch_add(1, Ordering::Relaxed);
    }

    fn check(&self) {
        let lost = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.load(Ordering::Relaxed) == 0);
        assert_eq!(lost.count(), 0, "items are lost");
        let removed = self.removed.load(Ordering::Relaxed);
        let received = self.received.load(Ordering::Relaxed);
        assert_eq!(removed + received, self.outcomes.len());
        // All that is to be tested has happened.
        assert!(removed > 0 && received > 0 && self.resets.load(Ordering::Relaxed) > 0);
    }
}

type Item = (usize, Instant);

/// Puts every fourth item in, removes and resets some of the last ones.
async fn produce(sender: Sender<Item>, ledger: Arc<Ledger>, first: usize) {
    let mut random = Random(first as u64 + 1);
    let mut recent: VecDeque<(Key, usize)> = VecDeque::new();
    for item in (first..ledger.outcomes.len()).step_by(PRODUCERS) {
        let value = (item, Instant::now());
        let key = match sender.try_insert(value, random.delay()) {
            Ok(key) => key,
            Err(full) if item % 7 == 0 => {
                // A send that is given up, now and then.
                let value = full.into_inner();
                let given_up = sender.send(value, random.delay());
                match timeout(Duration::from_micros(random.below(300)), given_up).await {
                    Ok(sent) => sent.unwrap(),
                    Err(_) => sender.send(value, random.delay()).await.unwrap(),
                }
            }
            Err(full) => sender
                .send(full.into_inner(), random.delay())
                .await
                .unwrap(),
        };
        recent.push_back((key, item));
        if recent.len() > 50 {
            recent.pop_front();
        }
        let (key, picked) = recent[index(random.below(recent.len() as u64))];
        match random.below(10) {
            0..3 => {
                if let Some(expired) = sender.remove(&key) {
                    assert_eq!(expired.get_ref().0, picked, "a key names another item");
                    ledger.out(picked);
                    ledger.removed.fetch_add(1, Ordering::Relaxed);
                }
            }
            3..6 => {
                let moved = sender.reset(&key, random.delay());
                ledger
                    .resets
                    .fetch_add(usize::from(moved), Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// Takes items in all ways there are, giving up waiting now and then.
async fn consume(mut receiver: Receiver<Item>, ledger: Arc<Ledger>, seed: u64) {
    let mut random = Random(seed);
    let mut batch = Vec::new();
    loop {
        match random.below(8) {
            0 => {
                let patience = Duration::from_micros(random.below(200));
                match timeout(patience, receiver.recv()).await {
                    Ok(Some(expired)) => ledger.received(expired),
                    Ok(None) => return,
                    Err(_) => {}
                }
            }
            1 => {
                if let Ok(expired) = receiver.try_recv() {
                    ledger.received(expired);
                }
            }
            2..5 => {
                let limit = index(random.below(100)) + 1;
                let taken = receiver.recv_many(&mut batch, limit).await;
                assert_eq!(taken, batch.len());
                if taken == 0 {
                    return;
                }
                batch.drain(..).for_each(|expired| ledger.received(expired));
            }
            _ => match receiver.recv().await {
                Some(expired) => ledger.received(expired),
                None => return,
            },
        }
    }
}

/// Everything in tasks of one runtime.
fn in_one_runtime((sender, receiver): (Sender<Item>, Receiver<Item>)) {
    let ledger = Ledger::new(items());
    let runtime = two_workers();
    runtime.block_on(async {
        let consumers: Vec<_> = (0..CONSUMERS as u64)
            .map(|n| tokio::spawn(consume(receiver.clone(), ledger.clone(), n + 77)))
            .collect();
        drop(receiver);
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|n| tokio::spawn(produce(sender.clone(), ledger.clone(), n)))
            .collect();
        drop(sender);
        for task in producers.into_iter().chain(consumers) {
            timeout(PATIENCE, task).await.expect("hangs").unwrap();
        }
    });
    ledger.check();
}

/// Each producer and each consumer in a runtime of its own.
fn in_many_runtimes((sender, receiver): (Sender<Item>, Receiver<Item>)) {
    let ledger = Ledger::new(items() / 4);
    let start = Arc::new(Barrier::new(PRODUCERS + CONSUMERS));
    let mut threads = Vec::new();
    for n in 0..CONSUMERS as u64 {
        let (receiver, ledger, start) = (receiver.clone(), ledger.clone(), start.clone());
        threads.push(thread::spawn(move || {
            start.wait();
            let consumed = consume(receiver, ledger, n + 77);
            one_thread().block_on(async { timeout(PATIENCE, consumed).await.expect("hangs") });
        }));
    }
    drop(receiver);
    for n in 0..PRODUCERS {
        let (sender, ledger, start) = (sender.clone(), ledger.clone(), start.clone());
        threads.push(thread::spawn(move || {
            start.wait();
            let produced = produce(sender, ledger, n);
            one_thread().block_on(async { timeout(PATIENCE, produced).await.expect("hangs") });
        }));
    }
    drop(sender);
    for thread in threads {
        thread.join().unwrap();
    }
    ledger.check();
}

#[test]
fn an_unbounded_channel_loses_and_doubles_nothing_under_load() {
    in_one_runtime(channel());
}

#[test]
fn a_bounded_channel_loses_and_doubles_nothing_under_load() {
    in_one_runtime(channel_bounded(500));
}

#[test]
fn an_unbounded_channel_between_runtimes_loses_nothing() {
    in_many_runtimes(channel());
}

#[test]
fn a_bounded_channel_between_runtimes_loses_nothing() {
    in_many_runtimes(channel_bounded(100));
}

/// Gives up waiting a few times at once, then waits for as long as it takes.
async fn wait_restlessly(mut receiver: Receiver<Item>, done: mpsc::Sender<()>, seed: u64) {
    let mut random = Random(seed);
    loop {
        for _ in 0..random.below(4) {
            let mut given_up = Box::pin(receiver.recv());
            if let Poll::Ready(item) = poll_fn(|cx| Poll::Ready(given_up.as_mut().poll(cx))).await {
                match item {
                    Some(_) => done.send(()).unwrap(),
                    None => return,
                }
            }
        }
        match receiver.recv().await {
            Some(_) => done.send(()).unwrap(),
            None => return,
        }
    }
}

#[test]
fn a_single_item_is_never_forgotten_however_receivers_come_and_go() {
    let (sender, receiver) = channel();
    let (done, received) = mpsc::channel();
    let mut threads = Vec::new();
    for n in 0..2 {
        let (receiver, done) = (receiver.clone(), done.clone());
        threads.push(thread::spawn(move || {
            one_thread().block_on(async {
                let other =
                    tokio::spawn(wait_restlessly(receiver.clone(), done.clone(), 2 * n + 1));
                wait_restlessly(receiver, done, 2 * n + 2).await;
                other.await.unwrap();
            });
        }));
    }
    drop(receiver);
    let mut random = Random(9);
    for item in 0..items() / 40 {
        let mut micros = || Duration::from_micros(random.below(150));
        let key = sender.insert((item, Instant::now()), micros());
        match item % 4 {
            0 => _ = sender.reset(&key, micros()),
            1 => _ = sender.reset(&key, micros() / 10),
            _ => {}
        }
        // Nothing else happens that could make good for a wake that was lost.
        received
            .recv_timeout(PATIENCE / 10)
            .expect("nobody was woken");
    }
    drop(sender);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}
