//! The state of one piece of scheduled work, shared by its handle, the wheel and its runner.
//!
//! ```text
//!              ┌──────────────── reschedule ────────────────┐
//!              ▼                                            │
//!   ───► Pending, armed ── fires ──► Pending, sent off ─────┤
//!              │   ▲                    │        │ runner's first poll
//!              │   │ next round         │        ▼
//!              │   └────────────────────┼──── Running ──── ends, panics ──┐
//!              │ cancel, close          │ cancel, close                   ▼
//!              └────────────────────────┴─────────────────────────────► Ended
//! ```
//!
//! The task is itself the waker that the wheel fires. That waker spawns a *runner* on the runtime;
//! the work leaves the task when the runner is polled for the first time, and that moment decides
//! between a start and a cancel or a move. So a runner may find nothing to do.
//!
//! # Invariants
//!
//! * All transitions are made under `state`'s lock. While it is held no foreign code runs: what is
//!   left to do is noted in [`Errands`] and done after it was released.
//! * `Pending` owns a node if and only if it is armed; the node's waker is this task.
//! * `Pending` without a node is due, and a runner is on its way.
//! * Whoever moves the phase to `Ended` takes the work and the waiting party out.
//! * A task has a place of its timer, if that has a bound, until its last round has started or, of
//!   a series, until it has ended: a series is never out of the timer's hands before.

#![forbid(unsafe_code)]

use core::any::Any;
use core::future::Future;
use core::task::{Context, Poll, Waker};
use std::borrow::Cow;
use std::task::Wake;

use tokio::runtime::Handle;

use crate::driver::runtime::{DriverRef, Place};
use crate::driver::shared::Refused;
use crate::driver::wake_list::run_foreign;
use crate::interval::MissedTickBehavior;
use crate::primitive::{Arc, Mutex, OnceLock};
use crate::scheduled::outcome::{Outcome, text_of};
use crate::scheduled::runner;
use crate::scheduled::work::Work;
use crate::sleep::LAST;
use crate::sync::pool::NodeId;
use crate::tick::Tick;

/// One piece of scheduled work.
pub(super) struct Task<W: Work> {
    driver: DriverRef,
    /// Where it runs, if the timer has no runtime of its own.
    runtime: Option<Handle>,
    name: OnceLock<Cow<'static, str>>,
    state: Mutex<State<W>>,
}

struct State<W: Work> {
    phase: Phase<W>,
    /// When the round to come starts, or the last one was to start.
    deadline: Tick,
    missed: MissedTickBehavior,
    /// Who waits for the end.
    waiter: Option<Waker>,
    counts: Counts,
}

enum Phase<W: Work> {
    Pending {
        work: W,
        node: Option<NodeId>,
    },
    /// A runner has the work. If it was cancelled, there is no round after this one.
    Running {
        cancelled: bool,
    },
    /// The outcome, until it is asked for.
    Ended(Option<Outcome<W::Output>>),
}

/// How often it has started and panicked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) rounds: u64,
    pub(super) panics: u64,
}

/// What a handle may ask of a task, whatever it runs.
pub(super) trait Job<T>: Send + Sync {
    fn cancel(&self) -> bool;
    fn reschedule(self: Arc<Self>, deadline: Tick) -> bool;
    fn poll(&self, cx: &mut Context<'_>) -> Poll<Outcome<T>>;
    /// The handle is gone.
    fn forget_waiter(&self);
    fn is_finished(&self) -> bool;
    fn deadline(&self) -> Tick;
    fn counts(&self) -> Counts;
    fn set_missed_tick_behavior(&self, behavior: MissedTickBehavior);
    fn name(&self) -> &OnceLock<Cow<'static, str>>;
}

impl<W: Work> Task<W> {
    /// Schedules `work` for `deadline`, where it is `now` already. The caller has taken a place.
    pub(super) fn schedule(
        driver: DriverRef,
        runtime: Option<Handle>,
        work: W,
        now: Tick,
        deadline: Tick,
    ) -> Arc<Self> {
        let task = Arc::new(Self {
            driver,
            runtime,
            name: OnceLock::new(),
            state: Mutex::new(State {
                phase: Phase::Pending { work, node: None },
                deadline: deadline.min(LAST),
                missed: MissedTickBehavior::default(),
                waiter: None,
                counts: Counts::default(),
            }),
        });
        let mut errands = Errands::new(driver);
        task.place(&mut task.state.lock(), now, &mut errands);
        errands.run();
        task
    }

    /// Arms pending work that has no node, or sends it off if its time has come.
    fn place(self: &Arc<Self>, state: &mut State<W>, now: Tick, errands: &mut Errands<W>) {
        let Phase::Pending { node, .. } = &mut state.phase else {
            return;
        };
        debug_assert!(node.is_none(), "a node is taken out before another comes");
        if state.deadline <= now {
            errands.send = Some(self.clone());
            return;
        }
        let waker = Waker::from(self.clone());
        match self.driver.arm_quietly(state.deadline, waker) {
            Ok((armed, turn)) => {
                *node = Some(armed);
                errands.turn |= turn;
            }
            Err(Refused { waker, ring }) => {
                errands.armed = waker;
                errands.turn |= ring;
                errands.end(state, Outcome::Closed);
            }
        }
    }

