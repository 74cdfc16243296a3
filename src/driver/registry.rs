//! Which runtime has which driver, and the drivers that wait for their next runtime.

#![forbid(unsafe_code)]

use core::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::runtime::Handle;

use crate::clock;
use crate::driver::runtime::{self, Config, Driver, DriverRef};
use crate::error::TimerError;
use crate::primitive::{Mutex, OnceLock};

/// The default timers, by the id of their runtime.
static TIMERS: Mutex<BTreeMap<u64, DriverRef>> = Mutex::new(BTreeMap::new());
/// All drivers there are. Most processes have few runtimes at a time.
static FIRST: [OnceLock<&'static Driver>; 64] = [const { OnceLock::new() }; 64];
/// Those beyond the first.
static MORE: Mutex<Vec<&'static Driver>> = Mutex::new(Vec::new());
/// Closed drivers.
static SPARE: Mutex<Vec<&'static Driver>> = Mutex::new(Vec::new());

thread_local! {
    /// The runtime this thread asked for last. One task can see several runtimes, and a thread
    /// many, so the id is compared each time.
    static LATEST: Cell<Option<(u64, DriverRef)>> = const { Cell::new(None) };
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

fn latest(id: u64) -> Option<DriverRef> {
    let (of, timer) = LATEST.try_with(Cell::get).ok().flatten()?;
    (of == id && !timer.is_closed()).then_some(timer)
}

#[cold]
#[track_caller]
fn find(handle: &Handle, id: u64) -> DriverRef {
    let known = TIMERS.lock().get(&id).copied();
    let timer = match known {
        Some(timer) if !timer.is_closed() => timer,
        _ => {
            let opened = keep(id, Driver::open(handle, Config::default()));
            runtime::announce("timer opened", opened.generation);
            opened
        }
    };
    // A thread that is ending looks it up each time.
    let _ = LATEST.try_with(|latest| latest.set(Some((id, timer))));
    timer
}

/// Registers a new timer, unless another thread was faster.
fn keep(id: u64, opened: DriverRef) -> DriverRef {
    let mut timers = TIMERS.lock();
    match timers.get(&id).copied() {
        Some(first) if !first.is_closed() => {
            drop(timers);
            opened.close();
            first
        }
        _ => {
            // A runtime that is shutting down has closed it already: then there is no use in
            // keeping it, and its driver may soon be another's.
            if !opened.is_closed() {
                timers.insert(id, opened);
            }
            opened
        }
    }
}

/// Removes a timer that is closed.
pub(super) fn forget(timer: DriverRef) {
    TIMERS.lock().retain(|_, known| *known != timer);
}

/// Takes back a driver that nobody turns any more.
pub(super) fn recycle(driver: &'static Driver) {
    SPARE.lock().push(driver);
}

/// A closed driver for a new runtime.
pub(super) fn spare() -> &'static Driver {
    let spare = SPARE.lock().pop();
    spare.unwrap_or_else(add)
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
fn add() -> &'static Driver {
    let mut more = MORE.lock();
    let place = FIRST.iter().position(|first| first.get().is_none());
    let index = place.unwrap_or(FIRST.len() + more.len());
    let index = u32::try_from(index).expect("there is memory for less than four billion drivers");
    let driver: &'static Driver = Box::leak(Box::new(Driver::new(index)));
    match place {
        Some(place) => {
            FIRST[place].get_or_init(|| driver);
        }
        None => more.push(driver),
    }
    driver
}
