//! `Deadline`, through the public API.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

#[path = "common/drive.rs"]
mod drive;
#[path = "common/place.rs"]
mod place;

use std::future::{pending, ready};
use std::thread;

use cogwheel::error::TimerError;
use cogwheel::time::{Duration, Instant, sleep};
use cogwheel::{Deadline, Timer};
use drive::{ms, paused, timer_of, watched};
use place::panic_of;
use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready, task};

const NANO: Duration = Duration::from_nanos(1);

#[tokio::test(start_paused = true)]
async fn it_is_exact_to_the_nanosecond_and_elapsed_at_its_instant() {
    let deadline = Deadline::after(ms(10));
    assert_eq!(deadline.instant(), Instant::now() + ms(10));
    advance(ms(10) - NANO).await;
    assert_eq!(deadline.remaining(), NANO);
    assert!(!deadline.is_elapsed());
    assert_eq!(deadline.check(), Ok(()));
    advance(NANO).await;
    assert_eq!(deadline.remaining(), Duration::ZERO);
    assert!(deadline.is_elapsed());
    deadline.check().unwrap_err();
    advance(ms(1)).await;
    assert_eq!(deadline.remaining(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn many_futures_of_many_tasks_elapse_at_one_instant() {
    let start = Instant::now();
    let deadline = Deadline::after(ms(100));
    let waits: Vec<_> = (0..50)
        .map(|n| {
            tokio::spawn(async move {
                sleep(ms(n)).await;
                deadline.timeout(pending::<()>()).await.unwrap_err();
                Instant::now()
            })
        })
        .collect();
    for wait in waits {
        assert_eq!(wait.await.unwrap(), start + ms(100));
    }
}

#[tokio::test(start_paused = true)]
async fn a_ready_future_wins_over_a_deadline_that_has_passed() {
    let deadline = Deadline::after(ms(1));
    advance(ms(5)).await;
    assert_eq!(deadline.timeout(ready(7)).await, Ok(7));
    deadline.timeout(pending::<()>()).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn zero_and_past_instants_have_elapsed_and_end_a_wait_at_its_first_poll() {
    advance(ms(5)).await;
    let past = Deadline::at(Instant::now() - ms(5));
    for deadline in [Deadline::after(Duration::ZERO), past] {
        assert!(deadline.is_elapsed());
        assert_ready!(task::spawn(deadline.sleep()).poll());
        assert!(assert_ready!(task::spawn(deadline.timeout(pending::<()>())).poll()).is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_duration_means_never_and_every_path_stands_it() {
    for deadline in [Deadline::after(Duration::MAX), Deadline::never()] {
        assert!(deadline.is_never() && !deadline.is_elapsed());
        assert_eq!(deadline.remaining(), Duration::MAX);
        assert!(deadline.instant() > Instant::now() + Duration::from_secs(1 << 31));
        assert_pending!(task::spawn(deadline.sleep()).poll());
        assert_eq!(deadline.timeout(sleep(ms(1))).await, Ok(()));
        assert_eq!(deadline.cap(ms(3)).remaining(), ms(3));
        assert!(deadline.cap(Duration::MAX).is_never());
    }
    assert!(!Deadline::after(ms(1)).is_never());
}

#[tokio::test(start_paused = true)]
async fn a_capped_deadline_is_never_later_than_its_parent() {
    let parent = Deadline::after(ms(100));
    for (cap, right) in [(0, 0), (40, 40), (100, 100), (200, 100)] {
        assert_eq!(parent.cap(ms(cap)).remaining(), ms(right));
    }
    assert_eq!(parent.cap(Duration::MAX), parent);
    advance(ms(90)).await;
    assert_eq!(parent.cap(ms(40)), parent);
    advance(ms(90)).await;
    assert!(parent.cap(ms(40)).is_elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_earlier_of_two_is_the_same_from_both_sides() {
    let early = Deadline::after(ms(10));
    let late = Deadline::after(ms(20));
    let never = Deadline::never();
    for (first, second) in [(early, late), (late, never), (early, never)] {
        assert_eq!(first.earlier_of(second), first);
        assert_eq!(second.earlier_of(first), first);
        assert_eq!(first.earlier_of(first), first);
    }
}

#[test]
fn a_deadline_on_a_paused_clock_stands_still_whatever_thread_asks() {
    let runtime = paused();
    let timer = timer_of(&runtime);
    let deadline = timer.deadline(ms(50));
    thread::sleep(ms(60));
    let asked = thread::spawn(move || (deadline.remaining(), deadline.is_elapsed()));
    assert_eq!(asked.join().unwrap(), (ms(50), false));
    // A part of it lies on the same clock, and needs no runtime here either.
    assert_eq!(deadline.cap(ms(20)).remaining(), ms(20));
    runtime.block_on(async {
        advance(ms(50)).await;
        assert!(deadline.is_elapsed());
    });
    assert!(deadline.is_elapsed());
}

#[test]
fn deadlines_of_two_clocks_are_compared_by_what_remains() {
    let (still, moving) = (paused(), paused());
    let short = timer_of(&still).deadline(ms(50));
    let long = timer_of(&moving).deadline(ms(80));
    assert_eq!(long.earlier_of(short), short);
    moving.block_on(advance(ms(40)));
    assert_eq!(long.earlier_of(short), long);
    assert_eq!(short.earlier_of(long), long);
    // With as much time left on either clock, it is the one that is asked.
    let same = timer_of(&moving).deadline(ms(50));
    assert_ne!(same, short);
    assert_eq!(same.earlier_of(short), same);
    assert_eq!(short.earlier_of(same), short);
}

#[test]
fn a_wait_made_in_another_runtime_ends_by_the_clock_of_its_own() {
    watched(|| {
        let (own, other) = (paused(), drive::one_thread());
        let deadline = timer_of(&own).deadline(Duration::from_secs(3_600));
        let wait = {
            let _context = other.enter();
            deadline.timeout(pending::<()>())
        };
        own.block_on(wait).unwrap_err();
        assert!(deadline.is_elapsed());
    });
}

#[test]
fn after_its_runtime_has_ended_it_has_elapsed_and_a_wait_panics_when_polled() {
    let runtime = paused();
    let timer = timer_of(&runtime);
    let deadline = timer.deadline(ms(50));
    let fixed = timer.deadline_at(deadline.instant());
    assert_eq!(deadline, fixed);
    drop(runtime);
    assert!(deadline.is_elapsed());
    assert_eq!(deadline.remaining(), Duration::ZERO);
    assert!(timer.deadline(Duration::MAX).is_elapsed());
    let (_, text) = panic_of(|| {
        let _ = task::spawn(deadline.sleep()).poll();
    });
    assert_eq!(text, drive::SHUTDOWN);
}

#[test]
fn outside_of_a_runtime_the_call_panics_in_the_callers_file() {
    let expected = (file!().to_owned(), TimerError::NoRuntime.to_string());
    let now = Instant::now();
    assert_eq!(panic_of(|| _ = Deadline::after(ms(1))), expected);
    assert_eq!(panic_of(|| _ = Deadline::at(now)), expected);
    let never = Deadline::never();
    assert_eq!(panic_of(|| _ = never.cap(ms(1))), expected);
    assert_eq!(panic_of(|| drop(never.sleep())), expected);
    assert_eq!(panic_of(|| drop(never.timeout(ready(())))), expected);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_registered_before_a_future_waits() {
    let stops = tokio::task::spawn_blocking(|| {
        drive::stops_of(|| async {
            let deadline = Deadline::after(ms(10));
            let unpolled = deadline.timeout(pending::<()>());
            assert_eq!(deadline.timeout(ready(7)).await, Ok(7));
            sleep(ms(20)).await;
            drop(unpolled);
        })
    });
    assert_eq!(stops.await.unwrap(), [ms(20)]);
}

#[test]
fn it_is_small_and_travels() {
    fn travels<T: Copy + Send + Sync + Unpin + Eq + std::fmt::Debug + 'static>() {}
    travels::<Deadline>();
    assert!(size_of::<Deadline>() <= 24);
    assert_eq!(
        format!("{:?}", Deadline::never()),
        "Deadline { instant: \"never\", .. }"
    );
    let _: fn(&Timer, Duration) -> Deadline = Timer::deadline;
}
