//! The turn: the one loop in which timers move and fire.
//!
//! ```text
//!  try_lock ─ no ─► leave a note, go
//!     │ yes
//!     ▼
//!  drain inboxes ─► read the clock ─► advance ─► fire a batch ─ full ─► unlock, wake, lock ─┐
//!     ▲                                             ▲   │ done                              │
//!     │                                             └───┼───────────────────────────────────┘
//!     │                                                 ▼
//!     └─ pushed meanwhile, or a note was left ◄── publish, park, arm ─► unlock, wake
//! ```
//!
//! Wakers run only while the lock is not held. One that asks for a turn of the same timer leaves a
//! note as well, and its own thread answers it (`noted`). The loop is capped: a thread that is
//! caught in it by busy pushers arms the alarm for a moment later and leaves.

#![forbid(unsafe_code)]
#![allow(
    unreachable_pub,
    reason = "models reach these items through `loom_only`"
)]

use core::time::Duration;

use crate::driver::core::Core;
use crate::driver::counts::Report;
use crate::driver::shared::Shared;
use crate::driver::wake_list::WakeList;
use crate::primitive::yield_now;
use crate::sync::turn_lock::{TurnLock, Turning};
use crate::tick::Tick;

/// Rounds that one call may make before it leaves the rest to the alarm.
const ROUNDS: u32 = 16;
/// When the alarm goes off for what a capped turn left behind.
const SOON: Duration = Duration::from_millis(1);

/// The driver's clock and alarm.
pub trait Park {
    /// The current time.
    fn now(&mut self) -> Tick;

    /// Sees to it that a turn is run at `deadline`, or once before. `true` if that is now.
    fn arm(&mut self, now: Tick, deadline: Tick) -> bool;

    /// Whether an alarm for nothing would show, so that it is to be set at deadlines alone.
    fn is_exact(&self) -> bool {
        false
    }

    /// Whether there is something that goes off by itself. Without it a turn must not leave early.
    fn has_alarm(&self) -> bool {
        true
    }

    /// The time at which the timer is closed, if what was due by then counts as completed.
    fn last_tick(&mut self) -> Option<Tick> {
        None
    }
}

/// Where a turn is run: what it does while it does not hold the lock.
pub trait Outside {
    /// Tells, once, whether foreign code that this call has run asked for a turn.
    fn noted(&self) -> bool;

    /// Wakes a batch.
    fn wake(&self, wakes: &mut WakeList) {
        wakes.wake_all();
    }

    /// Tells whoever wants to know what was done. Foreign code, as wakers are.
    fn tell(&self, _: &Report) {}
}

impl<F: Fn() -> bool> Outside for F {
    fn noted(&self) -> bool {
        self()
    }
}

/// What the turn lock guards.
#[derive(Debug)]
pub struct Seat<P> {
    /// The wheel.
    pub core: Core,
    /// Clock and alarm; none while the timer is closed.
    pub park: Option<P>,
}

impl<P: Park> Seat<P> {
    /// Takes in what was pushed and moves the wheel to the present; the time, unless closed.
    fn advance(&mut self, shared: &Shared, wakes: &mut WakeList) -> Option<Tick> {
        let park = self.park.as_mut()?;
        self.core.drain(shared, wakes);
        let now = park.now();
        self.core.advance(shared, wakes, now);
        Some(now)
    }

    /// Parks; tells whether the driver may sleep now.
    fn settle(&mut self, shared: &Shared, now: Tick) -> bool {
        let Some(park) = &mut self.park else {
            return true;
        };
        match self.core.park(shared, now, park.is_exact()) {
            Some(next) => !park.arm(now, next),
            None => false,
        }
    }

    /// Leaves what is left to the alarm; tells whether it is set, or that time has passed already.
    ///
    /// The time is read anew: since the turn read it the lock was given back, and the timer may
    /// have been closed and opened again on another clock.
    fn leave(&mut self) -> bool {
        match &mut self.park {
            Some(park) if park.has_alarm() => {
                let now = park.now();
                !park.arm(now, now.after(SOON))
            }
            Some(_) => false,
            None => true,
        }
    }
}

