//! A clock that is moved by hand, and the turns that go with it.
//!
//! The time is one word of the driver. It moves under the turn lock, so that it cannot move after
//! the timer was closed and its driver given to another. Nothing goes off by itself: whoever moves
//! the clock turns the wheel, step by step.

#![forbid(unsafe_code)]

use crate::driver::alarm::{Alarm, Kind};
use crate::driver::registry;
use crate::driver::runtime::{Config, Driver, DriverRef};
use crate::driver::turn::Park;
use crate::driver::wake_list::WakeList;
use crate::tick::Tick;

/// The last tick that a clock can be moved to: the deadlines after it are never reached.
const END: Tick = Tick::new(u64::MAX - 2);

/// Opens a timer whose clock stands at `start`.
pub(crate) fn open(config: Config, start: Tick) -> DriverRef {
    let driver = registry::spare(Kind::Manual);
    driver.set_time(start);
    driver.begin(config, start, Alarm::Manual(ManualAlarm(driver)))
}

/// The alarm of a driver that is moved by hand: there is none.
#[derive(Debug)]
pub(super) struct ManualAlarm(&'static Driver);

impl Park for ManualAlarm {
    fn now(&mut self) -> Tick {
        self.0.time()
    }

    fn arm(&mut self, _: Tick, deadline: Tick) -> bool {
        // The clock may have been moved since the turn read it.
        deadline <= self.0.time()
    }
}

/// What moving the clock did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    /// How many timers have fired.
    pub(crate) fired: u64,
    /// Where the clock stands.
    pub(crate) now: Tick,
}

/// What one step saw.
struct Step {
    /// Timers fired so far.
    fired: u64,
    now: Tick,
    done: bool,
}

impl DriverRef {
    /// Moves the clock to `target` and fires what is due until then, in the order of the deadlines.
    ///
    /// The clock stops at each of them, so a timer that a waker arms in between has its own stop.
    /// Inside of a waker that a turn of this timer runs, the clock jumps, and that turn does the
    /// rest. `None` if the timer is closed.
    pub(crate) fn advance_to(self, target: Tick) -> Option<Moved> {
        let driver = self.driver;
        let target = target.min(END);
        let nested = driver.is_turning_here();
        let mut before = None;
        loop {
            let step = self.inspect(|core| {
                let bound = core.bound();
                let now = driver.time();
                let done = nested || (bound > target && now >= target);
                let stop = if nested { target } else { bound.min(target) };
                driver.set_time(stop.max(now));
                let (fired, now) = (core.fired(), driver.time());
                Step { fired, now, done }
            })?;
            driver.turn();
            let before = *before.get_or_insert(step.fired);
            if step.done {
                return Some(Moved {
                    fired: step.fired - before,
                    now: step.now,
                });
            }
        }
    }

    /// The deadline of the earliest timer that waits, exactly; `None` if none waits for a time that
    /// ever comes.
    pub(crate) fn next_deadline(self) -> Option<Tick> {
        let shared = self.driver.shared();
        let mut wakes = WakeList::new();
        let next = self.inspect(|core| core.next_exactly(shared, &mut wakes));
        wakes.wake_all();
        self.driver.turn();
        next.flatten().filter(|next| *next <= END)
    }

    /// How many timers wait.
    pub(crate) fn armed(self) -> usize {
        if self.is_closed() {
            return 0;
        }
        self.driver.shared().armed()
    }
}
