//! Sleeps, timeouts and scheduled work that tasks wait for, on both kinds of runtime, by a clock
//! that is moved by hand.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cogwheel::ManualClock;
use cogwheel::scheduled::Outcome;
use cogwheel::time::{sleep, timeout};
use futures::FutureExt;
use tokio::sync::{Semaphore, oneshot};

use crate::drive::ms;
use crate::{NS, default_clock, secs, until};

on_both! {
    async fn case_002_and_036_a_sleep_that_was_reset_as_it_ended_waits_the_whole_time_again() {
        let clock = default_clock();
        let timer = clock.timer();
        let start = clock.now();
        let ends = tokio::spawn(async move {
            let mut sleep = timer.sleep(secs(10));
            let mut ends = Vec::new();
            for _ in 0..2 {
                (&mut sleep).await;
                ends.push(timer.now() - start);
                sleep.set_deadline(timer.now() + secs(10));
            }
            ends
        });
        for _ in 0..20 {
            until(|| clock.pending() == 1).await;
            clock.advance(secs(1));
        }
        assert_eq!(ends.await.unwrap(), [secs(10), secs(20)]);
        // Fired and not polled, it can be moved ahead.
        let mut unseen = sleep(ms(5));
        assert!(futures::poll!(&mut unseen).is_pending());
        clock.advance(ms(5));
        unseen.set_deadline(clock.now() + secs(3_600));
        assert!(futures::poll!(&mut unseen).is_pending());
        clock.advance(secs(3_600) - NS);
        assert!(futures::poll!(&mut unseen).is_pending());
        clock.advance(NS);
        assert!(futures::poll!(&mut unseen).is_ready());
    }
}

on_both! {
    async fn case_003_work_scheduled_by_overdue_work_keeps_its_own_deadline() {
        let clock = default_clock();
        let timer = clock.timer();
        // The same bucket, one round later, at the scale of each level.
        for round in (1..9).map(|level| Duration::from_nanos(1 << (6 * level))) {
            let inner = timer.clone();
            let first = timer.schedule(ms(1), async move {
                let now = inner.now();
                let clock = inner.clone();
                (now, inner.schedule(round, async move { clock.now() }))
            });
            clock.advance(ms(54));
            let (scheduled, second) = first.await.fired().unwrap();
            assert_eq!(scheduled, clock.now());
            clock.advance(round - NS);
            assert!(!second.is_finished());
            assert_eq!(clock.pending(), 1);
            clock.advance(NS);
            assert_eq!(second.await.fired(), Some(scheduled + round));
        }
    }
}

on_both! {
    async fn case_030_and_038_a_task_is_woken_exactly_at_a_deadline_that_moved_to_nearly_now() {
        let clock = default_clock();
        let start = clock.now();
        let moved = Arc::new(Mutex::new(sleep(secs(30))));
        let waits = moved.clone();
        let waiting =
            tokio::spawn(poll_fn(move |cx| Pin::new(&mut *waits.lock().unwrap()).poll(cx)));
        until(|| clock.pending() == 1).await;
        moved.lock().unwrap().set_deadline(start + ms(5));
        assert_eq!(clock.advance(ms(5) - NS).fired, 0);
        assert!(!waiting.is_finished());
        let stop = clock.advance_to_next().unwrap();
        assert_eq!((stop.now, stop.fired), (start + ms(5), 1));
        waiting.await.unwrap();
        sleep(Duration::ZERO).await;
        assert_eq!(clock.now(), start + ms(5));
    }
}

on_both! {
    async fn case_044_and_049_after_the_end_a_cancel_is_false_and_a_sleep_stays_ready() {
        let clock = default_clock();
        let work = clock.timer().schedule(ms(1), async {});
        let mut slept = sleep(ms(1));
        assert!(futures::poll!(&mut slept).is_pending());
        clock.advance(ms(1));
        until(|| work.is_finished()).await;
        for _ in 0..4 {
            assert!(!work.cancel());
            assert!(futures::poll!(&mut slept).is_ready());
            assert!(slept.is_elapsed());
            assert_eq!(clock.pending(), 0);
            clock.advance(ms(1));
        }
        assert!(work.await.is_fired());
    }
}

struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