/// Turns the wheel, or leaves a note for the thread that does.
pub fn turn<P: Park>(shared: &Shared, lock: &TurnLock<Seat<P>>, outside: &impl Outside) {
    let mut wakes = WakeList::new();
    let mut rounds = 0;
    // A listener that asks for a turn whenever it is told of one must not keep this thread here.
    let mut told = false;
    let Some(mut seat) = lock.try_lock() else {
        return;
    };
    while let Some(now) = seat.advance(shared, &mut wakes) {
        while !seat.core.fire(shared, &mut wakes) {
            let lock = seat.pause();
            outside.wake(&mut wakes);
            // Whoever holds the lock instead carries on with the rest.
            let Some(again) = lock.try_lock() else {
                return;
            };
            seat = again;
        }
        rounds += 1;
        if rounds >= ROUNDS && seat.leave() {
            let report = seat.core.report();
            seat.pause();
            outside.wake(&mut wakes);
            outside.tell(&report);
            // Of the notes left since, only the alarm's own must not be lost.
            if shared.bell().is_off() {
                turn(shared, lock, outside);
            }
            return;
        }
        if !seat.settle(shared, now) {
            continue;
        }
        let report = (!told).then(|| seat.core.report());
        seat = match seat.release() {
            Some(mut again) => {
                if let Some(report) = &report {
                    again.core.keep(report);
                }
                again
            }
            None => {
                outside.wake(&mut wakes);
                if let Some(report) = &report {
                    outside.tell(report);
                    told = true;
                }
                if !outside.noted() {
                    return;
                }
                // Whoever holds the lock instead answers the note.
                let Some(again) = lock.try_lock() else {
                    return;
                };
                again
            }
        };
    }
    // Closed: whoever closed the timer saw to everything.
    seat.pause();
    outside.wake(&mut wakes);
}

/// Opens a closed timer on a wheel that begins now.
pub fn open<P: Park>(shared: &Shared, lock: &TurnLock<Seat<P>>, core: Core, park: P) {
    let mut seat = wait_for(lock);
    shared.open(core.elapsed());
    seat.core = core.after(&seat.core);
    seat.park = Some(park);
    seat.pause();
    // For a note that was left meanwhile.
    turn(shared, lock, &|| false);
}

/// Ends this generation of a timer and fires everything that is pending, which finds it closed.
///
/// Gives back the clock and alarm, to be dropped by the caller; `None` if it had ended already.
/// `last` looks at the wheel for the last time before that.
pub fn close<P: Park>(
    shared: &Shared,
    lock: &TurnLock<Seat<P>>,
    generation: u32,
    last: impl FnOnce(&Core),
) -> Option<P> {
    let mut seat = wait_for(lock);
    if shared.is_closed(generation) {
        seat.pause();
        return None;
    }
    let mut park = seat.park.take();
    let end = park.as_mut().and_then(Park::last_tick);
    shared.publish_end(end.unwrap_or(seat.core.elapsed()));
    last(&seat.core);
    let mut wakes = WakeList::new();
    seat.core.close(shared, &mut wakes);
    while !seat.core.fire(shared, &mut wakes) {
        seat.pause();
        wakes.wake_all();
        seat = wait_for(lock);
    }
    seat.pause();
    wakes.wake_all();
    park
}

/// Lends the wheel of an open timer, with everything taken in that was pushed.
///
/// The caller turns afterwards: notes that are left meanwhile get no other answer.
pub fn inspect<P: Park, R>(
    shared: &Shared,
    lock: &TurnLock<Seat<P>>,
    generation: u32,
    look: impl FnOnce(&mut Core) -> R,
) -> Option<R> {
    let mut seat = wait_for(lock);
    if shared.is_closed(generation) {
        seat.pause();
        return None;
    }
    let mut wakes = WakeList::new();
    seat.core.drain(shared, &mut wakes);
    let seen = look(&mut seat.core);
    seat.pause();
    wakes.wake_all();
    Some(seen)
}

