//! `Backoff`, through the public API.
//!
//! The properties, for any settings at all:
//!
//! * no delay exceeds the cap, and nothing panics or overflows;
//! * without jitter the delays never shrink, and start with the base;
//! * full jitter lies in `0..=c` and equal jitter in `c/2..=c` of the delay `c` without jitter;
//! * limits hold: on tries, and on the time until the last of them;
//! * equal seeds give equal delays.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

#[path = "common/drive.rs"]
mod drive;
#[path = "common/place.rs"]
mod place;

use std::cell::Cell;
use std::future::{pending, ready};

use cogwheel::backoff::{GaveUp, Jitter};
use cogwheel::error::TimerError;
use cogwheel::time::{Duration, Instant, sleep, timeout};
use cogwheel::{Backoff, Deadline};
use drive::{ms, paused, text_of, timer_of};
use place::panic_of;
use proptest::prelude::*;
use tokio::time::advance;
use tokio_test::{assert_pending, task};

const SECOND: Duration = Duration::from_secs(1);

fn steady(base: Duration) -> Backoff {
    Backoff::new(base).jitter(Jitter::None)
}

// === delays ===

#[test]
fn case_122_the_delays_grow_to_the_cap_and_stay_there() {
    let minute = Duration::from_secs(60);
    let delays: Vec<_> = steady(ms(10)).cap(minute).take(100_000).collect();
    assert_eq!(delays[..4], [ms(10), ms(20), ms(40), ms(80)]);
    assert!(delays.is_sorted());
    assert_eq!(delays[12], ms(40_960));
    assert!(delays[13..].iter().all(|delay| *delay == minute));
}

#[test]
fn case_123_jitter_stays_in_its_bounds_for_a_thousand_seeds() {
    let most = Duration::from_secs(60);
    for seed in 0..1_000 {
        for jitter in [Jitter::Full, Jitter::Equal] {
            let backoff = Backoff::new(ms(10)).cap(most).jitter(jitter);
            let ceilings = steady(ms(10)).cap(most);
            for (delay, ceiling) in backoff.with_seed(seed).zip(ceilings).take(200) {
                let least = match jitter {
                    Jitter::Equal => ceiling / 2,
                    _ => Duration::ZERO,
                };
                assert!((least..=ceiling).contains(&delay), "{delay:?} {ceiling:?}");
            }
        }
    }
}

#[test]
fn jitter_spreads_over_its_whole_range() {
    for (jitter, least) in [(Jitter::Full, 0.0), (Jitter::Equal, 0.5)] {
        let backoff = Backoff::new(SECOND).cap(SECOND).jitter(jitter).with_seed(1);
        let delays: Vec<_> = backoff
            .take(10_000)
            .map(|delay| delay.as_secs_f64())
            .collect();
        let mean = delays.iter().sum::<f64>() / 10_000.0;
        let (low, high) = delays
            .iter()
            .fold((1.0_f64, 0.0_f64), |(low, high), delay| {
                (low.min(*delay), high.max(*delay))
            });
        assert!((mean - f64::midpoint(least, 1.0)).abs() < 0.02, "{mean}");
        assert!(low < least + 0.01 && high > 0.99, "{low} {high}");
    }
}

#[test]
fn two_clients_that_are_not_seeded_do_not_wait_alike() {
    let first: Vec<_> = Backoff::new(SECOND).take(4).collect();
    let second: Vec<_> = Backoff::new(SECOND).take(4).collect();
    assert_ne!(first, second);
}

#[test]
fn an_iterator_ends_by_either_limit_for_good_and_its_size_says_so() {
    let mut three = steady(ms(10)).max_attempts(4);
    assert_eq!(three.size_hint(), (3, Some(3)));
    assert_eq!(three.by_ref().count(), 3);
    assert_eq!(three.next(), None);
    assert_eq!(three.size_hint(), (0, Some(0)));
    assert_eq!(three.failed_attempts(), 4);
    three.reset();
    assert_eq!(three.failed_attempts(), 0);
    assert_eq!(three.next(), Some(ms(10)));

    // 10 + 20 + 40; another 80 would be 150.
    let by_time = steady(ms(10)).max_elapsed(ms(149));
    assert_eq!(by_time.size_hint(), (0, None));
    assert_eq!(by_time.count(), 3);
    assert_eq!(steady(ms(10)).max_elapsed(ms(150)).count(), 4);
    assert_eq!(steady(ms(10)).size_hint(), (usize::MAX, None));

    for attempts in [0, 1] {
        assert_eq!(steady(ms(10)).max_attempts(attempts).next(), None);
    }
}

