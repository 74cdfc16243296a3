//! `schedule`: when work starts, how it ends, and what its handle can still do about it.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use cogwheel::scheduled::Outcome;
use cogwheel::time::{Duration, Instant, sleep};
use cogwheel::{Scheduled, Timer};
use tokio::runtime::{Handle, Runtime};
use tokio::task::yield_now;

#[path = "common/drive.rs"]
mod drive;

use drive::{
    LONG, Wakes, acting, acting_last, ms, one_thread, paused, poll, stops_of, text_of, timer_of,
    two_workers, wait, watched,
};

const KINDS: [fn() -> Runtime; 3] = [paused, one_thread, two_workers];

/// Polls once with a waker that does nothing.
fn glance<T>(scheduled: &mut Scheduled<T>) -> Poll<Outcome<T>> {
    poll(scheduled, Waker::noop())
}

/// Something to capture, and a way to see whether it is still held.
fn capture() -> (Arc<()>, impl Fn() -> bool) {
    let captured = Arc::new(());
    let watch = Arc::downgrade(&captured);
    (captured, move || watch.strong_count() > 0)
}

// === start ===

#[tokio::test(start_paused = true)]
async fn work_starts_at_its_deadline_to_the_nanosecond_of_the_clock() {
    let start = Instant::now();
    let timer = Timer::current();
    let delay = Duration::from_nanos(1_234_567_890);
    let by_delay = timer.schedule(delay, async { Instant::now() });
    assert_eq!(by_delay.deadline(), start + delay);
    let by_instant = timer.schedule_at(start + ms(2_000), async { Instant::now() });
    let began = by_delay.await.fired().unwrap();
    assert!(began >= start + delay && began < start + delay + ms(1));
    assert_eq!(by_instant.await.fired(), Some(start + ms(2_000)));
}

