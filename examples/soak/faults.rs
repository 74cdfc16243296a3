//! What goes wrong on purpose: runtimes that end in the middle of everything, in great numbers.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use cogwheel::Timer;
use cogwheel::scheduled::Outcome;
use cogwheel::time::{sleep, timeout};
use futures::executor::block_on;
use tokio::runtime::{Builder, Runtime};

use crate::scenarios::Stage;
use crate::users::poll_once;

/// The payload of panics that are meant.
#[derive(Debug)]
pub(crate) struct Planned;

/// Tokio's words, and so this crate's, for a timer that is polled while its runtime ends.
const ENDING: &str = "it is being shutdown";

/// Lets panics that are meant pass in silence: those of wakers and work, and those of tasks that are
/// polled while their runtime ends.
pub(crate) fn expect_planned_panics() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let text = info.payload().downcast_ref::<String>();
        let ending = text.is_some_and(|text| text.contains(ENDING));
        if !ending && !info.payload().is::<Planned>() {
            hook(info);
        }
    }));
}

/// A waker that counts.
#[derive(Default)]
struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A runtime on this thread, or on two of its own.
fn runtime(threads: bool) -> Runtime {
    let mut builder = if threads {
        Builder::new_multi_thread()
    } else {
        Builder::new_current_thread()
    };
    let built = builder.worker_threads(2).enable_time().build();
    built.expect("a runtime can be made")
}

/// A runtime is dropped while everything is under way: nothing hangs, nothing fires, nothing is lost.
pub(crate) fn dropped(stage: &mut Stage) {
    const TASKS: u64 = 50;
    for _ in 0..stage.count(200) {
        let runtime = runtime(stage.random.once_in(2));
        let context = runtime.enter();
        let timer = Timer::current();
        let ledger = stage.ledger;
        for _ in 0..TASKS {
            let mut sleep = timer.sleep(stage.random.duration(Duration::from_millis(20)));
            let ticket = ledger.ticket(sleep.deadline());
            // Half of them were polled by another thread before.
            if stage.random.once_in(2) {
                let _ = poll_once(&mut sleep, Waker::noop());
            }
            runtime.spawn(async move {
                sleep.await;
                ticket.fired();
            });
        }
        // Held outside of the runtime: woken once, and closed.
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut held: Vec<_> = (0..TASKS)
            .map(|_| timer.sleep(Duration::from_secs(3600)))
            .map(|sleep| (ledger.ticket(sleep.deadline()), sleep))
            .collect();
        for (_, sleep) in &mut held {
            let ready = poll_once(sleep, &waker);
            ledger.check(!ready, || "an hour is over already".into());
        }
        let ticket = ledger.ticket(None);
        let scheduled = timer.schedule(Duration::from_secs(3600), async move { ticket.fired() });
        drop(context);
        thread::sleep(stage.random.duration(Duration::from_millis(10)));
        // Dropped while another thread makes and drops timers of it.
        let user = {
            let timer = timer.clone();
            thread::spawn(move || {
                while !timer.is_closed() {
                    let _ = poll_once(&mut timer.sleep(Duration::from_secs(60)), Waker::noop());
                }
            })
        };
        drop(runtime);
        ledger.check(timer.is_closed(), || "a timer outlives its runtime".into());
        let count = woken.0.load(SeqCst);
        ledger.check(count == TASKS, || {
            format!("{count} of {TASKS} woken at the end")
        });
        held.into_iter().for_each(|(ticket, _)| ticket.closed());
        let outcome = block_on(scheduled);
        ledger.check(matches!(outcome, Outcome::Closed), || {
            format!("work whose runtime ended: {outcome:?}")
        });
        let refused = timer.try_sleep(Duration::ZERO).is_err();
        ledger.check(refused, || "a closed timer takes sleeps".into());
        let ended = user.join();
        ledger.check(ended.is_ok() || timer.is_closed(), || "a user hangs".into());
        drop(waker);
        let left = Arc::strong_count(&woken) - 1;
        ledger.check(left == 0, || format!("{left} wakers outlive their runtime"));
    }
}

/// Ten thousand runtimes, one after the other and some at once: each has a timer, none leaves one.
pub(crate) fn runtimes(stage: &mut Stage) {
    const RUNTIMES: u64 = 10_000;
    const AT_ONCE: u64 = 4;
    let ledger = stage.ledger;
    let threads: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let mut random = stage.random.fork();
            thread::spawn(move || {
                for n in 0..RUNTIMES / AT_ONCE {
                    let runtime = runtime(n % 25 == 0);
                    let ticket = ledger.ticket(None);
                    runtime.spawn(async move {
                        sleep(Duration::from_secs(1)).await;
                        ticket.fired();
                    });
                    let limit = random.duration(Duration::from_micros(50));
                    let ticket = ledger.ticket(None);
                    let finished = runtime.block_on(async {
                        let stuck = random.once_in(100);
                        timeout(limit, async {
                            tokio::task::yield_now().await;
                            if stuck {
                                std::future::pending::<()>().await;
                            }
                        })
                        .await
                    });
                    if finished.is_err() {
                        ticket.fired();
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        let ended = thread.join();
        ledger.check(ended.is_ok(), || "a thread of runtimes has panicked".into());
    }
}
