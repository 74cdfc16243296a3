//! `Sleep`s on a `ManualClock` against a list: never early, in the first turn at or after the
//! deadline, exactly one of fire and cancel, nothing lost.
//!
//! Sleeps are made, polled, moved and dropped, one after the other, by three threads, one of which
//! ends each time and so gives back what it keeps. Their tasks count, panic, arm another timer or
//! move the clock while they are woken. After every action: each wake-up that had to come came, once,
//! to the task that polled last and at the very deadline; the answer of each poll; how many timers are
//! pending; how many wakers are held. The timer is closed and opened again in between.
//!
//! Seen to fail with: a waker's panic that is not caught; a common wake-up that is waited for past the
//! deadline; and, of `ci/mutants`, `reset-without-push`, `look-ignores-deadline`, `cancel-keeps-waker`
//! and `close-forgets-kept`.

mod hands;
mod model;
mod task;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cogwheel::time::Sleep;
use cogwheel::{ManualClock, Timer};
use tokio::time::Instant;

use self::hands::Hand;
use self::model::{Key, Model, Owner};
use self::task::{Event, Kind, Outside, Task};
use crate::input::Input;
use crate::time;

/// Sleeps that one input may make.
const MOST: usize = 500;
const TASKS: usize = 5;
/// Threads that may keep a waker: the one that ends gives it back.
const KEEPERS: usize = 2;

/// Does what `bytes` say to a timer and to its model.
///
/// # Panics
///
/// If they disagree.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut world = Box::new(World::new(&mut input));
    let mut hand = Hand::Own;
    while !input.is_empty() {
        if input.once_in(8) {
            hand = Hand::of(input.below(3));
        }
        let action = Action::read(&mut input, &world);
        world = hand.run(move || {
            world.act(action);
            world
        });
        world.compare_wakers();
    }
    world.close(None);
}

/// One thing to do. Sleeps are named by a number of any size.
#[derive(Clone, Copy, Debug)]
enum Action {
    Make(Instant),
    MakeFor(Duration),
    Poll(usize, usize),
    Drop(usize),
    Reset(usize, Instant),
    /// Makes and polls so many of the same deadline.
    Crowd(usize, Instant, usize),
    /// Drops so many.
    Leave(usize),
    Advance(Instant),
    AdvanceToNext,
    NextDeadline,
    /// Closes the timer; another one begins, so many nanoseconds later.
    Close(u64),
}

impl Action {
    fn read(input: &mut Input<'_>, world: &World) -> Self {
        let now = world.model.now;
        let action = input.below(32);
        let sleep = match action {
            5..=19 => input.below(256),
            _ => 0,
        };
        match action {
            0..=3 => Self::Make(time::deadline(input, now)),
            4 => Self::MakeFor(match input.ticks() {
                u64::MAX => Duration::MAX,
                ticks => Duration::from_nanos(ticks >> 2),
            }),
            5..=12 => Self::Poll(sleep, input.below(TASKS)),
            13 | 14 => Self::Drop(sleep),
            15..=19 => Self::Reset(sleep, time::deadline(input, now)),
            20 => {
                let deadline = time::deadline(input, now);
                Self::Crowd(input.below(256), deadline, input.below(TASKS))
            }
            21 => Self::Leave(input.below(256)),
            22..=24 => Self::Advance(time::deadline(input, now)),
            25 => {
                let first = world.model.first().unwrap_or(now);
                let first = first.min(time::instant_at(u64::MAX));
                let nanos = Duration::from_nanos(input.below(3) as u64);
                Self::Advance(first + nanos - Duration::from_nanos(1))
            }
            26..=28 => Self::AdvanceToNext,
            29 | 30 => Self::NextDeadline,
            _ if input.once_in(4) => Self::Close(input.ticks() >> 2),
            _ => Self::AdvanceToNext,
        }
    }
}

/// A sleep and what the model says of it.
struct Entry {
    sleep: Sleep,
    number: u64,
    deadline: Instant,
    state: State,
    /// Whether it was made for a duration, and neither moved nor polled since.
    fresh: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Nobody waits.
    Idle,
    /// The task that polled last is to be woken.
    Armed(Key),
    /// Its task was woken and has not polled since.
    Fired,
    Done,
}

struct World {
    clock: ManualClock,
    timer: Timer,
    outside: Arc<Outside>,
    tasks: [Arc<Task>; TASKS],
    /// Whether some task moves the clock: then only the bounds of the times are known.
    moving: bool,
    /// Whether cancelled timers release their wakers at once.
    releasing: bool,
    entries: Vec<Entry>,
    made: usize,
    model: Model,
}

