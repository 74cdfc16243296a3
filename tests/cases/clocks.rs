//! Clocks that stop, jump and are asked to go back.

use std::task::Poll;
use std::time::Duration;

use cogwheel::time::{Instant, sleep};
use cogwheel::{DelayQueue, ManualClock, Timer};
use futures::StreamExt;
use tokio::task::JoinHandle;
use tokio::time::{advance, pause, resume};

use crate::drive::{Wakes, ms, one_thread, paused, poll, watched};
use crate::{NS, armed, armed_by, default_clock, is_ready, secs, until};

/// On either clock that a test can move.
#[test]
fn case_065_a_task_that_slept_has_run_two_yields_after_the_advance() {
    async fn two_yields() {
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    }
    fn sleeper() -> JoinHandle<()> {
        tokio::spawn(sleep(ms(500)))
    }
    paused().block_on(async {
        let task = sleeper();
        two_yields().await;
        advance(ms(500) - NS).await;
        two_yields().await;
        assert!(!task.is_finished());
        advance(NS).await;
        two_yields().await;
        assert!(task.is_finished());
    });
    one_thread().block_on(async {
        let clock = default_clock();
        let task = sleeper();
        two_yields().await;
        clock.advance(ms(500) - NS);
        two_yields().await;
        assert!(!task.is_finished());
        clock.advance(NS);
        two_yields().await;
        assert!(task.is_finished());
    });
}

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

on_both! {
    /// Each interface, ten thousand times over, on a clock that is told to step back.
    async fn case_070_steps_back_make_nothing_early_and_nothing_panic() {
        let clock = default_clock();
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
        let mut last_item = None;
        let (mut yielded, mut works) = (0, Vec::new());
        for n in 0..10_000_u64 {
            let delay = Duration::from_micros(below(100_000));
            match below(8) {
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
                2 => {
                    let key = queue.insert_at(n, highest + delay);
                    if n % 3 == 0 {
                        queue.reset(&key, delay / 2);
                    }
                    // It may come before what was yielded already, and after nothing that was not.
                    last_item = None;
                }
                3 => {
                    let mut timeout = timer.timeout(delay, std::future::pending::<()>());
                    let deadline = timer.now() + delay;
                    assert_eq!(
                        poll(&mut timeout, &waker).is_ready(),
                        timer.now() >= deadline
                    );
                }
                4 => {
                    if let Poll::Ready(tick) = poll(&mut Box::pin(beat.tick()), &waker) {
                        assert!(tick <= highest && last_tick < Some(tick));
                        last_tick = Some(tick);
                    }
                }
                5 => {
                    while let Poll::Ready(Some(item)) = poll(&mut queue.next(), &waker) {
                        assert!(item.deadline() <= highest && last_item <= Some(item.deadline()));
                        last_item = Some(item.deadline());
                        yielded += 1;
                    }
                    let due = queue.next_deadline().is_some_and(|next| next <= highest);
                    assert!(!due, "an item is late");
                }
                6 => {
                    let (own, deadline) = (timer.clone(), highest + delay);
                    let late = async move { own.now().checked_duration_since(deadline) };
                    works.push(timer.schedule(delay, late));
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
            if n % 16 == 0 {
                tokio::task::yield_now().await;
            }
        }
        assert!(wakes.count() > 100);
        assert!(last_tick.is_some());
        assert!(yielded > 1_000, "{yielded}");
        clock.advance(secs(1));
        for work in works {
            let late = work.await.fired().unwrap();
            assert!(late.is_some(), "early");
        }
        until(|| clock.pending() == 0).await;
    }
}
