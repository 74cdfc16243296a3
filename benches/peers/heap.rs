//! The timer one writes at home: a binary heap under a lock, and a thread that sleeps until its
//! top. Cancelling marks; the mark is met when its deadline comes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use crate::peer::Peer;
use crate::rivals::Within;

/// The one heap of the process.
#[derive(Clone)]
pub(crate) struct Heap(&'static Shared);

struct Shared {
    heap: Mutex<BinaryHeap<Entry>>,
    earliest_changed: Condvar,
}

struct Entry {
    deadline: Instant,
    cell: Arc<Cell>,
}

/// What a sleep and its entry share.
struct Cell(Mutex<State>);

enum State {
    Waiting(Waker),
    Fired,
    Cancelled,
}

/// A timer; it enters the heap at its first poll.
pub(crate) struct HeapSleep {
    heap: Heap,
    deadline: Instant,
    cell: Option<Arc<Cell>>,
}

impl Peer for Heap {
    type Sleep = HeapSleep;

    fn here() -> Self {
        static HEAP: OnceLock<Shared> = OnceLock::new();
        static THREAD: OnceLock<()> = OnceLock::new();
        let shared = HEAP.get_or_init(|| Shared {
            heap: Mutex::new(BinaryHeap::new()),
            earliest_changed: Condvar::new(),
        });
        THREAD.get_or_init(|| {
            thread::spawn(|| fire_for_ever(shared));
        });
        Self(shared)
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        HeapSleep {
            heap: self.clone(),
            deadline,
            cell: None,
        }
    }

    fn timeout<F: Future + Send>(
        &self,
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug + Send>> + Send {
        Within::new(future, self.sleep(duration))
    }

    fn reset(mut sleep: Pin<&mut Self::Sleep>, deadline: Instant) {
        sleep.deadline = deadline;
        if let Some(State::Waiting(waker)) = sleep.cancel() {
            sleep.arm(waker);
        }
    }
}

impl HeapSleep {
    fn arm(&mut self, waker: Waker) {
        let cell = Arc::new(Cell(Mutex::new(State::Waiting(waker))));
        self.cell = Some(cell.clone());
        let deadline = self.deadline;
        let mut heap = lock(&self.heap.0.heap);
        let is_earliest = heap.peek().is_none_or(|top| deadline < top.deadline);
        heap.push(Entry { deadline, cell });
        drop(heap);
        if is_earliest {
            self.heap.0.earliest_changed.notify_one();
        }
    }

    fn cancel(&mut self) -> Option<State> {
        let cell = self.cell.take()?;
        Some(std::mem::replace(&mut *lock(&cell.0), State::Cancelled))
    }
}

impl Future for HeapSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(cell) = &self.cell else {
            self.arm(cx.waker().clone());
            return Poll::Pending;
        };
        match &mut *lock(&cell.0) {
            State::Waiting(waker) => waker.clone_from(cx.waker()),
            State::Fired => return Poll::Ready(()),
            State::Cancelled => unreachable!("only a drop or a reset cancels"),
        }
        Poll::Pending
    }
}

impl Drop for HeapSleep {
    fn drop(&mut self) {
        drop(self.cancel());
    }
}

fn fire_for_ever(shared: &Shared) {
    let mut due = Vec::new();
    loop {
        let mut heap = lock(&shared.heap);
        let now = Instant::now();
        while heap.peek().is_some_and(|top| top.deadline <= now) {
            due.extend(heap.pop());
        }
        if due.is_empty() {
            let next = heap.peek().map_or(Duration::MAX, |top| top.deadline - now);
            drop(shared.earliest_changed.wait_timeout(heap, next));
            continue;
        }
        drop(heap);
        for entry in due.drain(..) {
            if let Some(waker) = entry.cell.fire() {
                waker.wake();
            }
        }
    }
}

impl Cell {
    fn fire(&self) -> Option<Waker> {
        let mut state = lock(&self.0);
        if let State::Waiting(_) = *state
            && let State::Waiting(waker) = std::mem::replace(&mut *state, State::Fired)
        {
            return Some(waker);
        }
        None
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics under this lock")
}

impl Ord for Entry {
    /// The earliest is the greatest, as `BinaryHeap` gives out that.
    fn cmp(&self, other: &Self) -> Ordering {
        other.deadline.cmp(&self.deadline)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.deadline == other.deadline
    }
}

impl Eq for Entry {}
