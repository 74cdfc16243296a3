//! What only real time shows: that a driver which sleeps is woken, that nothing else wakes it, and
//! that it goes on after a wake that came too soon or panicked.

use std::future::pending;
use std::sync::{Arc, Barrier, Mutex};
use std::task::Waker;
use std::time::Duration;

use cogwheel::Timer;
use cogwheel::time::{Instant, Sleep, sleep, timeout};
use tokio::runtime::Handle;

use crate::drive::{PATIENCE, Wakes, acting, ms, poll, wait, watched};
use crate::{armed, armed_by, secs, until};

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

/// Keeps every worker of this runtime busy for so long, so that nobody turns the wheel.
async fn hog_workers(time: Duration) {
    let workers = Handle::current().metrics().num_workers();
    let begin = Arc::new(Barrier::new(workers));
    let hogs: Vec<_> = (0..workers)
        .map(|_| {
            let begin = begin.clone();
            tokio::spawn(async move {
                begin.wait();
                std::thread::sleep(time);
            })
        })
        .collect();
    for hog in hogs {
        hog.await.unwrap();
    }
}

on_both! {
    async fn case_003_what_a_waker_arms_when_the_driver_is_behind_is_not_early() {
        let timer = Timer::current();
        let slot = Duration::from_nanos(1 << 20);
        for ahead in [11, 64, 75] {
            let made = Arc::new(Mutex::new(None));
            let (inner, keep) = (timer.clone(), made.clone());
            let waker = acting(move || {
                let (clock, woken) = (inner.clone(), Arc::new(Mutex::new(Vec::new())));
                let note = woken.clone();
                let later = acting(move || note.lock().unwrap().push(clock.now()));
                let mut second = inner.sleep(slot * ahead);
                let waits = poll(&mut second, &later).is_pending();
                *keep.lock().unwrap() = Some((second, waits, woken));
            });
            let mut first = timer.sleep(slot);
            if poll(&mut first, &waker).is_ready() {
                continue; // on a machine this busy nothing is shown
            }
            hog_workers(slot * 54).await;
            until(|| made.lock().unwrap().is_some()).await;
            let (second, waits, woken) = made.lock().unwrap().take().unwrap();
            until(|| !waits || !woken.lock().unwrap().is_empty()).await;
            sleep(slot * 2).await;
            let woken = woken.lock().unwrap();
            assert_eq!(woken.len(), usize::from(waits));
            assert!(woken.iter().all(|&at| at >= second.deadline()), "{ahead} ahead: early");
        }
        assert!(timer.metrics().lateness.max() > slot * 20, "the driver was never behind");
    }
}

on_both! {
    /// Just before each deadline an earlier timer wakes the driver. One that cannot wait for less
    /// than a millisecond would turn again and again until the deadline.
    async fn case_095_a_driver_that_is_woken_just_before_a_deadline_does_not_spin() {
        const ROUNDS: u32 = 20;
        let own = Timer::builder().dedicated_thread().build().unwrap();
        for timer in [Timer::current(), own] {
            let before = timer.metrics();
            for _ in 0..ROUNDS {
                let (wakes, waker) = Wakes::new();
                let late = armed_by(&timer, ms(5), &waker);
                timer.sleep(ms(5) - Duration::from_micros(300)).await;
                late.await;
                assert!(wakes.count() <= 1);
            }
            let after = timer.metrics();
            // Each of the two is pushed, which may turn, and comes due; once more, for good measure.
            let turns = after.turns - before.turns;
            assert!(turns <= u64::from(5 * ROUNDS), "{turns} turns for {} timers", 2 * ROUNDS);
            assert!(after.wake_ups - before.wake_ups <= u64::from(2 * ROUNDS));
        }
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

#[test]
fn case_015_a_thread_that_is_woken_too_soon_sleeps_for_the_rest() {
    watched(|| {
        let timer = Timer::builder().dedicated_thread().build().unwrap();
        let (wakes, waker) = Wakes::new();
        let mut sleep = timer.sleep(ms(400));
        assert!(poll(&mut sleep, &waker).is_pending());
        // Each of these wakes the thread long before the deadline.
        for _ in 0..10 {
            drop(armed(&timer, ms(200)));
            std::thread::sleep(ms(2));
        }
        wakes.wait();
        assert!(sleep.deadline() <= Instant::now());
        assert!(poll(&mut sleep, &waker).is_ready());
    });
}

on_both! {
    async fn case_053_of_a_hundred_wakers_the_37th_panics_and_the_others_are_woken() {
        let deadline = Instant::now() + ms(50);
        let (wakes, waker) = Wakes::new();
        let panicking = acting(|| panic!("as planned"));
        let sleeps: Vec<_> = (1..=100)
            .map(|n| {
                let mut sleep = Timer::current().sleep_until(deadline);
                let waker = if n == 37 { &panicking } else { &waker };
                assert!(poll(&mut sleep, waker).is_pending());
                sleep
            })
            .collect();
        let waiting = async {
            while wakes.count() < 99 {
                sleep(ms(1)).await;
            }
        };
        timeout(PATIENCE, waiting).await.unwrap();
        // And the timer goes on.
        sleep(ms(1)).await;
        assert_eq!(wakes.count(), 99);
        assert!(sleeps.iter().all(Sleep::is_elapsed));
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