    /// The runtime on which it runs, unless that has ended.
    pub(super) fn runtime(&self) -> Option<Handle> {
        self.runtime.clone().or_else(|| self.driver.runtime())
    }
}

// === the wheel's side ===

impl<W: Work> Wake for Task<W> {
    /// Its node has fired, or the timer was closed.
    fn wake(self: Arc<Self>) {
        let mut errands = Errands::new(self.driver);
        self.fired(&mut self.state.lock(), &mut errands);
        errands.run();
    }
}

impl<W: Work> Task<W> {
    fn fired(self: &Arc<Self>, state: &mut State<W>, errands: &mut Errands<W>) {
        let Phase::Pending { node, .. } = &mut state.phase else {
            return;
        };
        if self.driver.is_closed() {
            return errands.end(state, Outcome::Closed);
        }
        // Anything else is the wake of a node that was left since.
        let Some(fired) = node.take_if(|node| node.node().has_fired()) else {
            return;
        };
        errands.leave(fired);
        // It may have fired for an earlier deadline, while it was moved: not early, so again.
        self.place(state, self.driver.elapsed(), errands);
    }
}

// === the runner's side ===

impl<W: Work> Task<W> {
    /// Takes the work to run a round of it; none if it was cancelled or moved meanwhile.
    pub(super) fn start(&self) -> Option<W> {
        let now = self.driver.now();
        let mut state = self.state.lock();
        let running = Phase::Running { cancelled: false };
        let work = match core::mem::replace(&mut state.phase, running) {
            Phase::Pending { work, node: None } => work,
            other => {
                state.phase = other;
                return None;
            }
        };
        state.counts.rounds += 1;
        if !W::REPEATS {
            drop(Place(self.driver));
        }
        if let Some(period) = work.period() {
            let next = state.missed.next_tick(state.deadline, now, period);
            state.deadline = next.min(LAST);
        }
        drop(state);
        let name = self.name.get().map(|name| &**name);
        run_foreign(|| tracing::debug!(target: "cogwheel", name, "scheduled work starts"));
        Some(work)
    }

    /// A round has ended.
    pub(super) fn ended(
        self: &Arc<Self>,
        work: Option<W>,
        result: Result<<W::Round as Future>::Output, Box<dyn Any + Send>>,
    ) {
        let panicked = result.is_err();
        let outcome = match result {
            Ok(output) => W::output(output).map(Outcome::Fired),
            Err(payload) => self.report(payload).map(Outcome::Panicked),
        };
        let now = self.driver.now();
        let mut errands = Errands::new(self.driver);
        let mut state = self.state.lock();
        state.counts.panics += u64::from(panicked);
        let cancelled = matches!(state.phase, Phase::Running { cancelled: true });
        match (outcome, work) {
            (Some(outcome), work) => {
                errands.work = work;
                errands.end(&mut state, outcome);
            }
            (None, Some(work)) if !cancelled => {
                state.phase = Phase::Pending { work, node: None };
                self.place(&mut state, now, &mut errands);
            }
            (None, work) => {
                errands.work = work;
                errands.end(&mut state, Outcome::Cancelled);
            }
        }
        drop(state);
        errands.run();
    }

    /// Tells of a panic, and gives back the payload if it belongs to the outcome.
    fn report(&self, payload: Box<dyn Any + Send>) -> Option<Box<dyn Any + Send>> {
        let name = self.name.get().map(|name| &**name);
        let panic = text_of(&*payload);
        run_foreign(|| tracing::warn!(target: "cogwheel", name, panic, "scheduled work panicked"));
        if W::REPEATS {
            run_foreign(|| drop(payload));
            return None;
        }
        Some(payload)
    }

    /// The runtime has dropped a runner that had not ended; `work` if it had started.
    pub(super) fn abandoned(&self, work: Option<W>, started: bool) {
        let mut errands = Errands::new(self.driver);
        errands.work = work;
        let mut state = self.state.lock();
        match state.phase {
            Phase::Running { cancelled: true } if started => {
                errands.end(&mut state, Outcome::Cancelled);
            }
            Phase::Running { .. } if started => errands.end(&mut state, Outcome::Closed),
            Phase::Pending { node: None, .. } => errands.end(&mut state, Outcome::Closed),
            // It is another runner's, or waits in the wheel, which is about to be closed.
            _ => {}
        }
        drop(state);
        errands.run();
    }
}

// === the handle's side ===

impl<W: Work> Job<W::Output> for Task<W> {
    fn cancel(&self) -> bool {
        let mut errands = Errands::new(self.driver);
        let mut state = self.state.lock();
        let cancelled = match &mut state.phase {
            Phase::Pending { .. } => {
                errands.end(&mut state, Outcome::Cancelled);
                true
            }
            Phase::Running { cancelled } if W::REPEATS => !core::mem::replace(cancelled, true),
            Phase::Running { .. } | Phase::Ended(_) => false,
        };
        drop(state);
        errands.run();
        cancelled
    }

