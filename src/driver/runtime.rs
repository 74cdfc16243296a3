//! The driver of one Tokio runtime.

#![forbid(unsafe_code)]

use core::cell::Cell;
use core::fmt;
use core::task::Waker;

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::clock;
use crate::driver::core::Core;
use crate::driver::local;
use crate::driver::parker::{Guard, Parker};
use crate::driver::registry;
use crate::driver::shared::{Armed, How, Refused, Shared};
use crate::driver::turn::{self, Seat};
use crate::driver::wake_list::run_foreign;
use crate::primitive::{AtomicU32, AtomicU64, Mutex, Ordering};
use crate::sync::pool::NodeId;
use crate::sync::turn_lock::TurnLock;
use crate::tick::Tick;

/// Every so many pushes a thread turns the wheel.
const PUSHES: u32 = 256;
/// Inboxes per driver.
const SHARDS: usize = 8;

/// The choices that a builder offers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Config {
    /// Unlink cancelled timers at once.
    pub(crate) exact_cancel: bool,
}

/// A wheel, its users' side and its alarm; lives for ever, serves one runtime after another.
pub(crate) struct Driver {
    /// Which driver of this process it is.
    index: u32,
    shared: Shared,
    lock: TurnLock<Seat<Parker>>,
    exact_cancel: AtomicU32,
    /// Whose clock is read: 0 is the system's, everything else a runtime that may pause its own.
    clock: AtomicU64,
    /// For spawning work on that runtime, and for reading its clock from outside of it.
    handle: Mutex<Option<Handle>>,
    /// Whether there is a runtime at all.
    has_runtime: AtomicU32,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("generation", &self.shared.generation())
            .field("elapsed", &self.shared.elapsed())
            .finish_non_exhaustive()
    }
}

impl Driver {
    /// A closed driver.
    pub(super) fn new(index: u32) -> Self {
        Self {
            index,
            shared: Shared::new(SHARDS),
            lock: TurnLock::new(Seat {
                core: Core::new(Tick::ZERO),
                park: None,
            }),
            exact_cancel: AtomicU32::new(0),
            clock: AtomicU64::new(0),
            handle: Mutex::new(None),
            has_runtime: AtomicU32::new(0),
        }
    }

    /// Opens a closed driver for the runtime of `handle`.
    ///
    /// # Panics
    ///
    /// Panics, at the caller, if that runtime was built without timers.
    #[track_caller]
    pub(super) fn open(handle: &Handle, config: Config) -> DriverRef {
        let context = handle.enter();
        // First of all, because it panics if there are no timers.
        let sleep = tokio::time::sleep_until(clock::instant_of(Tick::MAX));
        let driver = registry::spare();
        let id = match handle.runtime_flavor() {
            RuntimeFlavor::CurrentThread => clock::runtime_id(handle),
            // Tokio pauses the clock of current-thread runtimes only.
            _ => 0,
        };
        driver.clock.store(id, Ordering::Release);
        *driver.handle.lock() = Some(handle.clone());
        driver.has_runtime.store(1, Ordering::Release);
        driver
            .exact_cancel
            .store(u32::from(config.exact_cancel), Ordering::Release);
        let timer = DriverRef {
            driver,
            generation: driver.shared.generation(),
        };
        turn::open(
            &driver.shared,
            &driver.lock,
            Core::new(clock::context_now()),
            Parker::new(driver, sleep),
        );
        drop(context);
        // A runtime that is shutting down drops the guard at once, and so closes the timer.
        handle.spawn(Guard::new(timer));
        timer
    }

    /// Whether an alarm for nothing may not stay: it would show as a step of a paused clock.
    pub(super) fn is_exact(&self) -> bool {
        self.exact_cancel.load(Ordering::Relaxed) != 0
    }

    /// A Tokio sleep that is not armed, for a runtime that may pause its clock.
    pub(super) fn unarmed_sleep(&self) -> Option<tokio::time::Sleep> {
        if self.clock.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let handle = self.handle.lock().clone()?;
        clock::may_enter().then(|| {
            let _context = handle.enter();
            tokio::time::sleep_until(clock::instant_of(Tick::MAX))
        })
    }

