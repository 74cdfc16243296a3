//! A thread that sleeps by its alarm: it learns of every deadline that is earlier, and takes none
//! away.

#![cfg(loom)]

use std::sync::Arc;

use cogwheel::Tick;
use cogwheel::loom_only::alarm_clock::{AlarmClock, Check};
use loom::thread;
use loom_tests::{ALL, explore, join, spawn};

const NOW: Tick = Tick::new(10);
const AHEAD: Tick = Tick::new(20);

/// The thread parks for a deadline that is ahead while one that is due is set: it is not left
/// parked.
///
/// Loom's `park` has no timeout, so what is ahead never comes, and a thread that is left parked is
/// a deadlock.
///
/// Seen to catch: `earlier-alarm-not-told`.
#[test]
fn an_earlier_alarm_reaches_a_thread_that_is_about_to_park() {
    explore("alarm ∥ park", ALL, 10, || {
        let alarm = Arc::new(AlarmClock::new());
        let sleeper = {
            let alarm = Arc::clone(&alarm);
            // As the keeper does it, with a clock that stands.
            spawn(move || {
                while let Check::Wait(_) = alarm.check(NOW) {
                    thread::park();
                }
            })
        };
        for deadline in [AHEAD, NOW] {
            if alarm.set(deadline) {
                sleeper.thread().unpark();
            }
        }
        join(sleeper);
        assert_eq!(alarm.check(NOW), Check::Wait(Tick::MAX));
    });
}

/// The alarm goes off while another thread turns and sets it anew: what was set stays.
///
/// Seen to catch: `alarm-taken-away`.
#[test]
fn an_alarm_that_is_set_anew_while_it_goes_off_stays_set() {
    explore("alarm ∥ set", ALL, 3, || {
        let alarm = Arc::new(AlarmClock::new());
        assert!(alarm.set(NOW));
        let turning = {
            let alarm = Arc::clone(&alarm);
            spawn(move || alarm.set(AHEAD))
        };
        let seen = alarm.check(NOW);
        let told = join(turning);
        match seen {
            // It was there before: the next wake-up is the thread's own.
            Check::Wait(until) => assert_eq!(until, AHEAD),
            // The thread turns, and looks again. It is told as well if it had taken the old one.
            Check::Due => assert!(told),
        }
        assert_eq!(alarm.check(NOW), Check::Wait(AHEAD));
    });
}
