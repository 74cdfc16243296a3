//! The driver: a wheel, its users' side, its alarm and its clock.

#![forbid(unsafe_code)]

mod reference;

use core::fmt;
use core::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::AbortHandle;

use crate::clock;
use crate::driver::alarm::{Alarm, Kind};
use crate::driver::core::Core;
use crate::driver::counts::Report;
use crate::driver::events;
use crate::driver::keeper::Keeper;
use crate::driver::ledger::Ledger;
use crate::driver::nesting;
use crate::driver::parker::{Guard, Parker};
use crate::driver::places::Places;
use crate::driver::registry;
use crate::driver::shared::Shared;
use crate::driver::turn::{self, Outside, Seat};
#[cfg(feature = "tracing-spans")]
use crate::driver::wake_list::WakeList;
use crate::primitive::{Arc, AtomicU32, AtomicU64, Mutex, Ordering, Weak};
use crate::sync::turn_lock::TurnLock;
use crate::tick::Tick;

pub(crate) use self::reference::{DriverRef, Place};

/// Inboxes per driver.
const SHARDS: usize = 8;

/// The choices that a builder offers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Config {
    /// Unlink cancelled timers at once.
    pub(crate) exact_cancel: bool,
    /// Release the waker of a cancelled timer at once.
    pub(crate) release_wakers: bool,
    /// Wake at multiples of this alone; zero is off.
    pub(crate) coalesce: Duration,
    /// So many timers may live at once, if there is a bound.
    pub(crate) max_timers: Option<u32>,
    /// Tell of timers that fire later than this, if any.
    pub(crate) warn_when_late: Option<Duration>,
}

/// Unlink cancelled timers at once.
const EXACT: u32 = 1;
/// Release the waker of a cancelled timer at once.
const RELEASE: u32 = 1 << 1;

impl Config {
    fn bits(self) -> u32 {
        let mut bits = 0;
        if self.exact_cancel {
            bits |= EXACT;
        }
        if self.release_wakers {
            bits |= RELEASE;
        }
        bits
    }
}

/// Set in a [`label`](Driver::label) if deadlines are coalesced. Two lower bits are the user's.
pub(crate) const COALESCES: u32 = 1 << 2;
/// Where the index begins in a label.
const INDEX: u32 = 3;
/// Set in a label if so many timers may live at once and no more. At the upper end, where cutting it
/// off together with the lower ones takes one instruction.
pub(crate) const BOUNDED: u32 = 1 << 31;

/// The index in a label.
#[inline]
const fn index_in(label: u32) -> u32 {
    (label & !BOUNDED) >> INDEX
}

/// Whether two labels, of whatever generations, are of the same driver.
#[inline]
pub(super) const fn is_same_driver(one: u32, other: u32) -> bool {
    index_in(one ^ other) == 0
}

/// A wheel, its users' side and its alarm; lives for ever, serves one runtime after another.
pub(crate) struct Driver {
    /// Which driver of this process it is, whether it coalesces and whether it has a bound.
    label: AtomicU32,
    kind: Kind,
    shared: Shared,
    lock: TurnLock<Seat<Alarm>>,
    /// What to do with a cancelled timer: the bits above.
    cancel: AtomicU32,
    /// Whose clock is read: the system's, the manual one below, or that of a runtime which may
    /// pause its own.
    clock: AtomicU64,
    /// The manual clock.
    time: AtomicU64,
    /// What deadlines are multiples of, in ticks, if they are coalesced.
    grid: AtomicU64,
    /// For its timers, if it has a bound.
    places: Places,
    /// What each thread has done with its timers.
    ledger: Ledger,
    home: Mutex<Home>,
}