impl World {
    fn new(input: &mut Input<'_>) -> Self {
        let (exact, releasing) = (input.once_in(3), input.once_in(3));
        let grid = match input.below(4) {
            0 => input.ticks() >> 8,
            _ => 0,
        };
        let builder = Timer::builder().exact_cancel(exact);
        let builder = builder.release_wakers(releasing);
        let builder = builder.coalesce(Duration::from_nanos(grid));
        let clock = time::clock(input, builder);
        let moving = input.once_in(4);
        let outside = Outside::new(&clock);
        let last = if moving {
            Kind::Mover(Duration::from_nanos(input.ticks() >> 8))
        } else {
            Kind::Armer(Duration::from_nanos(1 + (input.ticks() >> 8)))
        };
        let kinds = [
            Kind::Counter,
            Kind::Counter,
            Kind::Counter,
            Kind::Panicker,
            last,
        ];
        let tasks = core::array::from_fn(|n| Task::new(n, kinds[n], &outside));
        let delay = match last {
            Kind::Armer(delay) => Some((TASKS - 1, delay)),
            _ => None,
        };
        Self {
            timer: clock.timer(),
            model: Model::new(clock.now(), grid, delay),
            clock,
            outside,
            tasks,
            moving,
            releasing: releasing || exact,
            entries: Vec::new(),
            made: 0,
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Make(deadline) => self.make_until(deadline),
            Action::MakeFor(duration) => {
                // A sleep ends a tick before the line does, so that it can be told from none.
                let end = time::never() - Duration::from_nanos(1);
                let deadline = time::after(self.clock.now(), duration).min(end);
                self.make(self.timer.sleep(duration), deadline, true);
            }
            Action::Poll(sleep, task) => {
                if let Some(n) = self.pick(sleep) {
                    self.poll(n, task);
                }
            }
            Action::Drop(sleep) => {
                if let Some(n) = self.pick(sleep) {
                    self.drop_one(n);
                }
            }
            Action::Reset(sleep, deadline) => {
                if let Some(n) = self.pick(sleep) {
                    self.reset(n, deadline);
                }
            }
            Action::Crowd(many, deadline, task) => {
                for _ in 0..many {
                    let before = self.entries.len();
                    self.make_until(deadline);
                    if self.entries.len() > before {
                        self.poll(before, task);
                    }
                }
            }
            Action::Leave(many) => {
                for _ in 0..many.min(self.entries.len()) {
                    self.drop_one(self.entries.len() - 1);
                }
            }
            Action::Advance(target) => {
                let before = self.outside.count();
                let moved = self.clock.advance_to(target);
                assert_eq!(moved.fired, self.outside.count() - before);
                self.moved_to(target.max(self.model.now), moved.now);
            }
            Action::AdvanceToNext => self.advance_to_next(),
            Action::NextDeadline => {
                let next = self.model.first().filter(|next| *next < time::never());
                let found = self.clock.next_deadline();
                assert_eq!(found, next.filter(|next| *next < last()));
            }
            Action::Close(later) => self.close(Some(later)),
        }
        self.compare(action);
    }

    fn pick(&self, sleep: usize) -> Option<usize> {
        let many = self.entries.len();
        // The newest are picked more often.
        (many > 0).then(|| many - 1 - sleep % many)
    }

    fn make_until(&mut self, deadline: Instant) {
        self.make(self.timer.sleep_until(deadline), deadline, false);
    }

    /// Notes a new sleep.
    fn make(&mut self, sleep: Sleep, deadline: Instant, fresh: bool) {
        if self.made == MOST {
            return;
        }
        assert_eq!(sleep.deadline(), deadline);
        self.made += 1;
        self.entries.push(Entry {
            deadline: sleep.deadline(),
            sleep,
            number: self.made as u64,
            state: State::Idle,
            fresh,
        });
    }

    fn poll(&mut self, n: usize, task: usize) {
        let waker = Waker::from(Arc::clone(&self.tasks[task]));
        let entry = &mut self.entries[n];
        let polled = Pin::new(&mut entry.sleep).poll(&mut Context::from_waker(&waker));
        drop(waker);
        let done = entry.state == State::Done || entry.deadline <= self.model.now;
        assert_eq!(
            polled.is_ready(),
            done,
            "{:?} at {:?}",
            entry.deadline,
            self.model.now
        );
        match (entry.state, polled) {
            (State::Armed(key), Poll::Pending) => self.model.polled_by(key, task),
            (State::Armed(key), Poll::Ready(())) => {
                self.model.cancel(key);
                entry.state = State::Done;
            }
            (_, Poll::Ready(())) => {
                entry.state = State::Done;
                self.woken_by_poll(n, task);
            }
            (_, Poll::Pending) => {
                let owner = Owner::Entry(entry.number);
                entry.state = State::Armed(self.model.arm(entry.deadline, owner, task));
            }
        }
        self.entries[n].fresh = false;
    }

    /// A sleep that was due when it was polled for the first time may have fired for that poll: then
    /// its task, which has the answer, is woken as well.
    fn woken_by_poll(&mut self, n: usize, task: usize) {
        if self.outside.count_pending() == 0 {
            return;
        }
        let entry = &self.entries[n];
        assert!(entry.fresh, "woken by a poll");
        self.model.arm(entry.deadline, Owner::Nobody, task);
        self.moved_to(self.model.now, self.clock.now());
    }

    fn drop_one(&mut self, n: usize) {
        let entry = self.entries.remove(n);
        if let State::Armed(key) = entry.state {
            self.model.cancel(key);
        }
    }

