//! The wheel cases that need more than a wheel: futures, owners, conversions of durations.

use std::future::pending;
use std::time::Duration;

use cogwheel::{Deadline, DelayQueue, ManualClock, Timer};
use tokio::time::advance;

use crate::drive::{Wakes, ms, poll, wait, watched};
use crate::{armed_by, secs};

#[tokio::test(start_paused = true)]
async fn wheel_case_012_what_remains_is_right_in_every_unit() {
    let mut queue = DelayQueue::new();
    let key = queue.insert("item", secs(10));
    let deadline = Deadline::after(secs(10));
    advance(secs(5)).await;
    for remaining in [queue.remaining(&key).unwrap(), deadline.remaining()] {
        assert_eq!(remaining.as_secs(), 5);
        assert_eq!(remaining.as_millis(), 5_000);
        assert_eq!(remaining.as_micros(), 5_000_000);
        assert_eq!(remaining.as_nanos(), 5_000_000_000);
    }
}

#[test]
fn wheel_case_013_several_timeouts_of_nothing_all_end_each_in_its_time() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let (wakes, waker) = Wakes::new();
    let delays = [300, 100, 200];
    let mut timeouts = delays.map(|delay| timer.timeout(ms(delay), pending::<()>()));
    for timeout in &mut timeouts {
        assert!(poll(timeout, &waker).is_pending());
    }
    for (ended, hundred) in (1..=3).enumerate() {
        clock.advance(ms(99));
        assert_eq!(wakes.count(), ended);
        clock.advance(ms(1));
        assert_eq!(wakes.count(), ended + 1);
        for (timeout, delay) in timeouts.iter_mut().zip(delays) {
            let outcome = poll(timeout, &waker);
            assert_eq!(outcome.is_ready(), delay <= hundred * 100);
        }
    }
}

on_both! {
    async fn wheel_case_013_timeouts_of_nothing_end_in_a_runtime() {
        let all = [300, 100, 200].map(|delay| {
            tokio::spawn(cogwheel::time::timeout(ms(delay), pending::<()>()))
        });
        for one in all {
            one.await.unwrap().unwrap_err();
        }
    }
}

#[test]
fn wheel_case_044_a_timer_with_a_second_owner_fires_all() {
    watched(|| {
        let timer = Timer::builder().dedicated_thread().build().unwrap();
        let second = timer.clone();
        let (wakes, waker) = Wakes::new();
        let sleeps: Vec<_> = (1..=20)
            .map(|n| armed_by(&timer, ms(5 * n), &waker))
            .collect();
        drop(timer);
        wait(second.sleep(ms(1)));
        for sleep in sleeps {
            wait(sleep);
        }
        assert!(wakes.count() <= 20);
    });
}

#[test]
fn wheel_case_044_a_manual_clock_with_a_second_owner_fires_all() {
    let clock = ManualClock::new();
    let (wakes, waker) = Wakes::new();
    let _sleeps: Vec<_> = (1..=20)
        .map(|n| armed_by(&clock.timer(), ms(5 * n), &waker))
        .collect();
    let second = clock.clone();
    drop(clock);
    assert_eq!(second.advance(ms(100)).fired, 20);
    assert_eq!(wakes.count(), 20);
}

/// A delay that is longer than 32 bits of any unit is not cut.
#[test]
fn wheel_case_012_no_unit_of_a_delay_is_cut_to_fewer_bits() {
    let mut queue = DelayQueue::new();
    for bits in [31, 32, 33, 40, 50] {
        for delay in [
            Duration::from_nanos(1 << bits),
            Duration::from_micros(1 << bits),
        ] {
            let before = tokio::time::Instant::now();
            let key = queue.insert(bits, delay);
            let deadline = queue.deadline(&key);
            assert!(deadline >= before + delay);
            assert!(deadline <= tokio::time::Instant::now() + delay);
        }
    }
}