/// What a driver has of the runtime or the thread that it belongs to.
#[derive(Debug, Default)]
struct Home {
    /// For spawning work on that runtime, and for reading its clock from outside of it.
    handle: Option<Handle>,
    /// Ends the guard task.
    guard: Option<AbortHandle>,
    /// What the handles of a timer with a thread share.
    keeper: Weak<Keeper>,
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
    pub(super) fn new(index: u32, kind: Kind) -> Self {
        let clock = match kind {
            Kind::Runtime | Kind::Thread => clock::SYSTEM,
            Kind::Manual => clock::MANUAL,
        };
        Self {
            label: AtomicU32::new(index << INDEX),
            kind,
            shared: Shared::new(SHARDS),
            lock: TurnLock::new(Seat {
                core: Core::new(Tick::ZERO),
                park: None,
            }),
            cancel: AtomicU32::new(0),
            clock: AtomicU64::new(clock),
            time: AtomicU64::new(0),
            grid: AtomicU64::new(0),
            places: Places::new(),
            ledger: Ledger::new(),
            home: Mutex::new(Home::default()),
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
        let driver = registry::spare(Kind::Runtime);
        let id = match handle.runtime_flavor() {
            RuntimeFlavor::CurrentThread => clock::runtime_id(handle),
            // Tokio pauses the clock of current-thread runtimes only.
            _ => clock::SYSTEM,
        };
        driver.clock.store(id, Ordering::Release);
        driver.home.lock().handle = Some(handle.clone());
        let alarm = Alarm::Runtime(Parker::new(driver, sleep));
        let timer = driver.begin(config, clock::context_now(), alarm);
        drop(context);
        // A runtime that is shutting down drops the guard at once, and so closes the timer.
        let guard = handle.spawn(Guard::new(timer)).abort_handle();
        let mut home = driver.home.lock();
        // `close` retires the generation before it takes the guard from there.
        if timer.is_closed() {
            drop(home);
            guard.abort();
        } else {
            home.guard = Some(guard);
        }
        timer
    }

    /// Opens a closed driver of the caller's on a wheel that begins at `now`.
    pub(super) fn begin(&'static self, config: Config, now: Tick, alarm: Alarm) -> DriverRef {
        let generation = self.shared.generation();
        self.cancel.store(config.bits(), Ordering::Release);
        let grid = Tick::ZERO.after(config.coalesce).count();
        self.grid.store(grid, Ordering::Release);
        let coalesces = if grid > 1 { COALESCES } else { 0 };
        let bounded = config.max_timers.map_or(0, |most| {
            self.places.open(generation, most);
            BOUNDED
        });
        let index = self.index() << INDEX;
        self.label
            .store(index | coalesces | bounded, Ordering::Release);
        let mut core = Core::new(now);
        if let Some(late) = config.warn_when_late {
            core.tell_when_later_than(Tick::ZERO.after(late).count());
        }
        self.ledger.begin();
        turn::open(&self.shared, &self.lock, core, alarm);
        DriverRef {
            driver: self,
            generation,
        }
    }

    pub(super) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn set_keeper(&self, keeper: &Arc<Keeper>) {
        self.home.lock().keeper = Arc::downgrade(keeper);
    }

    /// From now on a cancelled timer leaves the wheel at once.
    pub(super) fn set_exact(&self) {
        self.cancel.store(EXACT, Ordering::Release);
    }

    /// Whether an alarm for nothing may not stay: it would show as a step of a paused clock.
    pub(super) fn is_exact(&self) -> bool {
        self.cancel.load(Ordering::Relaxed) & EXACT != 0
    }

    /// A Tokio sleep that is not armed, for a runtime that may pause its clock.
    pub(super) fn unarmed_sleep(&self) -> Option<tokio::time::Sleep> {
        if self.clock.load(Ordering::Relaxed) == clock::SYSTEM {
            return None;
        }
        let handle = self.home.lock().handle.clone()?;
        clock::may_enter().then(|| {
            let _context = handle.enter();
            tokio::time::sleep_until(clock::instant_of(Tick::MAX))
        })
    }

    /// Turns the wheel, or leaves a note for the thread that does.
    pub(super) fn turn(&'static self) {
        let Some(inside) = nesting::enter(self.index()) else {
            return;
        };
        turn::turn(&self.shared, &self.lock, &inside);
    }

    /// Whether this call is made by a waker that a turn of this thread runs.
    pub(super) fn is_turning_here(&self) -> bool {
        nesting::is_inside(self.index())
    }

    /// Notes that the alarm has gone off, and turns.
    pub(super) fn alarm(&'static self) {
        self.ledger.alarm();
        self.shared.bell().go_off();
        self.turn();
    }

    /// Which driver of this process it is.
    fn index(&self) -> u32 {
        index_in(self.label())
    }

    /// Which driver of this process it is, for [`DriverRef::of_label`], and whether it
    /// [`COALESCES`] or is [`BOUNDED`].
    #[inline]
    pub(crate) fn label(&self) -> u32 {
        // ORDERING: it changes only while the driver is closed, and who has a timer of a generation
        // comes after that generation was opened.
        self.label.load(Ordering::Relaxed)
    }

    /// The time of the manual clock.
    #[inline]
    pub(super) fn time(&self) -> Tick {
        Tick::new(self.time.load(Ordering::Acquire))
    }

    /// Moves the manual clock. Under the turn lock, or while the driver is closed.
    pub(super) fn set_time(&self, now: Tick) {
        self.time.store(now.count(), Ordering::Release);
    }

    #[inline]
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// What each thread has done with the timers of this driver.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
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

    /// As [`start`](Self::start), for a thread that is in the runtime with this number.
    #[inline]
    pub(super) fn start_in(&self, runtime: u64) -> Tick {
        match self.clock.load(Ordering::Relaxed) {
            clock::SYSTEM => clock::system_now(),
            own if own == runtime => clock::context_now(),
            _ => self.start(),
        }
    }

    #[inline]
    fn known_now(&self) -> Option<Tick> {
        match self.clock.load(Ordering::Relaxed) {
            clock::SYSTEM => Some(clock::system_now()),
            other => self.now_of(other),
        }
    }

    /// The time of a clock that may stand still. Kept out of the way of the one that does not.
    #[inline(never)]
    fn now_of(&self, clock: u64) -> Option<Tick> {
        match clock {
            clock::MANUAL => Some(self.time()),
            id if clock::context() == Some(id) => Some(clock::context_now()),
            _ => self.now_from_outside(),
        }
    }

    #[cold]
    fn now_from_outside(&self) -> Option<Tick> {
        let handle = self.home.lock().handle.clone()?;
        clock::may_enter().then(|| {
            let _context = handle.enter();
            clock::context_now()
        })
    }
}

impl Outside for nesting::Inside {
    fn noted(&self) -> bool {
        self.take_note()
    }

    #[cfg(feature = "tracing-spans")]
    fn wake(&self, wakes: &mut WakeList) {
        events::in_span(|| wakes.wake_all());
    }

    fn tell(&self, report: &Report) {
        events::turned(report);
    }
}
