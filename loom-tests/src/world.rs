//! A timer without Tokio, with a clock and an alarm in the model's hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cogwheel::Tick;
use cogwheel::loom_only::core::Core;
use cogwheel::loom_only::shared::Shared;
use cogwheel::loom_only::turn::{self, Park, Seat};
use cogwheel::loom_only::turn_lock::TurnLock;
use cogwheel::loom_only::wake_list::WakeList;
use cogwheel::wheel::Geometry;

const NEVER: u64 = u64::MAX;

/// A timer and the time it lives in.
#[derive(Debug)]
pub struct World {
    /// What users and driver share.
    pub shared: Arc<Shared>,
    /// The turn lock.
    pub lock: TurnLock<Seat<FakePark>>,
    outside: Arc<Outside>,
}

/// Clock and alarm as Tokio has them. Loom does not see these: they hand nothing over, and a
/// value that changes between two steps that loom sees is as good as one that loom switches at.
#[derive(Debug)]
struct Outside {
    clock: AtomicU64,
    /// How far the clock moves whenever a turn reads it.
    pace: AtomicU64,
    /// When the alarm will go off.
    alarm: AtomicU64,
}

impl World {
    /// A timer with one inbox that opens at `now`, on a wheel of four slots a level.
    pub fn open(now: u64) -> Arc<Self> {
        Self::with_shards(1, now)
    }

    /// A timer with several inboxes.
    pub fn with_shards(shards: usize, now: u64) -> Arc<Self> {
        let world = Arc::new(Self {
            shared: Arc::new(Shared::new(shards)),
            lock: TurnLock::new(Seat {
                core: core_at(now),
                park: None,
            }),
            outside: Arc::new(Outside {
                clock: AtomicU64::new(now),
                pace: AtomicU64::new(0),
                alarm: AtomicU64::new(NEVER),
            }),
        });
        world.reopen();
        world
    }

    /// Opens the timer, again, at the current time.
    pub fn reopen(&self) {
        let park = FakePark {
            shared: Arc::clone(&self.shared),
            outside: Arc::clone(&self.outside),
            armed: None,
        };
        turn::open(&self.shared, &self.lock, core_at(self.clock()), park);
    }

    /// Ends a generation; tells whether it had not ended already.
    pub fn close(&self, generation: u32) -> bool {
        turn::close(&self.shared, &self.lock, generation, |_| {}).is_some()
    }

    /// Turns the wheel or leaves a note.
    pub fn turn(&self) {
        turn::turn(&self.shared, &self.lock, &|| false);
    }

    /// The deadline of the earliest timer that waits, asked as a manual clock does.
    pub fn next_exactly(&self, generation: u32) -> Option<Tick> {
        let mut wakes = WakeList::new();
        let next = turn::inspect(&self.shared, &self.lock, generation, |core| {
            core.next_exactly(&self.shared, &mut wakes)
        });
        wakes.wake_all();
        self.turn();
        next.flatten()
    }

    /// The time.
    pub fn clock(&self) -> u64 {
        self.outside.clock.load(Ordering::SeqCst)
    }

    /// Lets time pass until `now`.
    pub fn set_clock(&self, now: u64) {
        self.outside.clock.fetch_max(now, Ordering::SeqCst);
    }

    /// Lets time pass by so much whenever a turn reads the clock.
    pub fn set_pace(&self, pace: u64) {
        self.outside.pace.store(pace, Ordering::SeqCst);
    }

    /// When the alarm will go off.
    pub fn alarm(&self) -> Tick {
        Tick::new(self.outside.alarm.load(Ordering::SeqCst))
    }

    /// Lets the alarm go off if its time has come; tells whether it has.
    pub fn ring_alarm(&self) -> bool {
        let alarm = self.outside.alarm.load(Ordering::SeqCst);
        let taken = alarm <= self.clock()
            && self
                .outside
                .alarm
                .compare_exchange(alarm, NEVER, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok();
        if taken {
            self.shared.bell().go_off();
            self.turn();
        }
        taken
    }
}

fn core_at(now: u64) -> Core {
    let geometry = Geometry::new(0, 2).expect("a valid shape");
    Core::with_geometry(geometry, Tick::new(now))
}

/// As the parker of the driver, on this world's clock and alarm.
#[derive(Debug)]
pub struct FakePark {
    shared: Arc<Shared>,
    outside: Arc<Outside>,
    armed: Option<Tick>,
}

impl Park for FakePark {
    fn now(&mut self) -> Tick {
        let pace = self.outside.pace.load(Ordering::SeqCst);
        Tick::new(self.outside.clock.fetch_add(pace, Ordering::SeqCst))
    }

    fn arm(&mut self, _: Tick, deadline: Tick) -> bool {
        let bell = self.shared.bell();
        if bell.is_off() {
            bell.clear();
            self.armed = None;
        }
        if deadline == Tick::MAX || self.armed.is_some_and(|armed| armed <= deadline) {
            return false;
        }
        if deadline.count() <= self.outside.clock.load(Ordering::SeqCst) {
            // A sleep that is found ready keeps no waker.
            self.outside.alarm.store(NEVER, Ordering::SeqCst);
            self.armed = None;
            return true;
        }
        self.outside.alarm.store(deadline.count(), Ordering::SeqCst);
        self.armed = Some(deadline);
        false
    }

    fn last_tick(&mut self) -> Option<Tick> {
        Some(self.now())
    }
}