#[test]
fn a_factor_that_is_no_growth_is_refused_in_the_callers_file() {
    for factor in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -2.0, 0.999] {
        let (file, text) = panic_of(|| _ = steady(ms(10)).factor(factor));
        assert_eq!(file, file!());
        assert_eq!(text, "`factor` must be finite and at least 1");
    }
    let constant = steady(ms(10)).factor(1.0).take(1_000);
    assert!(constant.into_iter().all(|delay| delay == ms(10)));
    let mut steep = steady(ms(10)).factor(f64::MAX).cap(Duration::MAX);
    assert_eq!(steep.by_ref().take(3).last(), Some(Duration::MAX));
}

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0_u64..10_000_000_000).prop_map(Duration::from_nanos),
        any::<u64>().prop_map(Duration::from_nanos),
        (any::<u64>(), 0_u32..1_000_000_000).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
        Just(Duration::ZERO),
        Just(Duration::from_nanos(1)),
        Just(Duration::MAX),
    ]
}

fn factors() -> impl Strategy<Value = f64> {
    prop_oneof![
        1.0..4.0,
        1.0..f64::MAX,
        Just(1.0),
        Just(1.0 + f64::EPSILON),
        Just(f64::MAX),
    ]
}

proptest! {
    #[test]
    fn without_jitter_the_delays_never_shrink_nor_exceed_the_cap(
        base in durations(), cap in durations(), factor in factors(),
    ) {
        let delays: Vec<_> = steady(base).cap(cap).factor(factor).take(300).collect();
        prop_assert_eq!(delays.len(), 300);
        prop_assert_eq!(delays[0], base.min(cap));
        prop_assert!(delays.is_sorted());
        prop_assert!(delays[299] <= cap);
    }

    #[test]
    fn a_jittered_delay_lies_in_its_part_of_the_one_without(
        base in durations(), cap in durations(), factor in factors(), seed: u64,
    ) {
        let ceilings = steady(base).cap(cap).factor(factor);
        let full = ceilings.clone().jitter(Jitter::Full).with_seed(seed);
        let equal = ceilings.clone().jitter(Jitter::Equal).with_seed(seed);
        for ((ceiling, full), equal) in ceilings.zip(full).zip(equal).take(100) {
            prop_assert!(full <= ceiling);
            prop_assert!((ceiling / 2..=ceiling).contains(&equal));
        }
    }

    #[test]
    fn equal_seeds_give_equal_delays_and_a_clone_goes_on_alike(
        base in durations(), seed: u64, taken in 0_usize..20,
    ) {
        let mut first = Backoff::new(base).with_seed(seed);
        let second = Backoff::new(base).with_seed(seed);
        let ahead: Vec<_> = first.by_ref().take(taken).collect();
        prop_assert_eq!(ahead, second.clone().take(taken).collect::<Vec<_>>());
        let rest: Vec<_> = first.clone().take(20).collect();
        prop_assert_eq!(&rest, &first.take(20).collect::<Vec<_>>());
        prop_assert_eq!(rest, second.skip(taken).take(20).collect::<Vec<_>>());
    }

    #[test]
    fn limits_hold_for_the_iterator(
        base in durations(), attempts in 0_u32..50, elapsed in durations(), seed: u64,
    ) {
        let limited = Backoff::new(base).max_attempts(attempts).max_elapsed(elapsed);
        let limited = limited.with_seed(seed);
        let (lower, upper) = limited.size_hint();
        let delays: Vec<_> = limited.collect();
        prop_assert!(delays.len() < attempts.max(1) as usize);
        prop_assert!(lower <= delays.len() && delays.len() <= upper.unwrap());
        prop_assert!(delays.iter().map(Duration::as_nanos).sum::<u128>() <= elapsed.as_nanos());
    }

    #[test]
    fn retry_obeys_its_limits_whatever_the_tries_cost(
        base in 0_u64..100, attempts in 1_u32..12, elapsed in 0_u64..400, cost in 0_u64..50,
        seed: u64,
    ) {
        let (error, last_start) = paused().block_on(async {
            let start = Instant::now();
            let last_start = Cell::new(Duration::ZERO);
            let mut backoff = Backoff::new(ms(base))
                .max_attempts(attempts)
                .max_elapsed(ms(elapsed))
                .with_seed(seed);
            let operation = || {
                last_start.set(start.elapsed());
                async {
                    sleep(ms(cost)).await;
                    Err::<(), _>(7)
                }
            };
            (backoff.retry(operation).await.unwrap_err(), last_start.get())
        });
        prop_assert!((1..=attempts).contains(&error.attempts()));
        prop_assert_eq!(error.into_last(), 7);
        prop_assert!(last_start <= ms(elapsed), "{last_start:?}");
    }
}

