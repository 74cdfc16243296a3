//! Which runtime has which driver, and the drivers that wait for their next runtime.

#![forbid(unsafe_code)]

use core::cell::Cell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::runtime::Handle;

use crate::clock;
use crate::driver::alarm::Kind;
use crate::driver::events;
use crate::driver::keeper::Keeper;
use crate::driver::runtime::{Config, Driver, DriverRef};
use crate::error::TimerError;
use crate::primitive::counter::{AtomicU32, Ordering};
use crate::primitive::{Arc, Mutex, OnceLock};
use crate::tick::Tick;

/// The default timers, by the id of their runtime.
static TIMERS: Mutex<BTreeMap<u64, Default>> = Mutex::new(BTreeMap::new());
/// How often a runtime was given another default timer, which threads may not have heard of.
static CHANGES: AtomicU32 = AtomicU32::new(0);
/// All drivers there are. Most processes have few runtimes at a time.
static FIRST: [OnceLock<&'static Driver>; 64] = [const { OnceLock::new() }; 64];
/// Those beyond the first.
static MORE: Mutex<Vec<&'static Driver>> = Mutex::new(Vec::new());
/// Closed drivers.
static SPARE: Mutex<Vec<&'static Driver>> = Mutex::new(Vec::new());

thread_local! {
    /// The runtime this thread asked for last. One task can see several runtimes, and a thread
    /// many, so the id is compared each time.
    static LATEST: Cell<Option<Latest>> = const { Cell::new(None) };
}

/// What a thread remembers.
#[derive(Clone, Copy)]
struct Latest {
    id: u64,
    timer: DriverRef,
    /// The count of [`CHANGES`] at that time.
    changes: u32,
}

/// The timer that the free functions use in one runtime.
pub(super) struct Default {
    timer: DriverRef,
    /// A timer with a thread of its own is kept as if by a handle.
    _keeper: Option<Arc<Keeper>>,
}

/// The timer of the current runtime, made on first use.
///
/// # Panics
///
/// Panics, at the caller, outside of a runtime or in one without timers.
#[track_caller]
pub(crate) fn current() -> DriverRef {
    let handle = Handle::current();
    let id = clock::runtime_id(&handle);
    match latest(id) {
        Some(timer) => timer,
        None => find(&handle, id),
    }
}

/// As [`current`], and the time that a delay which begins now is counted from.
#[inline]
#[track_caller]
pub(crate) fn current_and_time() -> (DriverRef, Tick) {
    let handle = Handle::current();
    let id = clock::runtime_id(&handle);
    let timer = match latest(id) {
        Some(timer) => timer,
        None => find(&handle, id),
    };
    (timer, timer.driver.start_in(id))
}

/// The time by the clock of the timer that the free functions use here: Tokio's, unless a timer
/// with a clock of its own was chosen.
#[inline]
pub(crate) fn now() -> Tick {
    // ORDERING: as in `make_default`.
    if CHANGES.load(Ordering::Relaxed) == 0 {
        return clock::context_now();
    }
    chosen().map_or_else(clock::context_now, DriverRef::now)
}

/// `now() + delay`, or a tick that is practically never if that overflows.
#[inline]
pub(crate) fn deadline_in(delay: Duration) -> Tick {
    now().after(delay)
}

/// The timer of the current runtime, if there is one already.
#[cold]
fn chosen() -> Option<DriverRef> {
    let handle = Handle::try_current().ok()?;
    let id = clock::runtime_id(&handle);
    let known = || TIMERS.lock().get(&id).map(|known| known.timer);
    latest(id).or_else(known).filter(|timer| !timer.is_closed())
}

/// As [`current`], with an error instead of the panic.
pub(crate) fn try_current() -> Result<DriverRef, TimerError> {
    let handle = Handle::try_current().map_err(|_| TimerError::NoRuntime)?;
    try_of(&handle)
}

/// The timer of the runtime of `handle`, made on first use.
pub(crate) fn try_of(handle: &Handle) -> Result<DriverRef, TimerError> {
    let id = clock::runtime_id(handle);
    if let Some(timer) = latest(id) {
        return Ok(timer);
    }
    // Tokio has no question for "are there timers?" that does not panic.
    catch_unwind(AssertUnwindSafe(|| find(handle, id))).map_err(|_| TimerError::TimeDisabled)
}

/// A timer of its own for the runtime of `handle`, which nobody finds by looking for it.
pub(crate) fn open(handle: &Handle, config: Config) -> Result<DriverRef, TimerError> {
    catch_unwind(AssertUnwindSafe(|| Driver::open(handle, config)))
        .map_err(|_| TimerError::TimeDisabled)
}

/// Makes `timer` the default one of the runtime of `handle`.
///
/// # Errors
///
/// [`TimerError::Closed`] if it is closed.
pub(crate) fn make_default(handle: &Handle, timer: DriverRef) -> Result<(), TimerError> {
    let id = clock::runtime_id(handle);
    let chosen = Default {
        timer,
        _keeper: timer.keeper(),
    };
    let mut timers = TIMERS.lock();
    // Whoever closes it has it forgotten afterwards.
    if timer.is_closed() {
        return Err(TimerError::Closed);
    }
    let before = timers.insert(id, chosen);
    drop(timers);
    drop(before);
    // ORDERING: what happens after this call sees it; at the same time either timer will do.
    CHANGES.fetch_add(1, Ordering::Relaxed);
    // The timer may outlive the runtime.
    handle.spawn(Tenant { id, timer });
    Ok(())
}

/// A task that waits for ever; its drop tells that the runtime needs no default timer any more.
struct Tenant {
    id: u64,
    timer: DriverRef,
}

impl Future for Tenant {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Drop for Tenant {
    fn drop(&mut self) {
        let mut timers = TIMERS.lock();
        let mine = timers.get(&self.id).map(|found| found.timer) == Some(self.timer);
        let forgotten = if mine { timers.remove(&self.id) } else { None };
        drop(timers);
        drop(forgotten);
    }
}

#[inline]
fn latest(id: u64) -> Option<DriverRef> {
    let latest = LATEST.try_with(Cell::get).ok().flatten()?;
    let known = latest.id == id && latest.changes == CHANGES.load(Ordering::Relaxed);
    (known && !latest.timer.is_closed()).then_some(latest.timer)
}

#[cold]
#[track_caller]
fn find(handle: &Handle, id: u64) -> DriverRef {
    // Before the look at what may change.
    let changes = CHANGES.load(Ordering::Relaxed);
    let known = TIMERS.lock().get(&id).map(|found| found.timer);
    let timer = match known {
        Some(timer) if !timer.is_closed() => timer,
        _ => {
            let opened = keep(id, Driver::open(handle, Config::default()));
            events::announce("timer opened", opened.generation);
            opened
        }
    };
    // A thread that is ending looks it up each time.
    let found = Latest { id, timer, changes };
    let _ = LATEST.try_with(|latest| latest.set(Some(found)));
    timer
}

/// Registers a new timer, unless another thread was faster.
fn keep(id: u64, opened: DriverRef) -> DriverRef {
    let mut timers = TIMERS.lock();
    match timers.get(&id).map(|found| found.timer) {
        Some(first) if !first.is_closed() => {
            drop(timers);
            opened.close();
            first
        }
        _ => {
            // A runtime that is shutting down has closed it already: then there is no use in
            // keeping it, and its driver may soon be another's.
            if !opened.is_closed() {
                let opened = Default {
                    timer: opened,
                    _keeper: None,
                };
                timers.insert(id, opened);
            }
            opened
        }
    }
}

/// Removes a timer that is closed; what was kept for it is to be dropped by the caller.
pub(super) fn forget(timer: DriverRef) -> Vec<Default> {
    let mut timers = TIMERS.lock();
    let of_it = |(id, known): (&u64, &Default)| (known.timer == timer).then_some(*id);
    let ids: Vec<u64> = timers.iter().filter_map(of_it).collect();
    ids.iter().filter_map(|id| timers.remove(id)).collect()
}

/// Takes back a driver that nobody turns any more.
pub(super) fn recycle(driver: &'static Driver) {
    SPARE.lock().push(driver);
}

/// A closed driver of this kind, which is the caller's to open.
pub(super) fn spare(kind: Kind) -> &'static Driver {
    let spare = {
        let mut spares = SPARE.lock();
        let place = spares.iter().rposition(|driver| driver.kind() == kind);
        place.map(|place| spares.swap_remove(place))
    };
    spare.unwrap_or_else(|| add(kind))
}

/// The driver with this index.
#[inline]
pub(crate) fn driver(index: u32) -> &'static Driver {
    match FIRST.get(index as usize).and_then(OnceLock::get) {
        Some(driver) => driver,
        None => driver_beyond(index),
    }
}

#[cold]
fn driver_beyond(index: u32) -> &'static Driver {
    MORE.lock()[index as usize - FIRST.len()]
}

/// Makes a driver, which lives for ever.
fn add(kind: Kind) -> &'static Driver {
    let mut more = MORE.lock();
    let place = FIRST.iter().position(|first| first.get().is_none());
    let index = place.unwrap_or(FIRST.len() + more.len());
    let index = u32::try_from(index).expect("there is memory for less than four billion drivers");
    let driver: &'static Driver = Box::leak(Box::new(Driver::new(index, kind)));
    match place {
        Some(place) => {
            FIRST[place].get_or_init(|| driver);
        }
        None => more.push(driver),
    }
    driver
}
