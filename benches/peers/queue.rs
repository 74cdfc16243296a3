//! Queues of things that come due: fill, remove half, drain.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::{Instant, sleep_until};

use crate::load::{Bound, Load};
use crate::measure::{Mark, Metrics};
use crate::peer::Name;
use crate::world::{Place, Random, Scale};

/// The loads of this file.
pub(crate) fn loads() -> Vec<Load> {
    vec![
        Load {
            name: "j",
            about: "queue of 1M: insert all, remove every other, drain the rest once it is due",
            peers: &[Name::TokioUtil, Name::Cogwheel, Name::Heap],
            base: Name::TokioUtil,
            main: "cpu ns/item",
            goals: Vec::new(),
            more_is_better: false,
            slow: false,
            run: Box::new(run),
        }
        .goal(Name::Cogwheel, "cpu ns/item", Bound::Times(0.60)),
    ]
}

fn run(name: Name, scale: Scale) -> Metrics {
    let work = async move {
        match name {
            Name::TokioUtil => {
                fill_and_drain(tokio_util::time::DelayQueue::<u32>::new(), scale).await
            }
            Name::Cogwheel => fill_and_drain(cogwheel::DelayQueue::<u32>::new(), scale).await,
            _ => fill_and_drain(MarkedHeap::default(), scale).await,
        }
    };
    Place::CurrentThread.build().block_on(unconstrained(work))
}

/// A queue of things that come due.
trait Queue {
    type Key;

    fn insert(&mut self, value: u32, when: Instant) -> Self::Key;
    fn remove(&mut self, key: &Self::Key);
    fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<u32>>;
}

async fn fill_and_drain<Q: Queue>(mut queue: Q, scale: Scale) -> Metrics {
    let items = u32::try_from(scale.of(1_000_000)).expect("a million");
    let mut random = Random::new(1);
    let span = Duration::from_micros(scale.of(2_000_000));
    // Late enough for all to be in before the first is due.
    let start = Instant::now() + span;
    let deadlines: Vec<Instant> = (0..items)
        .map(|_| start + random.between(Duration::ZERO, span))
        .collect();
    let whole = Mark::now();
    let insert = Mark::now();
    let mut keys = Vec::with_capacity(deadlines.len());
    for (value, &deadline) in (0..).zip(&deadlines) {
        keys.push(queue.insert(value, deadline));
    }
    let inserted = insert.cpu_seconds();
    let remove = Mark::now();
    for key in keys.iter().step_by(2) {
        queue.remove(key);
    }
    let removed = remove.cpu_seconds();
    sleep_until(start + span + Duration::from_millis(5)).await;
    let drain = Mark::now();
    let mut drained = 0;
    while poll_fn(|cx| queue.poll_expired(cx)).await.is_some() {
        drained += 1;
    }
    assert_eq!(drained, items / 2, "every other one was left");
    let drain = drain.cpu_seconds();
    let items = f64::from(items);
    let allocations = whole
        .per_op(u64::from(drained) * 2)
        .into_iter()
        .filter(|(name, _)| *name == "allocations/op");
    let mut metrics = vec![
        ("cpu ns/item", (inserted + removed + drain) * 1e9 / items),
        ("insert ns", inserted * 1e9 / items),
        ("remove ns", removed * 2e9 / items),
        ("drain ns", drain * 2e9 / items),
    ];
    metrics.extend(allocations);
    metrics
}

impl Queue for tokio_util::time::DelayQueue<u32> {
    type Key = tokio_util::time::delay_queue::Key;

    fn insert(&mut self, value: u32, when: Instant) -> Self::Key {
        self.insert_at(value, when)
    }

    fn remove(&mut self, key: &Self::Key) {
        self.remove(key);
    }

    fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<u32>> {
        self.poll_expired(cx)
            .map(|item| item.map(|expired| expired.into_inner()))
    }
}

impl Queue for cogwheel::DelayQueue<u32> {
    type Key = cogwheel::delay_queue::Key;

    fn insert(&mut self, value: u32, when: Instant) -> Self::Key {
        self.insert_at(value, when)
    }

    fn remove(&mut self, key: &Self::Key) {
        self.remove(key);
    }

    fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<u32>> {
        self.poll_expired(cx)
            .map(|item| item.map(|expired| expired.into_inner()))
    }
}

/// A heap cannot remove; it marks, and pays when it meets the mark. It cannot wait either.
#[derive(Default)]
struct MarkedHeap {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
    removed: Vec<bool>,
}

impl Queue for MarkedHeap {
    type Key = usize;

    fn insert(&mut self, value: u32, when: Instant) -> usize {
        self.heap.push(Reverse((when, value)));
        self.removed.push(false);
        self.removed.len() - 1
    }

    fn remove(&mut self, key: &usize) {
        self.removed[*key] = true;
    }

    fn poll_expired(&mut self, _: &mut Context<'_>) -> Poll<Option<u32>> {
        while let Some(Reverse((when, value))) = self.heap.pop() {
            let index = usize::try_from(value).expect("an index");
            if !self.removed[index] {
                assert!(when <= Instant::now(), "all are due");
                return Poll::Ready(Some(value));
            }
        }
        Poll::Ready(None)
    }
}