    fn reset(&mut self, n: usize, deadline: Instant) {
        let entry = &mut self.entries[n];
        entry.sleep.set_deadline(deadline);
        entry.deadline = deadline;
        entry.fresh = false;
        match &mut entry.state {
            State::Armed(key) => *key = self.model.reset(*key, deadline),
            State::Fired => {}
            state => *state = State::Idle,
        }
        // One whose new deadline has passed is woken by the call.
        self.moved_to(self.model.now, self.clock.now());
    }

    fn advance_to_next(&mut self) {
        let next = self.model.first().filter(|next| *next < last());
        let before = self.outside.count();
        let moved = self.clock.advance_to_next();
        assert_eq!(moved.is_some(), next.is_some());
        let (Some(next), Some(moved)) = (next, moved) else {
            return;
        };
        assert_eq!(moved.fired, self.outside.count() - before);
        self.moved_to(next, moved.now);
    }

    /// The clock was moved to `target`, and says that it stands at `now`.
    fn moved_to(&mut self, target: Instant, now: Instant) {
        let events = self.outside.take();
        if self.moving {
            assert!(now >= target, "the clock has not arrived");
            let expected = self.model.advance(now);
            assert!(
                times(&events).all(|at| at <= now),
                "at a time that has not come"
            );
            compare_without_times(&events, &expected);
        } else {
            assert_eq!(now, target);
            let expected = self.model.advance(target);
            compare(events, expected);
        }
        self.settle();
    }

    /// Notes in the entries what the model has fired.
    fn settle(&mut self) {
        let fired = self.model.take_fired();
        for entry in &mut self.entries {
            if fired.contains(&entry.number) {
                entry.state = State::Fired;
            }
        }
    }

    fn compare(&self, action: Action) {
        assert_eq!(
            self.outside.count_pending(),
            0,
            "woken for nothing by {action:?}"
        );
        assert_eq!(self.clock.pending(), self.model.pending());
        if !self.moving {
            assert_eq!(self.clock.now(), self.model.now);
        }
        for entry in &self.entries {
            assert_eq!(entry.sleep.deadline(), entry.deadline);
            match entry.state {
                State::Armed(_) | State::Idle => assert!(!entry.sleep.is_elapsed()),
                State::Done => assert!(entry.sleep.is_elapsed()),
                State::Fired => {}
            }
        }
    }

    /// Each task is referred to by what waits for it, and by nothing else but what threads keep.
    fn compare_wakers(&self) {
        let keepers = if self.releasing { 0 } else { KEEPERS };
        for (n, task) in self.tasks.iter().enumerate() {
            let waiting = self.model.waiting(n);
            let held = Arc::strong_count(task) - 1;
            assert!(held >= waiting, "a waker of task {n} was dropped twice");
            assert!(
                held <= waiting + keepers,
                "a waker of task {n} is held: {held}, {waiting}"
            );
        }
    }

    /// Closes the timer: whatever waits is woken, once. Then another one begins.
    fn close(&mut self, later: Option<u64>) {
        let end = self.clock.now();
        self.clock.close();
        let events = self.outside.take();
        compare_without_times(&events, &self.model.close());
        self.settle();
        for entry in &mut self.entries {
            // What was due when it was closed completes; polling the others would panic.
            if entry.deadline <= end {
                let mut context = Context::from_waker(Waker::noop());
                assert!(Pin::new(&mut entry.sleep).poll(&mut context).is_ready());
            }
        }
        assert_eq!(self.clock.pending(), 0);
        assert!(self.timer.try_sleep(Duration::ZERO).is_err());
        self.entries.clear();
        for task in &self.tasks {
            task.rest();
            assert_eq!(Arc::strong_count(task), 1, "a waker outlives its timer");
        }
        let Some(later) = later else { return };
        let place = time::place_of(end).saturating_add(later);
        self.clock = Timer::builder()
            .release_wakers(self.releasing)
            .build_manual_at(time::instant_at(place));
        self.timer = self.clock.timer();
        self.outside.renew(&self.clock);
        self.model.renew(self.clock.now());
    }
}

/// The last instant that a clock reaches.
fn last() -> Instant {
    time::never() - Duration::from_nanos(1)
}

fn times(events: &[Event]) -> impl Iterator<Item = Instant> {
    events.iter().map(|event| event.at)
}

/// Wake-ups at the same time may come in any order.
fn compare(mut events: Vec<Event>, mut expected: Vec<Event>) {
    events.sort_unstable();
    expected.sort_unstable();
    let same = events.iter().zip(&expected).take_while(|(a, b)| a == b);
    let same = same.count();
    assert_eq!(events.get(same), expected.get(same), "the first difference");
}

fn compare_without_times(events: &[Event], expected: &[Event]) {
    let tasks = |events: &[Event]| {
        let mut tasks: Vec<_> = events.iter().map(|event| event.task).collect();
        tasks.sort_unstable();
        tasks
    };
    assert_eq!(tasks(events), tasks(expected), "the tasks that were woken");
}