/// Lends the wheel of an open timer as it is, with what was pushed where it is, and tells as well
/// whether a note was left meanwhile, which the caller has to answer by a turn.
#[allow(dead_code, reason = "not asked by models")]
pub fn observe<P: Park, R>(
    shared: &Shared,
    lock: &TurnLock<Seat<P>>,
    generation: u32,
    look: impl FnOnce(&Core) -> R,
) -> Option<(R, bool)> {
    let seat = wait_for(lock);
    // Closed, the lock is given back with its notes: they have nothing to ask for.
    let seen = (!shared.is_closed(generation)).then(|| look(&seat.core));
    let noted = match seat.release() {
        Some(seat) => {
            seat.pause();
            true
        }
        None => false,
    };
    seen.map(|seen| (seen, noted))
}

/// The lock is only ever held for a moment and never while foreign code runs, so the few rare
/// callers that need it may wait.
fn wait_for<T>(lock: &TurnLock<T>) -> Turning<'_, T> {
    loop {
        if let Some(seat) = lock.try_lock() {
            return seat;
        }
        yield_now();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::pool::Cache;
    use core::task::Waker;

    const FAR: Tick = Tick::new(u64::MAX - 1);

    /// A clock with a timer armed by somebody at each reading, and a thread that is suspended for
    /// a second before it first sets the alarm.
    struct Busy<'a> {
        shared: &'a Shared,
        cache: Cache,
        seconds: u64,
        suspended: bool,
        /// Whether the alarm is set, for a time that lies ahead.
        armed: bool,
    }

    impl Busy<'_> {
        fn time(&self) -> Tick {
            Tick::new(self.seconds * 1_000_000_000)
        }
    }

    impl Park for Busy<'_> {
        fn now(&mut self) -> Tick {
            let waker = Waker::noop().clone();
            let armed = self.shared.arm(&mut self.cache, 0, 0, FAR, waker);
            assert!(armed.is_ok());
            self.time()
        }

        fn arm(&mut self, _: Tick, deadline: Tick) -> bool {
            if !self.suspended {
                self.suspended = true;
                self.seconds += 1;
            }
            self.armed = deadline > self.time();
            !self.armed
        }
    }

    /// An alarm that leaves notes at the turn lock when it is first set.
    struct Noting<'a>(&'a core::cell::Cell<u32>, &'a dyn Fn());

    impl Park for Noting<'_> {
        fn now(&mut self) -> Tick {
            Tick::ZERO
        }

        fn arm(&mut self, _: Tick, _: Tick) -> bool {
            if self.0.get() > 0 {
                self.0.set(self.0.get() - 1);
                (self.1)();
            }
            false
        }
    }

    /// Adds up what it is told.
    struct Adds(core::cell::Cell<u64>);

    impl Outside for Adds {
        fn noted(&self) -> bool {
            false
        }

        fn tell(&self, report: &Report) {
            self.0.set(self.0.get() + report.turns);
        }
    }

    #[test]
    fn a_turn_that_goes_round_for_notes_tells_of_every_round() {
        let shared = Shared::new(1);
        shared.open(Tick::ZERO);
        let lock = TurnLock::new(Seat {
            core: Core::new(Tick::ZERO),
            park: None,
        });
        let notes = core::cell::Cell::new(3);
        // The turn holds the lock: this fails, and leaves a note.
        let note = || assert!(lock.try_lock().is_none());
        let mut seat = lock.try_lock().expect("nobody has it");
        seat.park = Some(Noting(&notes, &note));
        seat.pause();
        let told = Adds(core::cell::Cell::new(0));
        turn(&shared, &lock, &told);
        assert_eq!(notes.get(), 0);
        assert_eq!(told.0.get(), 4);
    }

    #[test]
    fn a_capped_turn_leaves_an_alarm_that_goes_off() {
        let shared = Shared::new(1);
        shared.open(Tick::ZERO);
        let busy = Busy {
            shared: &shared,
            cache: Cache::new(),
            seconds: 0,
            suspended: false,
            armed: false,
        };
        let lock = TurnLock::new(Seat {
            core: Core::new(Tick::ZERO),
            park: Some(busy),
        });
        turn(&shared, &lock, &|| false);
        let seat = lock.try_lock().expect("the turn has ended");
        let park = seat.park.as_ref().expect("the timer is open");
        assert!(park.armed);
        assert!(shared.pool().nodes() >= ROUNDS, "the turn was capped");
    }
}
