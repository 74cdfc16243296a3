//! A thread of its own for one timer, and what keeps it.
//!
//! The thread parks until the exact next deadline, turns, and parks again; it parks without a
//! timeout while nothing is armed. See [`alarm_clock`](crate::sync::alarm_clock) for how it learns
//! of an earlier one.
//!
//! It ends
//!
//! * when the timer is closed: dropping the [`ThreadAlarm`] tells it so;
//! * when neither a handle nor an armed timer is left. The handles share one [`Keeper`], whose drop
//!   makes the thread an orphan: from then on it counts the armed timers whenever it wakes, and
//!   cancelled timers leave the wheel at once, so that the last one wakes it.

#![forbid(unsafe_code)]

use core::time::Duration;

use crate::clock;
use crate::driver::alarm::{Alarm, Kind};
use crate::driver::registry;
use crate::driver::runtime::{Config, Driver, DriverRef};
use crate::driver::turn::Park;
use crate::error::TimerError;
use crate::primitive::{Arc, AtomicU32, Ordering, thread};
use crate::sync::alarm_clock::{AlarmClock, Check};
use crate::tick::Tick;

/// There are handles.
const KEPT: u32 = 0;
/// There are none: end as soon as nothing is armed.
const ORPHAN: u32 = 1;
/// End now.
const CLOSED: u32 = 2;

/// An orphan looks again after this time, and then after twice as long each time: a timer that is
/// cancelled while the last handle goes may not have seen that it has to tell.
const PATIENCE: Duration = Duration::from_millis(10);

/// What the thread and its timer share.
#[derive(Debug)]
struct Post {
    alarm: AlarmClock,
    orders: AtomicU32,
}

/// Opens a timer that a thread of this name turns.
pub(crate) fn open(config: Config, name: String) -> Result<Arc<Keeper>, TimerError> {
    let driver = registry::spare(Kind::Thread);
    let timer = DriverRef {
        driver,
        generation: driver.shared().generation(),
    };
    let post = Arc::new(Post {
        alarm: AlarmClock::new(),
        orders: AtomicU32::new(KEPT),
    });
    let own = Arc::clone(&post);
    let Ok(thread) = thread::spawn(name, move || keep(timer, &own)) else {
        registry::recycle(driver);
        return Err(TimerError::NoThread);
    };
    let alarm = ThreadAlarm {
        driver,
        post: Arc::clone(&post),
        thread: thread.clone(),
    };
    let keeper = Arc::new(Keeper {
        timer,
        post,
        thread,
    });
    driver.set_keeper(&keeper);
    driver.begin(config, clock::system_now(), Alarm::Thread(alarm));
    Ok(keeper)
}

/// What the thread does, from its beginning to its end.
fn keep(timer: DriverRef, post: &Post) {
    let _end = CloseAtEnd(timer);
    let mut patience = PATIENCE;
    loop {
        let orphan = match post.orders.load(Ordering::Acquire) {
            KEPT => false,
            ORPHAN => true,
            _ => return,
        };
        if orphan && timer.driver.shared().armed() == 0 {
            return;
        }
        let now = clock::system_now();
        match post.alarm.check(now) {
            Check::Due => timer.driver.alarm(),
            Check::Wait(until) if orphan => {
                thread::park_timeout(until.since(now).min(patience));
                patience = patience.saturating_mul(2);
            }
            Check::Wait(Tick::MAX) => thread::park(),
            Check::Wait(until) => thread::park_timeout(until.since(now)),
        }
    }
}

/// However the thread ends, nobody waits for it any longer.
struct CloseAtEnd(DriverRef);

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The alarm of a driver that has a thread; its drop ends that thread.
#[derive(Debug)]
pub(super) struct ThreadAlarm {
    driver: &'static Driver,
    post: Arc<Post>,
    thread: thread::Thread,
}

impl Park for ThreadAlarm {
    fn now(&mut self) -> Tick {
        clock::system_now()
    }

    fn arm(&mut self, _: Tick, deadline: Tick) -> bool {
        // Before it is set: were the note kept, a turn that leaves the rest to the alarm would take
        // it for one that has just gone off, and begin anew inside of itself.
        self.driver.shared().bell().clear();
        let earlier = self.post.alarm.set(deadline);
        let last = deadline == Tick::MAX && self.post.orders.load(Ordering::Relaxed) == ORPHAN;
        if earlier || last {
            self.wake();
        }
        false
    }
}

impl ThreadAlarm {
    /// Lets the thread check. If it is the one that turns it does so anyway.
    fn wake(&self) {
        if thread::current().id() != self.thread.id() {
            self.thread.unpark();
        }
    }
}

impl Drop for ThreadAlarm {
    fn drop(&mut self) {
        self.post.orders.store(CLOSED, Ordering::Release);
        self.wake();
    }
}

/// Held by all handles of one such timer.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) timer: DriverRef,
    post: Arc<Post>,
    thread: thread::Thread,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Nobody but the thread is told by what is cancelled lazily.
        if !self.timer.is_closed() {
            self.timer.driver.set_exact();
        }
        let orders = &self.post.orders;
        // Not over an order to end.
        if orders
            .compare_exchange(KEPT, ORPHAN, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
        {
            self.thread.unpark();
        }
    }
}