    /// Turns the wheel, or leaves a note for the thread that does.
    pub(super) fn turn(&'static self) {
        turn::turn(&self.shared, &self.lock);
    }

    /// Notes that the alarm has gone off, and turns.
    pub(super) fn alarm(&'static self) {
        self.shared.bell().go_off();
        self.turn();
    }

    /// Which driver of this process it is: [`registry::driver`] finds it by this.
    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    #[inline]
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The time of this driver's runtime, from whatever thread it is read.
    ///
    /// A thread that is ending cannot ask a runtime that may have paused its clock. It gets the
    /// time of the latest turn: what fires by that is never early.
    #[inline]
    pub(super) fn now(&self) -> Tick {
        self.known_now().unwrap_or_else(|| self.shared.elapsed())
    }

    /// As [`now`](Self::now), for a delay to be counted from: where the time is not known, one
    /// that makes the delay no shorter unless the clock was paused.
    #[inline]
    fn start(&self) -> Tick {
        self.known_now()
            .unwrap_or_else(|| self.shared.elapsed().max(clock::system_now()))
    }

    #[inline]
    fn known_now(&self) -> Option<Tick> {
        match self.clock.load(Ordering::Relaxed) {
            0 => Some(clock::system_now()),
            id if clock::context() == Some(id) => Some(clock::context_now()),
            _ => self.now_from_outside(),
        }
    }

    #[cold]
    fn now_from_outside(&self) -> Option<Tick> {
        let handle = self.handle.lock().clone()?;
        clock::may_enter().then(|| {
            let _context = handle.enter();
            clock::context_now()
        })
    }
}

/// A driver in one of its generations: what handles and timers hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DriverRef {
    pub(crate) driver: &'static Driver,
    pub(crate) generation: u32,
}

impl PartialEq for DriverRef {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.driver, other.driver) && self.generation == other.generation
    }
}

impl DriverRef {
    /// Whether the runtime has ended, or the timer was closed.
    #[inline]
    pub(crate) fn is_closed(self) -> bool {
        self.driver.shared.is_closed(self.generation)
    }

    /// The time of this timer's runtime.
    #[inline]
    pub(crate) fn now(self) -> Tick {
        self.driver.now()
    }

    /// The time that a delay which begins now is counted from.
    #[inline]
    pub(crate) fn start(self) -> Tick {
        self.driver.start()
    }

    /// Whether this is the clock of a runtime that may pause and advance it.
    #[inline]
    pub(crate) fn clock_may_jump(self) -> bool {
        self.driver.clock.load(Ordering::Relaxed) != 0
    }

    /// The time of the latest turn: nothing with a later deadline has fired.
    #[inline]
    pub(crate) fn elapsed(self) -> Tick {
        self.driver.shared.elapsed()
    }

    /// The deadline that the driver sleeps until.
    #[inline]
    pub(crate) fn parked(self) -> Tick {
        self.driver.shared.bell().deadline()
    }

    /// Turns the wheel, or leaves a note for the thread that does.
    #[cold]
    pub(crate) fn turn(self) {
        self.driver.turn();
    }

    /// Whether work of this timer runs on the timer's own runtime.
    #[inline]
    pub(crate) fn has_runtime(self) -> bool {
        self.driver.has_runtime.load(Ordering::Acquire) != 0
    }

    /// The runtime of this timer, unless that has ended.
    pub(crate) fn runtime(self) -> Option<Handle> {
        let handle = self.driver.handle.lock().clone()?;
        // It may be that of the next generation, which came only after this one was retired.
        (!self.is_closed()).then_some(handle)
    }