#[tokio::test(start_paused = true)]
async fn zero_and_past_deadlines_are_spawned_at_once_and_not_run_inline() {
    let timer = Timer::current();
    sleep(ms(10)).await;
    let start = Instant::now();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = |ran: &Arc<AtomicUsize>| {
        let ran = ran.clone();
        async move { _ = ran.fetch_add(1, Ordering::Relaxed) }
    };
    let works = [
        timer.schedule(Duration::ZERO, count(&ran)),
        timer.schedule_at(start, count(&ran)),
        timer.schedule_at(start - ms(5), count(&ran)),
    ];
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    for work in works {
        assert!(work.await.is_fired());
    }
    assert_eq!(ran.load(Ordering::Relaxed), 3);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn what_lies_practically_never_ahead_can_be_cancelled_and_moved() {
    let timer = Timer::current();
    let far = [
        timer.schedule(Duration::MAX, async {}),
        timer.schedule(Duration::from_secs(u64::MAX), async {}),
        timer.schedule_at(Instant::now() + LONG * 24 * 365 * 400, async {}),
    ];
    sleep(LONG * 24 * 365).await;
    let [first, second, third] = far;
    assert!(!first.is_finished() && !second.is_finished() && !third.is_finished());
    assert!(first.cancel());
    assert!(second.reschedule(Instant::now() + ms(1)));
    assert!(second.await.is_fired());
    assert!(third.cancel());
}

/// Wheel case 23.
#[test]
fn work_runs_on_the_runtime_of_the_timer_wherever_it_is_scheduled() {
    watched(|| {
        let (home, other) = (two_workers(), one_thread());
        let timer = timer_of(&home);
        let id = home.handle().id();
        let from_other = other.block_on(async {
            let work = timer.schedule(ms(1), async { Handle::current().id() });
            work.await.fired()
        });
        assert_eq!(from_other, Some(id));
        let zero = timer.schedule(Duration::ZERO, async { Handle::current().id() });
        assert_eq!(wait(zero).fired(), Some(id));
    });
}

#[test]
fn a_plain_thread_schedules_moves_cancels_and_waits() {
    watched(|| {
        let runtime = two_workers();
        let timer = timer_of(&runtime);
        let start = Instant::now();
        let work = timer.schedule(LONG, async { Instant::now() });
        assert!(work.reschedule(start + ms(5)));
        assert!(wait(work).fired().unwrap() >= start + ms(5));
        let cancelled = timer.schedule(LONG, async {});
        assert!(cancelled.cancel());
        assert!(wait(cancelled).is_cancelled());
    });
}

// === cancel ===

#[tokio::test(start_paused = true)]
async fn a_cancel_is_true_once_and_releases_what_was_captured_at_once() {
    let (captured, held) = capture();
    let work = Timer::current().schedule(LONG, async move { drop(captured) });
    assert!(held() && !work.is_finished());
    assert!(work.cancel());
    assert!(!held() && work.is_finished());
    assert!(!work.cancel());
    assert!(!work.reschedule(Instant::now() + ms(1)));
    assert!(work.await.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn work_that_is_due_can_be_cancelled_until_its_task_is_polled() {
    let timer = Timer::current();
    let ran = Arc::new(AtomicBool::new(false));
    let work = || {
        let ran = ran.clone();
        async move { ran.store(true, Ordering::Relaxed) }
    };
    let zero = timer.schedule(Duration::ZERO, work());
    let later = timer.schedule(ms(10), work());
    // By then both have fired; this waker acts before their tasks are polled.
    let acted = Arc::new(AtomicBool::new(false));
    let act = acted.clone();
    let waker = acting(move || {
        act.store(true, Ordering::Relaxed);
        assert!(later.cancel());
    });
    let mut after = Timer::current().sleep(ms(10));
    assert!(poll(&mut after, &waker).is_pending());
    assert!(zero.cancel());
    sleep(ms(100)).await;
    assert!(acted.load(Ordering::Relaxed));
    assert!(!ran.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn work_that_has_started_is_not_cancelled_and_not_moved() {
    let work = Timer::current().schedule(ms(1), async {
        sleep(ms(10)).await;
        7
    });
    sleep(ms(5)).await;
    assert!(!work.cancel());
    assert!(!work.reschedule(Instant::now() + LONG));
    assert!(!work.is_finished());
    assert_eq!(work.await.fired(), Some(7));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_handle_detaches_and_one_that_was_told_so_cancels() {
    let timer = Timer::current();
    let ran = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let ran = ran.clone();
        async move { ran.lock().unwrap().push(what) }
    };
    drop(timer.schedule(ms(1), note("detached")));
    drop(timer.schedule(ms(1), note("cancelled")).cancel_on_drop());
    let kept = timer.schedule(ms(1), note("kept")).cancel_on_drop();
    sleep(ms(2)).await;
    assert_eq!(*ran.lock().unwrap(), ["detached", "kept"]);
    assert!(kept.await.is_fired());
}

#[tokio::test(start_paused = true)]
async fn a_future_may_use_the_timer_and_panic_in_its_drop() {
    struct Reschedules(Timer, Arc<Scheduled<()>>);
    impl Drop for Reschedules {
        fn drop(&mut self) {
            assert!(self.1.reschedule(Instant::now() + ms(1)));
            drop(self.0.schedule(ms(1), async {}));
            panic!("in a drop");
        }
    }
    let timer = Timer::current();
    let other = Arc::new(timer.schedule(LONG, async {}));
    let reschedules = Reschedules(timer.clone(), other.clone());
    let work = timer.schedule(LONG, async move { drop(reschedules) });
    assert!(work.cancel());
    assert!(work.await.is_cancelled());
    sleep(ms(2)).await;
    assert!(other.is_finished());
}

#[test]
fn under_exact_cancel_a_cancelled_work_leaves_no_stop_of_the_clock() {
    let stops = stops_of(|| async {
        let timer = Timer::builder().exact_cancel(true).build().unwrap();
        assert!(timer.schedule(ms(10), async {}).cancel());
        let moved = timer.schedule(ms(20), async {});
        assert!(moved.reschedule(Instant::now()));
        assert!(moved.await.is_fired());
        tokio::time::sleep(ms(50)).await;
    });
    assert_eq!(stops, [ms(50)]);
}

// === reschedule ===

#[tokio::test(start_paused = true)]
async fn moved_work_starts_at_its_last_deadline_only() {
    let timer = Timer::current();
    let start = Instant::now();
    for moves in [
        vec![200],
        vec![50],
        vec![0],
        vec![200, 50, 150, 149],
        vec![5, 1_000],
    ] {
        let work = timer.schedule(ms(100), async { Instant::now() });
        let base = Instant::now();
        let last = base + ms(*moves.last().unwrap());
        for to in moves {
            assert!(work.reschedule(base + ms(to)));
        }
        assert_eq!(work.deadline(), last);
        assert_eq!(work.await.fired(), Some(last));
    }
    let past = timer.schedule(LONG, async { Instant::now() });
    let now = Instant::now();
    assert!(past.reschedule(start));
    assert_eq!(past.await.fired(), Some(now));
}

#[tokio::test(start_paused = true)]
async fn work_that_was_sent_off_can_still_be_moved() {
    let timer = Timer::current();
    let start = Instant::now();
    let work = timer.schedule(Duration::ZERO, async { Instant::now() });
    assert!(work.reschedule(start + ms(10)));
    assert!(work.reschedule(start));
    assert!(work.reschedule(start + ms(20)));
    assert_eq!(work.await.fired(), Some(start + ms(20)));
}

#[tokio::test(start_paused = true)]
async fn a_move_to_never_is_undone_by_the_next() {
    let start = Instant::now();
    let work = Timer::current().schedule(ms(1), async { Instant::now() });
    assert!(work.reschedule(start + LONG * 24 * 365 * 1_000));
    sleep(LONG).await;
    assert!(work.reschedule(start));
    assert_eq!(work.await.fired(), Some(start + LONG));
}

// === outcome ===

#[tokio::test(start_paused = true)]
async fn a_panic_is_the_outcome_and_harms_nobody_else() {
    let timer = Timer::current();
    let start = Instant::now();
    let panics = timer.schedule(ms(10), async { panic!("on purpose") });
    let beside = timer.schedule(ms(10), async { Instant::now() });
    let Outcome::<()>::Panicked(payload) = panics.await else {
        panic!("it panicked");
    };
    assert_eq!(payload.downcast_ref(), Some(&"on purpose"));
    assert_eq!(beside.await.fired(), Some(start + ms(10)));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_drop_of_a_finished_future_is_the_outcome() {
    struct Ready;
    impl Future for Ready {
        type Output = u8;
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u8> {
            Poll::Ready(1)
        }
    }
    impl Drop for Ready {
        fn drop(&mut self) {
            panic!("in the drop");
        }
    }
    let outcome = Timer::current().schedule(ms(1), Ready).await;
    assert!(outcome.is_panicked(), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn the_outcome_waits_until_it_is_taken_and_is_taken_once() {
    let mut work = Timer::current().schedule(ms(1), async { 5 });
    tokio::select! {
        biased;
        _ = &mut work => panic!("it is not due"),
        () = yield_now() => {}
    }
    sleep(ms(5)).await;
    assert!(work.is_finished());
    assert_eq!((&mut work).await.fired(), Some(5));
    assert!(work.is_finished());
    let text = text_of(|| assert!(glance(&mut work).is_pending()));
    assert_eq!(text, "`Scheduled` polled after completion");
}

#[tokio::test(start_paused = true)]
async fn the_party_that_polled_last_is_woken_once_and_its_waker_is_not_kept() {
    let mut work = Timer::current().schedule(ms(5), async {});
    let (old, waker) = Wakes::new();
    assert!(poll(&mut work, &waker).is_pending());
    let (new, waker_of_new) = Wakes::new();
    for _ in 0..3 {
        assert!(poll(&mut work, &waker_of_new).is_pending());
    }
    drop(waker);
    assert_eq!(Arc::strong_count(&old), 1);
    sleep(ms(6)).await;
    assert_eq!((old.count(), new.count()), (0, 1));

    let mut dropped = Timer::current().schedule(ms(5), async {});
    assert!(poll(&mut dropped, &waker_of_new).is_pending());
    drop((dropped, waker_of_new));
    assert_eq!(Arc::strong_count(&new), 1);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_party_may_cancel_other_work_and_panic() {
    let timer = Timer::current();
    let (captured, held) = capture();
    let other = timer.schedule(LONG, async move { drop(captured) });
    let waker = acting(move || {
        assert!(other.cancel());
        panic!("in a waker");
    });
    let mut work = timer.schedule(LONG, async {});
    assert!(poll(&mut work, &waker).is_pending());
    assert!(work.cancel());
    assert!(!held());
    assert!(glance(&mut work).is_ready());
}

// === the end of the runtime ===

#[test]
fn what_waits_when_the_runtime_ends_is_closed_and_released_and_its_party_is_woken() {
    for make in KINDS {
        watched(move || {
            let runtime = make();
            let timer = timer_of(&runtime);
            let (captured, held) = capture();
            let mut work = timer.schedule(LONG, async move { drop(captured) });
            let (wakes, waker) = Wakes::new();
            assert!(poll(&mut work, &waker).is_pending());
            drop(runtime);
            assert!(!held());
            assert_eq!(wakes.count(), 1);
            assert!(!work.cancel());
            assert!(!work.reschedule(Instant::now() + ms(1)));
            assert!(wait(work).is_closed());
        });
    }
}

#[test]
fn what_runs_when_the_runtime_ends_is_closed_and_released_first() {
    for make in KINDS {
        watched(move || {
            let runtime = make();
            let timer = timer_of(&runtime);
            let (captured, held) = capture();
            let mut work = timer.schedule(Duration::ZERO, async move {
                let _captured = captured;
                pending::<()>().await;
            });
            // It has started as soon as it can no longer be moved.
            runtime.block_on(async {
                while work.reschedule(Instant::now()) {
                    tokio::time::sleep(ms(1)).await;
                }
            });
            assert!(held());
            let released = Arc::new(Mutex::new(None));
            let note = released.clone();
            let waker = acting(move || *note.lock().unwrap() = Some(!held()));
            assert!(poll(&mut work, &waker).is_pending());
            drop(runtime);
            assert_eq!(*released.lock().unwrap(), Some(true), "when it is woken");
            assert!(wait(work).is_closed());
        });
    }
}

#[test]
fn what_was_sent_off_when_the_runtime_ends_is_closed() {
    watched(|| {
        let runtime = paused();
        let timer = timer_of(&runtime);
        let (captured, held) = capture();
        let work = timer.schedule(Duration::ZERO, async move { drop(captured) });
        assert!(held());
        drop(runtime);
        assert!(!held());
        assert!(wait(work).is_closed());
    });
}

/// Wheel case 19.
#[test]
fn a_closed_timer_drops_what_it_is_given() {
    for make in KINDS {
        watched(move || {
            let runtime = make();
            let timer = timer_of(&runtime);
            drop(runtime);
            for delay in [Duration::ZERO, ms(1), Duration::MAX] {
                let (captured, held) = capture();
                let work = timer.schedule(delay, async move { drop(captured) });
                assert!(!held());
                assert!(wait(work).is_closed());
            }
            let every = timer.schedule_every(ms(1), || async {});
            assert!(wait(every).is_closed());
        });
    }
}

#[test]
fn a_future_may_schedule_more_in_its_drop_while_the_runtime_ends() {
    for make in KINDS {
        watched(move || {
            let runtime = make();
            let timer = timer_of(&runtime);
            let late: Arc<Mutex<Option<Scheduled<()>>>> = Arc::default();
            let (note, again) = (late.clone(), timer.clone());
            let last = acting_last(move || {
                *note.lock().unwrap() = Some(again.schedule(Duration::ZERO, async {}));
            });
            drop(timer.schedule(LONG, async move { drop(last) }));
            drop(runtime);
            let late = late.lock().unwrap().take().expect("it was dropped");
            assert!(wait(late).is_closed());
        });
    }
}

#[test]
fn a_handle_may_be_dropped_on_any_thread_after_the_end() {
    for make in KINDS {
        let runtime = make();
        let timer = timer_of(&runtime);
        let plain = timer.schedule(LONG, async {});
        let cancelling = timer.schedule(LONG, async {}).cancel_on_drop();
        drop(runtime);
        thread::spawn(move || drop((plain, cancelling)))
            .join()
            .unwrap();
    }
}

#[test]
fn the_handle_is_send_sync_and_unpin_whatever_the_output() {
    fn is<T: Send + Sync + Unpin + 'static>() {}
    is::<Scheduled<()>>();
    is::<Scheduled<std::convert::Infallible>>();
    is::<Scheduled<std::cell::Cell<u8>>>();
    fn is_sent<T: Send + Unpin + 'static>() {}
    is_sent::<Outcome<()>>();
}
