//! Clocks that stop, jump and are asked to go back.

use std::time::Duration;

use cogwheel::time::{Instant, sleep};
use cogwheel::{DelayQueue, ManualClock, Timer};
use tokio::time::{advance, pause, resume};

use crate::drive::{Wakes, ms, one_thread, poll, watched};
use crate::{NS, armed, armed_by, is_ready, secs};

/// A tenth of what the case says: the rest of the time is real.
#[test]
fn case_066_a_clock_that_was_paused_moved_and_resumed_never_goes_back_and_keeps_the_rest() {
    watched(|| {
        one_thread().block_on(async {
            let begun = Instant::now();
            let waiting = tokio::spawn(async {
                sleep(ms(1_500)).await;
                Instant::now()
            });
            tokio::task::yield_now().await;
            let mut polled = armed(&Timer::current(), ms(1_500));
            let mut latest = Instant::now();
            let mut look = || {
                let now = Instant::now();
                assert!(now >= latest, "time goes back");
                latest = now;
                now
            };
            pause();
            let paused_at = look();
            advance(ms(1_000)).await;
            assert_eq!(look(), paused_at + ms(1_000));
            assert!(!is_ready(&mut polled));
            let real = std::time::Instant::now();
            resume();
            look();
            assert!(!waiting.is_finished());
            assert!(!is_ready(&mut polled));
            let ended = waiting.await.unwrap();
            look();
            assert!(ended - begun >= ms(1_500));
            polled.await;
            // Half a second is left to wait for, in real time.
            assert!(real.elapsed() >= ms(400), "{:?}", real.elapsed());
            assert!(real.elapsed() < ms(1_400), "{:?}", real.elapsed());
        });
    });
}

/// The clock is monotonic and stands still while the system is suspended. Here it stands still.
#[test]
fn case_069_a_suspension_does_not_count() {
    let clock = ManualClock::new();
    let (wakes, waker) = Wakes::new();
    let mut sleep = armed_by(&clock.timer(), secs(60), &waker);
    clock.advance(secs(30));
    let suspended = clock.now();
    std::thread::sleep(ms(50)); // the world goes on
    assert_eq!(clock.now(), suspended);
    assert_eq!(wakes.count(), 0);
    assert!(poll(&mut sleep, &waker).is_pending());
    clock.advance(secs(30) - NS);
    assert_eq!(wakes.count(), 0);
    assert!(poll(&mut sleep, &waker).is_pending());
    clock.advance(NS);
    assert_eq!(wakes.count(), 1);
    assert!(poll(&mut sleep, &waker).is_ready());
}

/// The clock of the system's that timers go by is the monotonic one, which is what stands still in
/// a suspension: Tokio's instant and the standard library's are the same.
#[test]
fn case_069_the_clock_of_a_runtime_is_the_systems_monotonic_one() {
    watched(|| {
        one_thread().block_on(async {
            let before = std::time::Instant::now();
            let timer = Timer::current();
            let now = timer.now().into_std();
            assert!(before <= now && now <= std::time::Instant::now());
        });
    });
}

/// Each interface, ten thousand times over, on a clock that is told to step back.
#[test]
fn case_070_steps_back_make_nothing_early_and_nothing_panic() {
    watched(|| {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let mut random = 0x2545_f491_u64;
        let mut below = |limit: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % limit
        };
        let (wakes, waker) = Wakes::new();
        let mut beat = timer.interval(ms(7));
        let mut last_tick = None;
        let mut highest = clock.now();
        let mut sleeps = Vec::new();
        let mut queue = DelayQueue::new();
        for n in 0..10_000_u64 {
            let delay = Duration::from_micros(below(100_000));
            match below(6) {
                0 => {
                    let mut sleep = timer.sleep(delay);
                    let _ = poll(&mut sleep, &waker);
                    sleeps.push(sleep);
                }
                1 => {
                    let at = highest + delay;
                    if let Some(sleep) = sleeps.last_mut() {
                        sleep.set_deadline(at);
                        let _ = poll(sleep, &waker);
                    }
                }
                2 => drop(queue.insert_at(n, highest + delay)),
                3 => {
                    let mut timeout = timer.timeout(delay, std::future::pending::<()>());
                    let deadline = timer.now() + delay;
                    assert_eq!(
                        poll(&mut timeout, &waker).is_ready(),
                        timer.now() >= deadline
                    );
                }
                4 => {
                    if let std::task::Poll::Ready(tick) = poll(&mut Box::pin(beat.tick()), &waker) {
                        assert!(tick <= highest && last_tick < Some(tick));
                        last_tick = Some(tick);
                    }
                }
                _ => drop(sleeps.pop()),
            }
            let back = [ms(1), ms(50), secs(2)][usize::try_from(below(3)).unwrap()];
            let moved = match below(2) {
                0 => clock.advance_to(clock.now().checked_sub(back).unwrap_or(clock.now())),
                _ => clock.advance(Duration::from_micros(below(2_000))),
            };
            assert!(
                moved.now >= highest && clock.now() >= highest,
                "time goes back"
            );
            highest = clock.now();
            sleeps.retain_mut(|sleep| {
                let over = sleep.deadline() <= highest;
                assert_eq!(is_ready(sleep), over);
                !over
            });
        }
        assert!(wakes.count() > 100);
        assert!(last_tick.is_some());
        assert!(queue.len() > 1_000);
    });
}