    /// Arms a timer; `None` if this timer is closed. Tells as well whether a turn was run for it,
    /// which may have fired it.
    #[inline]
    pub(crate) fn arm(self, deadline: Tick, waker: &Waker) -> Option<(NodeId, bool)> {
        // The user's code: before anything is borrowed or changed.
        let waker = waker.clone();
        match self.arm_quietly(deadline, waker) {
            Ok((node, turn)) => {
                if turn {
                    self.turn();
                }
                Some((node, turn))
            }
            Err(Refused { waker, ring }) => {
                if ring {
                    self.turn();
                }
                drop(waker);
                None
            }
        }
    }

    /// As [`arm`](Self::arm), for callers that hold a lock: tells whether the wheel has to be
    /// turned, which is left to them. Here and in the next two no foreign code runs.
    #[inline]
    pub(crate) fn arm_quietly(
        self,
        deadline: Tick,
        waker: Waker,
    ) -> Result<(NodeId, bool), Refused> {
        let armed = local::with(self.driver, |local| {
            let mut armed = self.driver.shared.arm(
                &mut local.cache,
                local.shard,
                self.generation,
                deadline,
                waker,
            )?;
            if armed.how == How::Pushed {
                local.pushes = local.pushes.wrapping_add(1);
                if local.pushes.is_multiple_of(PUSHES) {
                    armed.how = How::Ring;
                }
            }
            Ok(armed)
        });
        armed.map(|Armed { node, how }| (node, how == How::Ring))
    }

    /// Moves the deadline of an armed timer.
    pub(crate) fn reset(self, node: NodeId, old: Tick, new: Tick) {
        if self.reset_quietly(node, old, new) {
            self.turn();
        }
    }

    /// As [`reset`](Self::reset); tells whether the caller has to turn the wheel.
    pub(crate) fn reset_quietly(self, node: NodeId, old: Tick, new: Tick) -> bool {
        local::with(self.driver, |local| {
            self.driver.shared.reset(local.shard, node, old, new)
        })
    }

    /// Ends a timer, whether it has fired or not, and drops its waker.
    #[inline]
    pub(crate) fn cancel(self, node: NodeId) {
        let (waker, turn) = self.cancel_quietly(node);
        if turn {
            self.turn();
        }
        drop(waker);
    }

    /// As [`cancel`](Self::cancel); gives back the waker if it had not fired, and tells whether the
    /// caller has to turn the wheel.
    #[inline]
    pub(crate) fn cancel_quietly(self, node: NodeId) -> (Option<Waker>, bool) {
        if self.driver.is_exact() {
            return self.cancel_exactly(node);
        }
        let waker = local::with(self.driver, |local| {
            self.driver.shared.cancel(&mut local.cache, node)
        });
        (waker, false)
    }

    #[cold]
    fn cancel_exactly(self, node: NodeId) -> (Option<Waker>, bool) {
        local::with(self.driver, |local| {
            self.driver
                .shared
                .cancel_exactly(&mut local.cache, local.shard, node)
        })
    }

    /// Ends this generation: everything pending is woken and finds the timer closed.
    pub(crate) fn close(self) {
        let Self { driver, generation } = self;
        let Some(parker) = turn::close(&driver.shared, &driver.lock, generation) else {
            return;
        };
        registry::forget(self);
        let handle = driver.handle.lock().take();
        // Dropping the last handle of a runtime may run the user's code.
        run_foreign(|| drop((parker, handle)));
        registry::recycle(driver);
        announce("timer closed", generation);
    }
}

/// Tells a subscriber of `tracing`, which is foreign code that may use a timer for it: what opens
/// or closes a timer in the middle of that is not told.
pub(super) fn announce(event: &'static str, generation: u32) {
    thread_local! {
        static ANNOUNCING: Cell<bool> = const { Cell::new(false) };
    }
    let nested = ANNOUNCING.try_with(|announcing| announcing.replace(true));
    if nested.unwrap_or(true) {
        return;
    }
    run_foreign(|| tracing::debug!(target: "cogwheel", generation, "{event}"));
    let _ = ANNOUNCING.try_with(|announcing| announcing.set(false));
}
