//! What only happens between two threads at the right moment, made to happen step by step.

#![forbid(unsafe_code)]

use core::task::{Context, Waker};
use std::task::Wake;

use tokio::time::{Duration, sleep};

use super::alarm::{Bell, Errand};
use super::later::Later;
use super::line::Arrival;
use super::state::{Look, State};
use super::{Shared, channel};
use crate::clock;
use crate::primitive::{Arc, AtomicU64, Ordering, Weak};
use crate::tick::Tick;

#[derive(Default)]
struct Wakes(AtomicU64);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A state in which one receiver waits and has taken the bell out.
fn waiting() -> (State<u32>, Arc<Wakes>, Errand) {
    let mut state = State::new(10);
    let wakes = Arc::new(Wakes::default());
    state.insert(1, tick(10), &mut Later::default());
    let Look::Arm(errand) = look(&mut state, &wakes, &mut None) else {
        panic!("there is an item, and no alarm yet");
    };
    assert_eq!(errand.until, tick(10));
    (state, wakes, errand)
}

fn look(state: &mut State<u32>, wakes: &Arc<Wakes>, place: &mut Option<usize>) -> Look<()> {
    let waker = Waker::from(wakes.clone());
    let fresh = Some((waker.clone(), clock::context()));
    let mut arrival = Arrival {
        waker: &waker,
        fresh,
    };
    let now = clock::context_now();
    state.look(now, place, &mut arrival, &mut Later::default(), |_, _| None)
}

fn tick(seconds: u64) -> Tick {
    clock::context_now().after(Duration::from_secs(seconds))
}

fn count(wakes: &Wakes) -> u64 {
    wakes.0.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn an_item_that_came_first_while_the_bell_was_out_is_seen_when_it_comes_back() {
    for (seconds, armed) in [(5, false), (10, true), (20, true)] {
        let (mut state, wakes, errand) = waiting();
        state.insert(2, tick(seconds), &mut Later::default());
        assert_eq!(count(&wakes), 0, "who has the bell will look");
        let bell = Bell::new(errand.until);
        let back = state.bring_back(bell, errand.until, &mut Later::default());
        assert_eq!(back, armed, "an item in {seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_ring_while_the_bell_was_out_is_heard_when_it_comes_back() {
    let (mut state, wakes, errand) = waiting();
    assert!(state.ring(&mut Later::default()).is_none());
    assert_eq!(count(&wakes), 0);
    let bell = Bell::new(errand.until);
    assert!(!state.bring_back(bell, errand.until, &mut Later::default()));
    assert!(!state.alarm.covers(tick(10)));
}

#[tokio::test(start_paused = true)]
async fn a_ring_that_nobody_understands_makes_somebody_look() {
    let (mut state, wakes, errand) = waiting();
    let bell = Bell::new(errand.until);
    assert!(state.bring_back(bell, errand.until, &mut Later::default()));
    // The bell has not sounded: this is the echo of another one.
    assert!(state.ring(&mut Later::default()).is_none());
    assert_eq!(count(&wakes), 1);
}

#[tokio::test(start_paused = true)]
async fn an_errand_that_fails_makes_somebody_look() {
    let (mut state, wakes, _errand) = waiting();
    state.bring_back_unarmed(None, &mut Later::default());
    state.pass_on(&mut Later::default());
    assert_eq!(count(&wakes), 1);
}

#[tokio::test(start_paused = true)]
async fn a_bell_that_comes_back_after_the_last_receiver_went_is_not_kept() {
    let (mut state, _wakes, errand) = waiting();
    state.receivers = 0;
    let bell = Bell::new(errand.until);
    drop(state.abandon(&mut Later::default()));
    state.bring_back(bell, errand.until, &mut Later::default());
    assert!(!state.alarm.has_bell());
}

#[tokio::test(start_paused = true)]
async fn a_channel_whose_ends_are_gone_is_freed_though_its_alarm_was_armed() {
    let mut channels = Vec::new();
    for _ in 0..10 {
        let (sender, mut receiver) = channel();
        sender.insert(1, Duration::from_secs(10));
        let waker = Waker::from(Arc::new(Wakes::default()));
        let polled = receiver.poll_recv(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        channels.push(Arc::downgrade(receiver.shared()));
    }
    sleep(Duration::from_secs(1)).await;
    // A thread may keep the waker of its last timer for the next one, but none of those before.
    let alive = channels.iter().filter_map(Weak::<Shared<u32>>::upgrade);
    assert!(alive.count() <= 1);
}
