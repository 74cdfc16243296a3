//! What a thread keeps: for the few timers it used last, a cache of idle nodes and some counts.

#![forbid(unsafe_code)]

use core::cell::{Cell, RefCell};
use core::task::Waker;

use crate::driver::ledger::Tally;
use crate::driver::runtime::{Driver, is_same_driver};
use crate::driver::shared::{Armed, Refused};
use crate::driver::wake_list::run_foreign;
use crate::primitive::counter::{AtomicU32, Ordering};
use crate::sync::pool::Cache;

/// Timers that a thread keeps something for.
const TIMERS: usize = 4;

/// What a thread keeps for one timer.
#[derive(Debug)]
pub(crate) struct Local {
    driver: &'static Driver,
    /// Idle nodes.
    pub(crate) cache: Cache,
    /// The inbox this thread pushes into.
    pub(crate) shard: usize,
    /// How often it has pushed.
    pub(crate) pushes: u32,
    /// What it has done, for as long as it keeps this.
    pub(super) tally: &'static Tally,
}

thread_local! {
    static LOCALS: RefCell<Locals> = const { RefCell::new(Locals(Vec::new())) };
    /// The tally of the timer used last, so that it is at hand without a borrow.
    static FRONT: Cell<Option<&'static Tally>> = const { Cell::new(None) };
}

/// Counts that the deadline of a timer was moved; `label` is that of its driver.
#[inline]
pub(super) fn count_reset(driver: impl FnOnce() -> &'static Driver, label: u32) {
    match FRONT.get() {
        Some(front) if is_same_driver(front.label, label) => front.resets.add_one(),
        _ => count_reset_slowly(driver()),
    }
}

#[cold]
fn count_reset_slowly(driver: &'static Driver) {
    with(driver, |local| local.tally.resets.add_one());
}

/// The timers used last, the most recent first.
struct Locals(Vec<Local>);

/// Runs `f` with what this thread keeps for `driver`.
///
/// `f` runs no foreign code. On a thread whose locals are gone it works on an empty cache that is
/// given back at once.
#[inline]
pub(crate) fn with<R>(driver: &'static Driver, f: impl FnOnce(&mut Local) -> R) -> R {
    // `f` can only be moved into one of the two ways.
    let mut f = Some(f);
    let mut retired = None;
    let done = LOCALS.try_with(|locals| {
        let mut locals = locals.try_borrow_mut().ok()?;
        if !locals.is_first(driver) {
            retired = locals.bring_to_front(driver);
        }
        f.take().map(|f| f(&mut locals.0[0]))
    });
    if let Some(waker) = retired {
        run_foreign(|| drop(waker));
    }
    match (done, f) {
        (Ok(Some(result)), _) => result,
        (_, Some(f)) => without(driver, f),
        (_, None) => unreachable!("`f` is taken only to be run"),
    }
}

#[cold]
fn without<R>(driver: &'static Driver, f: impl FnOnce(&mut Local) -> R) -> R {
    let mut local = Local::new(driver);
    let result = f(&mut local);
    local.flush();
    result
}

impl Locals {
    #[inline]
    fn is_first(&self, driver: &'static Driver) -> bool {
        let first = self.0.first();
        first.is_some_and(|local| core::ptr::eq(local.driver, driver))
    }

    /// Gives the waker that the thread kept for a timer for which it keeps nothing any more.
    #[cold]
    fn bring_to_front(&mut self, driver: &'static Driver) -> Option<Waker> {
        let known = self
            .0
            .iter()
            .position(|local| core::ptr::eq(local.driver, driver));
        let mut retired = None;
        let local = match known {
            Some(place) => self.0.remove(place),
            None => {
                if self.0.len() == TIMERS
                    && let Some(mut oldest) = self.0.pop()
                {
                    retired = oldest.take_all();
                }
                Local::new(driver)
            }
        };
        FRONT.set(Some(local.tally));
        self.0.insert(0, local);
        retired
    }
}

impl Drop for Locals {
    /// Gives the nodes back when the thread ends.
    fn drop(&mut self) {
        FRONT.set(None);
        for local in &mut self.0 {
            local.flush();
        }
    }
}

impl Local {
    fn new(driver: &'static Driver) -> Self {
        static THREADS: AtomicU32 = AtomicU32::new(0);
        let thread = THREADS.fetch_add(1, Ordering::Relaxed) as usize;
        Self {
            driver,
            cache: Cache::new(),
            shard: thread % driver.shared().shards(),
            pushes: 0,
            tally: driver.ledger().take(driver.label()),
        }
    }

    /// Gives nodes and tally back. The waker that was kept is the caller's to drop.
    fn take_all(&mut self) -> Option<Waker> {
        self.driver.ledger().give_back(self.tally);
        self.driver.shared().flush(&mut self.cache)
    }

    /// A timer that was counted as armed and then refused counts as cancelled as well, unless it has
    /// fired meanwhile.
    #[inline]
    pub(super) fn count_refused(&self, armed: &Result<Armed, Refused>) {
        if let Err(Refused { waker: Some(_), .. }) = armed {
            self.tally.cancelled.add_one();
        }
    }

    fn flush(&mut self) {
        let waker = self.take_all();
        run_foreign(|| drop(waker));
    }
}
