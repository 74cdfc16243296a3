//! What ends the sleep of a driver, for each kind of driver there is.

#![forbid(unsafe_code)]

use crate::driver::keeper::ThreadAlarm;
use crate::driver::manual::ManualAlarm;
use crate::driver::parker::Parker;
use crate::driver::turn::Park;
use crate::tick::Tick;

/// Who turns a driver when its time has come. A driver keeps its kind for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A Tokio runtime.
    Runtime,
    /// A thread of its own.
    Thread,
    /// Whoever moves its clock.
    Manual,
}

/// Clock and alarm of one generation of a driver.
#[derive(Debug)]
pub(super) enum Alarm {
    Runtime(Parker),
    Thread(ThreadAlarm),
    Manual(ManualAlarm),
}

impl Park for Alarm {
    fn now(&mut self) -> Tick {
        match self {
            Self::Runtime(parker) => parker.now(),
            Self::Thread(alarm) => alarm.now(),
            Self::Manual(alarm) => alarm.now(),
        }
    }

    fn arm(&mut self, now: Tick, deadline: Tick) -> bool {
        match self {
            Self::Runtime(parker) => parker.arm(now, deadline),
            Self::Thread(alarm) => alarm.arm(now, deadline),
            Self::Manual(alarm) => alarm.arm(now, deadline),
        }
    }

    fn is_exact(&self) -> bool {
        match self {
            Self::Runtime(parker) => parker.is_exact(),
            Self::Thread(_) => false,
            Self::Manual(_) => true,
        }
    }

    fn has_alarm(&self) -> bool {
        !matches!(self, Self::Manual(_))
    }

    fn last_tick(&mut self) -> Option<Tick> {
        match self {
            Self::Runtime(_) => None,
            Self::Thread(_) | Self::Manual(_) => Some(self.now()),
        }
    }
}