    fn reschedule(self: Arc<Self>, deadline: Tick) -> bool {
        let now = self.driver.now();
        let mut errands = Errands::new(self.driver);
        let mut state = self.state.lock();
        let moved = self.move_to(&mut state, deadline.min(LAST), now, &mut errands);
        drop(state);
        errands.run();
        moved
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Outcome<W::Output>> {
        let mut spare = None;
        loop {
            let mut state = self.state.lock();
            if let Phase::Ended(outcome) = &mut state.phase {
                let outcome = outcome.take();
                drop(state);
                return Poll::Ready(outcome.expect("`Scheduled` polled after completion"));
            }
            let known = state.waiter.as_ref();
            if known.is_some_and(|known| known.will_wake(cx.waker())) {
                return Poll::Pending;
            }
            let Some(waiter) = spare.take() else {
                drop(state);
                // The user's code, hence without the lock.
                spare = Some(cx.waker().clone());
                continue;
            };
            let old = state.waiter.replace(waiter);
            drop(state);
            drop(old);
            return Poll::Pending;
        }
    }

    fn forget_waiter(&self) {
        let waiter = self.state.lock().waiter.take();
        drop(waiter);
    }

    fn is_finished(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Ended(_))
    }

    fn deadline(&self) -> Tick {
        self.state.lock().deadline
    }

    fn counts(&self) -> Counts {
        self.state.lock().counts
    }

    fn set_missed_tick_behavior(&self, behavior: MissedTickBehavior) {
        self.state.lock().missed = behavior;
    }

    fn name(&self) -> &OnceLock<Cow<'static, str>> {
        &self.name
    }
}

impl<W: Work> Task<W> {
    fn move_to(
        self: &Arc<Self>,
        state: &mut State<W>,
        deadline: Tick,
        now: Tick,
        errands: &mut Errands<W>,
    ) -> bool {
        let old = state.deadline;
        match &mut state.phase {
            Phase::Pending { .. } if self.driver.is_closed() => {
                errands.end(state, Outcome::Closed);
                false
            }
            Phase::Pending { node, .. } => {
                state.deadline = deadline;
                match node {
                    // If it has fired meanwhile, its wake is still to come and sees to it.
                    Some(node) if deadline > now => {
                        errands.turn |= self.driver.reset_quietly(*node, old, deadline);
                        return true;
                    }
                    // A runner is on its way already.
                    None if deadline <= now => return true,
                    _ => {}
                }
                if let Some(node) = node.take() {
                    errands.complete(node);
                }
                self.place(state, now, errands);
                matches!(state.phase, Phase::Pending { .. })
            }
            Phase::Running { cancelled: false } if W::REPEATS => {
                state.deadline = deadline;
                true
            }
            Phase::Running { .. } | Phase::Ended(_) => false,
        }
    }
}

/// What is left to do when the lock has been released: nearly all of it runs foreign code.
#[must_use]
struct Errands<W: Work> {
    driver: DriverRef,
    /// The waker of a node that was left, which is a reference to the task.
    armed: Option<Waker>,
    turn: bool,
    /// To be sent off in a runner.
    send: Option<Arc<Task<W>>>,
    waiter: Option<Waker>,
    /// To be dropped.
    work: Option<W>,
}

impl<W: Work> Errands<W> {
    const fn new(driver: DriverRef) -> Self {
        Self {
            driver,
            armed: None,
            turn: false,
            send: None,
            waiter: None,
            work: None,
        }
    }

    /// Gives a node back.
    fn leave(&mut self, node: NodeId) {
        let (waker, turn) = self.driver.cancel_quietly(node);
        self.armed = waker;
        self.turn |= turn;
    }

    /// As [`leave`](Self::leave), where the time of the node has come.
    fn complete(&mut self, node: NodeId) {
        let (waker, turn) = self.driver.complete_quietly(node);
        self.armed = waker;
        self.turn |= turn;
    }

    /// Ends the task.
    fn end(&mut self, state: &mut State<W>, outcome: Outcome<W::Output>) {
        let ended = Phase::Ended(Some(outcome));
        let before = core::mem::replace(&mut state.phase, ended);
        // One that ran and does not repeat has given its place back when it started.
        let place = match before {
            Phase::Pending { .. } => Some(Place(self.driver)),
            Phase::Running { .. } if W::REPEATS => Some(Place(self.driver)),
            Phase::Running { .. } | Phase::Ended(_) => None,
        };
        if let Phase::Pending { work, node } = before {
            self.work = Some(work);
            if let Some(node) = node {
                self.leave(node);
            }
        }
        drop(place);
        self.waiter = state.waiter.take();
    }

    fn run(self) {
        drop(self.armed);
        if self.turn {
            self.driver.turn();
        }
        if let Some(task) = self.send {
            runner::send(task);
        }
        // PANIC: each of these is the user's code, and one must not cost the other.
        if let Some(waiter) = self.waiter {
            run_foreign(|| waiter.wake());
        }
        if let Some(work) = self.work {
            run_foreign(|| drop(work));
        }
    }
}
