//! The one timer of a channel, which rings when an item becomes due and somebody waits for it.
//!
//! The *bell* is a [`Sleep`] in the runtime of a receiver that waits. It does not wake that
//! receiver but the channel, which calls the first in the line. Arming a sleep may turn the wheel
//! of its runtime, and so wake anybody: it must not happen under the channel's lock. So whoever
//! arms the bell takes it *out*, and brings it back. What happens meanwhile is noted and seen when
//! it comes back; nobody else needs to look after the queue until then.

#![forbid(unsafe_code)]

use crate::sleep::Sleep;
use crate::tick::Tick;
use crate::timer::Timer;

/// What the channel knows about its timer.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    bell: Option<Bell>,
    /// When it will ring. `None` while it is not armed, or out.
    armed: Option<Tick>,
    /// The runtime of the bell.
    runtime: Option<u64>,
    out: bool,
    /// It has rung while it was out.
    rang: bool,
}

/// A sleep that wakes the channel.
#[derive(Debug)]
pub(super) struct Bell {
    pub(super) sleep: Sleep,
    timer: Timer,
}

/// The bell while it is out: to be armed until then, and brought back.
#[derive(Debug)]
#[must_use = "nobody looks after the queue until it is back"]
pub(super) struct Errand {
    pub(super) until: Tick,
    /// `None` if a new one is to be made, in the runtime of the calling thread.
    pub(super) bell: Option<Bell>,
}

/// What a ring means.
#[derive(Debug)]
pub(super) enum Ring {
    /// Nothing now: it is seen when the bell comes back, or nobody relied on it.
    Nothing,
    /// It was armed until then.
    Struck(Tick),
    /// It is not known what it means, but somebody has to look.
    Unclear(Option<Bell>),
}

impl Bell {
    /// A bell of the calling thread's runtime.
    #[track_caller]
    pub(super) fn new(until: Tick) -> Self {
        let timer = Timer::current();
        let sleep = Sleep::until(timer.driver(), until);
        Self { sleep, timer }
    }
}

impl Alarm {
    /// Whether it will ring no later than `next`.
    pub(super) fn covers(&self, next: Tick) -> bool {
        self.armed.is_some_and(|until| until <= next)
    }

    pub(super) fn is_out(&self) -> bool {
        self.out
    }

    pub(super) fn runtime(&self) -> Option<u64> {
        self.runtime
    }

    pub(super) fn has_bell(&self) -> bool {
        self.bell.is_some()
    }

    /// Takes the bell out, to be armed until `until`.
    pub(super) fn take_out(&mut self, until: Tick) -> Errand {
        self.armed = None;
        self.out = true;
        self.rang = false;
        let bell = self.bell.take();
        Errand { until, bell }
    }

    /// As [`take_out`](Self::take_out), for a bell in this runtime, which the calling thread is in.
    /// Gives a bell of another runtime, to be dropped.
    pub(super) fn take_out_in(
        &mut self,
        runtime: Option<u64>,
        until: Tick,
    ) -> (Errand, Option<Bell>) {
        let mut errand = self.take_out(until);
        let other = if self.runtime == runtime {
            None
        } else {
            errand.bell.take()
        };
        self.runtime = runtime;
        (errand, other)
    }

    /// Brings a bell back that is armed until then. Whether it has not rung meanwhile.
    pub(super) fn bring_back(&mut self, bell: Bell, until: Tick) -> bool {
        self.out = false;
        self.bell = Some(bell);
        let silent = !self.rang;
        self.armed = silent.then_some(until);
        silent
    }

    /// Brings a bell back that has rung or could not be armed.
    pub(super) fn bring_back_unarmed(&mut self, bell: Option<Bell>) {
        self.out = false;
        self.bell = bell;
    }

    /// Takes the bell away for good. One that is out stays away when it comes back.
    pub(super) fn take_away(&mut self) -> Option<Bell> {
        self.armed = None;
        self.bell.take()
    }

    /// It rings.
    pub(super) fn ring(&mut self) -> Ring {
        if self.out {
            self.rang = true;
            return Ring::Nothing;
        }
        let Some(until) = self.armed.take() else {
            return Ring::Nothing;
        };
        match &self.bell {
            Some(bell) if bell.timer.is_closed() => Ring::Unclear(self.bell.take()),
            Some(bell) if bell.sleep.is_elapsed() => Ring::Struck(until),
            // The last sound of a bell that has been replaced, or armed anew, just now.
            _ => Ring::Unclear(None),
        }
    }
}
