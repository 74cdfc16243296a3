//! What only real time shows: that a driver which sleeps is woken, and that nothing else wakes it.

use std::future::pending;
use std::task::Waker;
use std::time::Duration;

use cogwheel::Timer;
use cogwheel::time::{Instant, sleep, timeout};

use crate::drive::{ms, poll, wait};
use crate::secs;

/// What a busy machine may add; a driver that is not woken, or has a heartbeat, adds more.
const BUSY: Duration = Duration::from_millis(900);

on_both! {
    async fn case_006_an_insertion_from_another_thread_unparks_the_driver() {
        let timer = Timer::current();
        let mut far = sleep(secs(10));
        assert!(poll(&mut far, Waker::noop()).is_pending());
        let (sender, receiver) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            std::thread::sleep(ms(100)); // the driver sleeps by now
            let start = std::time::Instant::now();
            wait(timer.sleep(ms(50)));
            sender.send(start.elapsed())
        });
        // No timer but those two may wake the runtime.
        let took = receiver.await.unwrap();
        assert!(took >= ms(50), "{took:?} is early");
        assert!(took < ms(50) + BUSY, "{took:?}: nobody unparked the driver");
        assert!(!far.is_elapsed());
    }
}

on_both! {
    async fn case_008_fifty_timeouts_in_a_row_have_no_coarse_heartbeat() {
        let mut took = Vec::new();
        for _ in 0..50 {
            let start = Instant::now();
            timeout(ms(100), pending::<()>()).await.unwrap_err();
            took.push(start.elapsed());
        }
        took.sort();
        assert!(took[0] >= ms(100), "{:?} is early", took[0]);
        // A heartbeat shows in most of them, a busy machine in some.
        assert!(took[25] < ms(150), "the median is {:?}", took[25]);
        assert!(took[49] < ms(100) + BUSY, "{:?}", took[49]);
    }
}

on_both! {
    async fn case_100_on_a_clock_of_milliseconds_nothing_is_early_and_a_fraction_is_not_zero() {
        let start = Instant::now();
        for _ in 0..1_000 {
            let each = Instant::now();
            sleep(Duration::from_micros(200)).await;
            assert!(each.elapsed() >= Duration::from_micros(200));
        }
        assert!(start.elapsed() >= ms(200), "some were as good as zero");
        let start = Instant::now();
        let all: Vec<_> = (0..1_000)
            .map(|_| tokio::spawn(sleep(Duration::from_micros(1_500))))
            .collect();
        for one in all {
            one.await.unwrap();
        }
        assert!(start.elapsed() >= Duration::from_micros(1_500));
        for _ in 0..100 {
            let each = Instant::now();
            sleep(Duration::from_micros(1_500)).await;
            assert!(each.elapsed() >= Duration::from_micros(1_500));
        }
    }
}
