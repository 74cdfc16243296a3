//! Wakers, runtimes and a watchdog for the tests of the driver.

#![allow(dead_code, reason = "each test program uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use cogwheel::Timer;
use tokio::runtime::{Builder, Runtime};
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Later than any of these tests lasts.
pub(crate) const LONG: Duration = Duration::from_secs(3_600);

/// What Tokio's timers say in a panic when their runtime is gone, and those of a runtime here too;
/// `tests/shutdown.rs` compares.
pub(crate) const SHUTDOWN: &str = "A Tokio 1.x context was found, but it is being shutdown.";

/// How long a test may take that would otherwise hang if it failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A runtime of one thread whose clock is paused.
pub(crate) fn paused() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(true);
    builder.build().unwrap()
}

/// A runtime of one thread on the system's clock.
pub(crate) fn one_thread() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// A runtime of two workers.
pub(crate) fn two_workers() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.enable_all().worker_threads(2);
    builder.build().unwrap()
}

/// Counts how often it is woken.
#[derive(Debug, Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let wakes = Arc::new(Self::default());
        (wakes.clone(), Waker::from(wakes))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// Waits, without a runtime, until it has been woken at least once.
    pub(crate) fn wait(&self) {
        for _ in 0..PATIENCE.as_millis() {
            if self.count() > 0 {
                return;
            }
            thread::sleep(ms(1));
        }
        panic!("never woken");
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

struct Acts<F>(F);

impl<F: Fn() + Send + Sync> Wake for Acts<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// A waker that runs `act` when it is woken, on the thread that wakes it.
pub(crate) fn acting(act: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Acts(act)))
}

struct ActsLast<F: Fn()>(F);

impl<F: Fn() + Send + Sync> Wake for ActsLast<F> {
    fn wake(self: Arc<Self>) {}
}

impl<F: Fn()> Drop for ActsLast<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A waker that runs `act` when its last copy is dropped.
pub(crate) fn acting_last(act: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(ActsLast(act)))
}

/// Polls once, outside of the budget of the task that the test may be.
pub(crate) fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(&mut unconstrained(future)).poll(&mut Context::from_waker(waker))
}

/// Waits for `future` on a plain thread, in no runtime.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Runs `test` on a thread of its own and fails if it does not end in time.
pub(crate) fn watched<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || {
        let value = test();
        // Nobody waits any more if this took too long.
        let _ = sender.send(value);
    });
    match receiver.recv_timeout(PATIENCE) {
        Ok(value) => value,
        Err(RecvTimeoutError::Timeout) => panic!("hangs"),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => unreachable!("it has sent its value"),
        },
    }
}

/// Runs `test` on a clock that is paused, and tells at which times that clock stopped: each is a
/// wake-up that a real clock would have made.
pub(crate) fn stops_of<F: Future>(test: impl FnOnce() -> F) -> Vec<Duration> {
    let stops = Arc::new(Mutex::new(Vec::new()));
    let noted = stops.clone();
    let mut builder = Builder::new_current_thread();
    builder.enable_time().start_paused(true);
    builder.on_thread_unpark(move || noted.lock().unwrap().push(Instant::now()));
    let runtime = builder.build().unwrap();
    let start = runtime.block_on(async { Instant::now() });
    runtime.block_on(async { test().await });
    let stops = stops.lock().unwrap();
    let mut stops: Vec<_> = stops.iter().map(|&stop| stop - start).collect();
    stops.retain(|stop| !stop.is_zero());
    stops.dedup();
    stops
}

/// What `call`, which must panic, panics with.
pub(crate) fn text_of(call: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("it panics");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast_ref::<&str>().unwrap()).to_owned(),
    }
}

/// The timer of `runtime`.
pub(crate) fn timer_of(runtime: &Runtime) -> Timer {
    let _context = runtime.enter();
    Timer::current()
}