on_both! {
    async fn case_045_timeouts_of_a_hundred_waiters_drop_their_futures() {
        let clock = default_clock();
        let dropped = Arc::new(AtomicUsize::new(0));
        let permits = Arc::new(Semaphore::new(1));
        let taken = permits.acquire().await.unwrap();
        let waiters: Vec<_> = (0..100)
            .map(|_| {
                let (guard, permits) = (Guard(dropped.clone()), permits.clone());
                tokio::spawn(timeout(ms(5), async move {
                    let _guard = guard;
                    permits.acquire_owned().await
                }))
            })
            .collect();
        until(|| clock.pending() == 100).await;
        clock.advance(ms(5));
        for waiter in waiters {
            assert!(waiter.await.unwrap().is_err());
        }
        assert_eq!(dropped.load(Ordering::Acquire), 100);
        drop(taken);
        assert!(permits.acquire().now_or_never().is_some());
    }
}

on_both! {
    async fn case_046_a_sleep_that_moves_to_another_task_wakes_that_one() {
        let clock = default_clock();
        let mut moved = sleep(ms(5));
        assert!(futures::poll!(&mut moved).is_pending());
        let (polled, was_polled) = oneshot::channel();
        let other = tokio::spawn(async move {
            assert!(futures::poll!(&mut moved).is_pending());
            polled.send(()).unwrap();
            moved.await;
        });
        was_polled.await.unwrap();
        assert_eq!(clock.advance(ms(5)).fired, 1);
        other.await.unwrap();
    }
}

on_both! {
    /// Wheel case 42.
    async fn case_052_and_054_a_callback_that_panics_delays_nobody() {
        let clock = default_clock();
        let (timer, start) = (clock.timer(), clock.now());
        let inner = timer.clone();
        let at = |delay| {
            let clock = timer.clone();
            timer.schedule(delay, async move { clock.now() })
        };
        let panics = timer.schedule(ms(100), async { panic!("a callback") });
        let beside = timer.schedule(ms(100), async move {
            let clock = inner.clone();
            inner.schedule(ms(50), async move { clock.now() })
        });
        let later = [at(ms(101)), at(ms(110))];
        let sleeping = tokio::spawn(sleep(ms(105)));
        until(|| clock.pending() == 5).await;
        clock.advance(ms(100));
        let reported: Outcome<()> = panics.await;
        assert!(reported.is_panicked());
        let inside = beside.await.fired().unwrap();
        let outside = at(ms(50));
        let [second, third] = later;
        clock.advance_to(start + ms(101));
        assert_eq!(second.await.fired(), Some(start + ms(101)));
        clock.advance_to(start + ms(105));
        sleeping.await.unwrap();
        clock.advance_to(start + ms(110));
        assert_eq!(third.await.fired(), Some(start + ms(110)));
        clock.advance_to(start + ms(150));
        assert_eq!(inside.await.fired(), Some(start + ms(150)));
        assert_eq!(outside.await.fired(), Some(start + ms(150)));
    }
}

on_both! {
    /// Here the timer ends and the runtime goes on.
    async fn case_060_what_waits_for_a_timer_that_is_closed_ends_and_lets_go() {
        let clock = ManualClock::new();
        let timer = clock.timer();
        let held = Arc::new(());
        let sleeping: Vec<_> = (0..1_000)
            .map(|n| {
                let (held, waits) = (held.clone(), timer.sleep(secs(3_600) + ms(n)));
                tokio::spawn(async move {
                    waits.await;
                    drop(held);
                })
            })
            .collect();
        let works: Vec<_> = (0..1_000)
            .map(|n| {
                let held = held.clone();
                timer.schedule(secs(3_600) + ms(n), async move { drop(held) })
            })
            .collect();
        until(|| clock.pending() == 2_000).await;
        assert_eq!(Arc::strong_count(&held), 2_001);
        drop(clock);
        for task in sleeping {
            assert!(task.await.unwrap_err().is_panic());
        }
        for work in works {
            assert!(work.await.is_closed());
        }
        assert_eq!(Arc::strong_count(&held), 1);
        sleep(ms(1)).await;
    }
}

on_both! {
    async fn case_028_a_loop_of_zero_timeouts_completes_each_in_one_poll_and_arms_nothing() {
        let clock = default_clock();
        let (timer, start) = (clock.timer(), clock.now());
        let before = timer.metrics();
        for _ in 0..1_000 {
            tokio::task::yield_now().await; // a fresh budget
            let mut zero = timeout(Duration::ZERO, pending::<()>());
            assert!(futures::poll!(&mut zero).is_ready());
            assert_eq!(clock.pending(), 0);
        }
        assert_eq!(clock.now(), start);
        let after = timer.metrics();
        assert_eq!((after.created, after.turns), (before.created, before.turns));
    }
}
