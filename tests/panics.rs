//! Panics of the time functions: their texts, and that the location is the caller's.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use cogwheel::Timer;
use cogwheel::error::TimerError;
use cogwheel::time::{
    Duration, Instant, Interval, interval, interval_at, lazy_timeout, sleep, sleep_until, timeout,
    timeout_at,
};
use futures::FutureExt;
use tokio::runtime::{Builder, Runtime};

const MS: Duration = Duration::from_millis(1);
const ZERO_PERIOD: &str = "`period` must be non-zero.";

/// What a panic hook sees.
#[derive(Debug, PartialEq, Eq)]
struct Report {
    file: String,
    text: String,
}

thread_local! {
    /// The last panic of this thread that [`panic_of`] waited for.
    static REPORT: RefCell<Option<Report>> = const { RefCell::new(None) };
    /// Whether it waits for one: the panics of failed tests go to the usual hook.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `call`, which must panic on this thread, and returns where and why it did.
fn panic_of(call: impl FnOnce()) -> Report {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if !EXPECTED.get() {
                return usual(info);
            }
            let file = info.location().map_or("", |location| location.file());
            let report = Report {
                file: file.to_owned(),
                text: text_of(info.payload()).to_owned(),
            };
            REPORT.set(Some(report));
        }));
    });
    EXPECTED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(call));
    EXPECTED.set(false);
    assert!(outcome.is_err(), "the call did not panic");
    REPORT.take().expect("a panic is reported")
}

fn text_of(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref().map(String::as_str))
        .unwrap_or("")
}

/// The report of a panic with `text` that points at this file.
fn here(text: impl ToString) -> Report {
    Report {
        file: file!().to_owned(),
        text: text.to_string(),
    }
}

/// Every call that makes a timer.
const CALLS: [(&str, fn()); 6] = [
    ("sleep", || _ = sleep(MS)),
    ("sleep_until", || _ = sleep_until(Instant::now())),
    ("timeout", || _ = timeout(MS, pending::<()>())),
    ("timeout_at", || {
        _ = timeout_at(Instant::now(), pending::<()>());
    }),
    ("interval", || _ = interval(MS)),
    ("interval_at", || _ = interval_at(Instant::now(), MS)),
];

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_time().build().expect("a runtime starts")
}

#[test]
fn without_a_runtime_every_call_panics_at_its_caller() {
    for (name, call) in CALLS {
        assert_eq!(panic_of(call), here(TimerError::NoRuntime), "{name}");
    }
}

#[test]
fn in_a_runtime_without_timers_every_call_panics_at_its_caller() {
    let runtimes = [
        Builder::new_current_thread().build().unwrap(),
        Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap(),
    ];
    for runtime in runtimes {
        for (name, call) in CALLS {
            let report = panic_of(|| runtime.block_on(async { call() }));
            assert_eq!(report, here(TimerError::TimeDisabled), "{name}");
        }
    }
}

#[test]
fn in_a_runtime_with_timers_no_call_panics() {
    let runtime = runtime();
    for (_, call) in CALLS {
        runtime.block_on(async { call() });
    }
}

#[test]
fn case_026_a_zero_period_panics_at_its_caller_whatever_the_runtime() {
    let calls: [fn() -> Interval; 2] = [
        || interval(Duration::ZERO),
        || interval_at(Instant::now(), Duration::ZERO),
    ];
    for call in calls {
        let outside = panic_of(|| _ = call());
        assert_eq!(outside, here(ZERO_PERIOD));
        let inside = panic_of(|| runtime().block_on(async { _ = call() }));
        assert_eq!(inside, here(ZERO_PERIOD));
    }
}

#[test]
fn a_zero_period_of_a_timer_panics_at_its_caller() {
    let timer = runtime().block_on(async { Timer::current() });
    let interval = panic_of(|| _ = timer.interval(Duration::ZERO));
    assert_eq!(interval, here(ZERO_PERIOD));
    let interval_at = panic_of(|| _ = timer.interval_at(Instant::now(), Duration::ZERO));
    assert_eq!(interval_at, here(ZERO_PERIOD));
}

#[test]
fn a_timer_makes_its_futures_outside_of_any_runtime() {
    let runtime = runtime();
    let timer = runtime.block_on(async { Timer::current() });
    let start = Instant::now();
    let mut beat = timer.interval_at(start + MS, MS);
    let timeout = timer.timeout(MS, pending::<()>());
    let timeout_at = timer.timeout_at(start + MS, pending::<()>());
    runtime.block_on(async {
        assert_eq!(beat.tick().await, start + MS);
        assert!(timeout.await.is_err());
        assert!(timeout_at.await.is_err());
    });
    assert!(start.elapsed() >= MS);
}

#[test]
fn a_lazy_timeout_panics_in_the_poll_that_needs_a_timer() {
    let lazy = lazy_timeout(MS, pending::<()>());
    let report = panic_of(|| assert!(lazy.now_or_never().is_none()));
    assert_eq!(report.text, TimerError::NoRuntime.to_string());
}

#[test]
fn a_timer_polled_after_its_runtime_has_shut_down_says_so() {
    let runtime = runtime();
    let entered = runtime.enter();
    let long = Duration::from_secs(3_600);
    let (sleep, timeout) = (sleep(long), timeout(long, pending::<()>()));
    let mut beat = interval_at(Instant::now() + long, long);
    drop(entered);
    drop(runtime);

    let text = "A Tokio 1.x context was found, but it is being shutdown.";
    let polls = [
        panic_of(|| assert!(sleep.now_or_never().is_none())),
        panic_of(|| assert!(timeout.now_or_never().is_none())),
        panic_of(|| assert!(beat.tick().now_or_never().is_none())),
    ];
    for report in polls {
        assert_eq!(report.text, text);
    }
}

#[test]
fn timers_that_outlive_their_runtime_are_dropped_in_peace() {
    let runtime = runtime();
    let timers = runtime.block_on(async {
        let mut polled = timeout(MS * 1_000, pending::<()>());
        assert!((&mut polled).now_or_never().is_none());
        (sleep(MS), polled, interval(MS))
    });
    drop(runtime);
    drop(timers);
}
