//! The tasks: what they do when they are woken.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use cogwheel::time::Sleep;
use cogwheel::{ManualClock, Timer};
use tokio::time::Instant;

use super::model::echo;

/// A wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) at: Instant,
    pub(super) task: usize,
}

/// What tasks see of the world.
#[derive(Debug)]
pub(super) struct Outside {
    timer: Mutex<Timer>,
    clock: Mutex<Option<ManualClock>>,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    events: Vec<Event>,
    /// How many there ever were.
    count: usize,
}

impl Outside {
    pub(super) fn new(clock: &ManualClock) -> Arc<Self> {
        Arc::new(Self {
            timer: Mutex::new(clock.timer()),
            clock: Mutex::new(Some(clock.clone())),
            log: Mutex::default(),
        })
    }

    /// Another timer takes the place of one that was closed.
    pub(super) fn renew(&self, clock: &ManualClock) {
        *lock(&self.timer) = clock.timer();
        *lock(&self.clock) = Some(clock.clone());
    }

    pub(super) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut lock(&self.log).events)
    }

    pub(super) fn count(&self) -> usize {
        lock(&self.log).count
    }

    pub(super) fn count_pending(&self) -> usize {
        lock(&self.log).events.len()
    }

    fn woken(&self, task: usize) {
        let at = lock(&self.timer).now();
        let mut log = lock(&self.log);
        log.count += 1;
        log.events.push(Event { at, task });
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Counter,
    /// Panics.
    Panicker,
    /// Arms a timer so far ahead.
    Armer(Duration),
    /// Moves the clock.
    Mover(Duration),
}

#[derive(Debug)]
pub(super) struct Task {
    number: usize,
    kind: Kind,
    outside: Arc<Outside>,
    /// The armer's timers.
    sleeps: Mutex<Vec<Sleep>>,
}

impl Task {
    pub(super) fn new(number: usize, kind: Kind, outside: &Arc<Outside>) -> Arc<Self> {
        Arc::new(Self {
            number,
            kind,
            outside: Arc::clone(outside),
            sleeps: Mutex::default(),
        })
    }

    /// Drops what it has armed.
    pub(super) fn rest(&self) {
        drop(std::mem::take(&mut *lock(&self.sleeps)));
    }

    fn arm(&self, delay: Duration) {
        let timer = lock(&self.outside.timer).clone();
        if timer.is_closed() {
            return;
        }
        let mut sleep = timer.sleep(delay);
        let echo = Self::new(echo(self.number), Kind::Counter, &self.outside);
        let waker = Waker::from(echo);
        let polled = Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending(), "a timer that was armed ahead is ready");
        lock(&self.sleeps).push(sleep);
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.outside.woken(self.number);
        match self.kind {
            Kind::Counter => {}
            // Past the panic hook, which ends the process under libFuzzer.
            Kind::Panicker => resume_unwind(Box::new("a waker panics")),
            Kind::Armer(delay) => self.arm(delay),
            Kind::Mover(step) => {
                let clock = lock(&self.outside.clock).clone();
                if let Some(clock) = clock {
                    clock.advance(step);
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
