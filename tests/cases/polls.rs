//! What a poll says of a queue or a sleep that is overdue, emptied or ended, and work that is due
//! at once or in an hour, on both kinds of runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use cogwheel::time::sleep;
use cogwheel::{DelayQueue, Timer};
use futures::StreamExt;
use futures::future::FusedFuture;

use crate::drive::ms;
use crate::{NS, default_clock, secs, until};

on_both! {
    async fn case_016_and_051_an_overdue_item_has_no_time_left_and_an_emptied_queue_ends() {
        let clock = default_clock();
        let mut queue = DelayQueue::new();
        let key = queue.insert("item", secs(50));
        assert!(futures::poll!(queue.next()).is_pending());
        clock.advance(secs(51));
        assert_eq!(queue.remaining(&key), Some(Duration::ZERO));
        assert_eq!(queue.next().await.unwrap().into_inner(), "item");
        assert_eq!(queue.remaining(&key), None);
        assert!(queue.next().await.is_none());
        let key = queue.insert("removed", secs(10));
        assert!(futures::poll!(queue.next()).is_pending());
        queue.remove(&key);
        assert!(queue.next().await.is_none());
        assert!(DelayQueue::<u8>::new().next().await.is_none());
    }
}

on_both! {
    async fn case_023_work_beyond_31_and_32_bits_of_microseconds_runs_once_at_its_time() {
        let clock = default_clock();
        let start = clock.now();
        let delays = [(1_u64 << 31) + 1, (1 << 32) + 1].map(Duration::from_micros);
        let runs = Arc::new(AtomicUsize::new(0));
        let works = delays.map(|delay| {
            let runs = runs.clone();
            clock.timer().schedule(delay, async move { _ = runs.fetch_add(1, Ordering::AcqRel) })
        });
        for ((ran, delay), work) in delays.into_iter().enumerate().zip(works) {
            clock.advance_to(start + delay - NS);
            assert_eq!(clock.pending(), 2 - ran);
            assert_eq!(runs.load(Ordering::Acquire), ran);
            clock.advance(NS);
            assert!(work.await.is_fired());
            assert_eq!(runs.load(Ordering::Acquire), ran + 1);
        }
    }
}

on_both! {
    async fn case_050_a_sleep_is_terminated_once_a_poll_has_said_so_and_until_a_reset() {
        let clock = default_clock();
        let mut late = sleep(secs(1));
        clock.advance(secs(2));
        assert!(!late.is_terminated());
        assert!(futures::poll!(&mut late).is_ready());
        assert!(late.is_terminated());
        late.set_deadline(clock.now() + secs(1));
        assert!(!late.is_terminated());
        assert!(futures::poll!(&mut late).is_pending());
    }
}

/// Work for at once that schedules itself anew until `stop`.
fn again(timer: &Timer, runs: Arc<AtomicUsize>, stop: Arc<AtomicBool>) {
    let inner = timer.clone();
    drop(timer.schedule(Duration::ZERO, async move {
        runs.fetch_add(1, Ordering::AcqRel);
        if !stop.load(Ordering::Acquire) {
            again(&inner, runs, stop);
        }
    }));
}

on_both! {
    async fn case_076_work_that_schedules_itself_at_once_lets_others_run() {
        let (runs, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for _ in 0..256 {
            again(&Timer::current(), runs.clone(), stop.clone());
        }
        tokio::spawn(async {}).await.unwrap();
        sleep(ms(5)).await;
        until(|| runs.load(Ordering::Acquire) > 10 * 256).await;
        stop.store(true, Ordering::Release);
    }
}

on_both! {
    async fn case_099_a_clock_that_has_run_for_centuries_changes_nothing() {
        let clock = default_clock();
        let day = 86_400;
        let uptimes = [
            Duration::from_millis(u64::from(u32::MAX / 2)) - secs(10),
            Duration::from_millis(u64::from(u32::MAX)) - secs(10),
            secs(800 * day),
            secs(300 * 365 * day),
        ];
        for uptime in uptimes {
            clock.advance(uptime);
            let start = clock.now();
            let mut queue = DelayQueue::new();
            queue.insert("item", secs(5));
            let item = tokio::spawn(async move { queue.next().await.unwrap().deadline() });
            let mut slept = sleep(secs(5));
            assert!(futures::poll!(&mut slept).is_pending());
            until(|| clock.pending() == 2).await;
            assert_eq!(clock.advance(secs(5) - NS).fired, 0);
            assert_eq!(clock.advance(NS).fired, 2);
            assert_eq!(item.await.unwrap(), start + secs(5));
            slept.await;
        }
    }
}