// === wait ===

#[tokio::test(start_paused = true)]
async fn it_sleeps_for_the_delay_it_tells_and_not_at_all_at_its_end() {
    let start = Instant::now();
    let mut backoff = steady(ms(10)).max_attempts(4);
    let mut total = Duration::ZERO;
    while let Some(delay) = backoff.wait().await {
        total += delay;
        assert_eq!(start.elapsed(), total);
    }
    assert_eq!(total, ms(70));
    assert_eq!(backoff.wait().await, None);
    assert_eq!(start.elapsed(), total);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_cancelled_goes_on_where_it_was() {
    let start = Instant::now();
    let mut backoff = steady(ms(100));
    let mut interruptions = 0;
    loop {
        tokio::select! {
            delay = backoff.wait() => {
                assert_eq!(delay, Some(ms(100)));
                break;
            }
            () = sleep(ms(30)) => interruptions += 1,
        }
        assert!(interruptions < 10, "it begins again each time");
    }
    assert_eq!((interruptions, start.elapsed()), (3, ms(100)));
    assert_eq!(backoff.failed_attempts(), 1);
    assert_eq!(backoff.wait().await, Some(ms(200)));
    assert_eq!(start.elapsed(), ms(300));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_never_polled_counts_for_nothing() {
    let mut backoff = steady(ms(10));
    drop(backoff.wait());
    assert_eq!(backoff.failed_attempts(), 0);
    assert_eq!(backoff.wait().await, Some(ms(10)));
}

#[tokio::test(start_paused = true)]
async fn a_reset_forgets_the_wait_that_was_cancelled() {
    let mut backoff = steady(ms(10));
    for _ in 0..3 {
        backoff.wait().await;
    }
    timeout(ms(1), backoff.wait()).await.unwrap_err();
    backoff.reset();
    let start = Instant::now();
    assert_eq!(backoff.wait().await, Some(ms(10)));
    assert_eq!(start.elapsed(), ms(10));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_tries_counts_for_max_elapsed() {
    // With tries of 50: waits end at 10, 80 and 170; the next would end at 300.
    let mut backoff = steady(ms(10)).max_elapsed(ms(299));
    let mut waits = 0;
    while backoff.wait().await.is_some() {
        waits += 1;
        sleep(ms(50)).await;
    }
    assert_eq!(waits, 3);
}

#[tokio::test(start_paused = true)]
async fn the_longest_delay_can_be_waited_for_and_cancelled() {
    let mut backoff = steady(Duration::MAX).cap(Duration::MAX);
    let day = Duration::from_secs(86_400);
    timeout(day, backoff.wait()).await.unwrap_err();
    backoff.reset();
    let mut zero = steady(Duration::ZERO);
    let start = Instant::now();
    assert_eq!(zero.wait().await, Some(Duration::ZERO));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[test]
fn it_waits_on_the_timer_it_was_given_from_outside_of_any_runtime() {
    let runtime = paused();
    let mut backoff = steady(ms(10)).with_timer(&timer_of(&runtime));
    let mut wait = task::spawn(Box::pin(backoff.wait()));
    assert_pending!(wait.poll());
    runtime.block_on(advance(ms(10)));
    assert!(wait.is_woken());
    assert!(wait.poll().is_ready());
}

#[test]
fn without_a_runtime_or_after_its_end_a_poll_panics() {
    let (file, text) = panic_of(|| {
        let mut backoff = steady(ms(10));
        let _ = task::spawn(backoff.wait()).poll();
    });
    assert_eq!(text, TimerError::NoRuntime.to_string());
    assert!(file.ends_with("backoff.rs"), "{file}");

    let runtime = paused();
    let mut backoff = steady(ms(10)).with_timer(&timer_of(&runtime));
    drop(runtime);
    let text = text_of(|| _ = task::spawn(backoff.wait()).poll());
    assert_eq!(text, drive::SHUTDOWN);
}

// === retry ===

/// Fails with its number until the try with this number, which succeeds.
fn succeeds_at(right: u32) -> impl FnMut() -> std::future::Ready<Result<u32, u32>> {
    let mut tries = 0;
    move || {
        tries += 1;
        ready(if tries == right {
            Ok(tries)
        } else {
            Err(tries)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn it_tries_until_the_first_success_with_the_delays_between() {
    let start = Instant::now();
    let mut backoff = steady(ms(10)).max_attempts(4);
    assert_eq!(backoff.retry(succeeds_at(1)).await, Ok(1));
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(backoff.retry(succeeds_at(4)).await, Ok(4));
    assert_eq!(start.elapsed(), ms(70));
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_with_the_last_error_and_the_count_and_each_call_starts_anew() {
    let mut backoff = steady(ms(10)).max_attempts(3);
    for _ in 0..3 {
        let start = Instant::now();
        let error = backoff.retry(succeeds_at(9)).await.unwrap_err();
        assert_eq!((error.attempts(), *error.last()), (3, 3));
        assert_eq!(error.to_string(), "gave up after 3 attempts: 3");
        assert_eq!(start.elapsed(), ms(30));
    }
    let once = steady(ms(10)).max_attempts(1).retry(succeeds_at(2)).await;
    let text = once.unwrap_err().to_string();
    assert_eq!(text, "gave up after 1 attempt: 1");
}

#[tokio::test(start_paused = true)]
async fn an_error_that_no_try_can_mend_ends_it_at_once() {
    let start = Instant::now();
    let mut backoff = steady(ms(10));
    let outcome = backoff.retry_if(succeeds_at(9), |error| *error < 3).await;
    let error = outcome.unwrap_err();
    assert_eq!((error.attempts(), error.into_last()), (3, 3));
    assert_eq!(start.elapsed(), ms(30));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_around_it_ends_it_in_the_middle_of_a_try_or_a_delay() {
    let mut backoff = steady(ms(40));
    for limit in [ms(15), ms(30)] {
        let deadline = Deadline::after(limit);
        let slow = || async {
            sleep(ms(20)).await;
            Err::<(), _>("busy")
        };
        deadline.timeout(backoff.retry(slow)).await.unwrap_err();
        assert_eq!(Instant::now(), deadline.instant());
    }
    // And the next call does not remember it.
    assert_eq!(backoff.retry(succeeds_at(2)).await, Ok(2));
    let mut silent = Backoff::new(ms(1)).max_attempts(2);
    let silence = || timeout(ms(5), pending::<()>());
    let error: GaveUp<_> = silent.retry(silence).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "gave up after 2 attempts: deadline has elapsed"
    );
}

#[tokio::test(start_paused = true)]
async fn its_future_can_be_spawned() {
    let answer = tokio::spawn(async {
        let mut backoff = Backoff::new(ms(10));
        backoff.retry(succeeds_at(3)).await
    });
    assert_eq!(answer.await.unwrap(), Ok(3));
}
