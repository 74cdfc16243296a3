//! One hot path, so many times: for `ci/instructions`, which counts the instructions.
//!
//! ```text
//! instructions PATH COUNT
//! ```
//!
//! Two runs that differ in their count differ by what the path costs. Nothing here depends on
//! chance; and on the clock only in that it is read, and that the timers are far enough away.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark prints"
)]

use std::env;
use std::future::{Future, pending, ready};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::task::{Context, Waker};
use std::time::Duration;

use cogwheel::time::{Instant, Sleep, lazy_timeout, sleep, sleep_until, timeout};
use cogwheel::{DelayQueue, Timer};
use tokio::runtime::{Builder, Runtime};

const HOUR: Duration = Duration::from_secs(3600);
/// Timers that are live while some of them are moved.
const LIVE: u32 = 1024;

/// A hot path by its name; it is run within the runtime.
type Path = (&'static str, fn(&Runtime, u32));

const PATHS: [Path; 7] = [
    ("create-cancel-handle", create_cancel_handle),
    ("create-cancel-free", create_cancel_free),
    ("reset-later", reset_later),
    ("reset-earlier", reset_earlier),
    ("fire", fire),
    ("queue-insert-remove", queue_insert_remove),
    ("lazy-timeout-ready", lazy_timeout_ready),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    match arguments.as_slice() {
        [] => println!("ci/instructions runs this"),
        [list] if list == "--list" => PATHS.iter().for_each(|(name, _)| println!("{name}")),
        [name, count] => {
            let path = PATHS.iter().find(|path| path.0 == name);
            let (Some(path), Ok(count)) = (path, count.parse()) else {
                eprintln!("no such path, or {count:?} is no number");
                return ExitCode::from(2);
            };
            let runtime = runtime(path.0 == "fire");
            let _context = runtime.enter();
            (path.1)(&runtime, count);
        }
        _ => {
            eprintln!("usage: instructions [--list | PATH COUNT]");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// A runtime; a paused clock jumps to the next timer whenever there is nothing else to do.
fn runtime(paused: bool) -> Runtime {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(paused).build();
    runtime.expect("a runtime")
}

fn create_cancel_handle(_: &Runtime, count: u32) {
    let _earlier = earlier();
    let timer = Timer::current();
    for _ in 0..count {
        poll_pending(pin!(timer.timeout(black_box(HOUR), pending::<()>())));
    }
}

fn create_cancel_free(_: &Runtime, count: u32) {
    let _earlier = earlier();
    for _ in 0..count {
        poll_pending(pin!(timeout(black_box(HOUR), pending::<()>())));
    }
}

/// What the driver sleeps until, as some timer of a server always is.
fn earlier() -> Sleep {
    let mut earlier = sleep(HOUR / 4);
    poll_pending(pin!(&mut earlier));
    earlier
}

fn reset_later(_: &Runtime, count: u32) {
    reset(count, |start, step| start + HOUR + step);
}

fn reset_earlier(_: &Runtime, count: u32) {
    reset(count, |start, step| start + HOUR - step);
}

/// Moves one timer after the other, each time by a further step of a millisecond.
fn reset(count: u32, deadline: impl Fn(Instant, Duration) -> Instant) {
    let _earlier = earlier();
    let start = Instant::now();
    let mut sleeps = pending_sleeps(LIVE, HOUR);
    for turn in 0..count {
        let sleep = &mut sleeps[(turn % LIVE) as usize];
        let step = Duration::from_millis(u64::from(turn % 2_000_000));
        Pin::new(sleep).reset(black_box(deadline(start, step)));
    }
    black_box(sleeps);
}

/// Timers that become due, 64 in each millisecond.
fn fire(runtime: &Runtime, count: u32) {
    runtime.block_on(async {
        let start = Instant::now();
        let deadline = |number: u32| start + Duration::from_millis(u64::from(number / 64 + 1));
        let mut sleeps: Vec<Sleep> = (0..count)
            .map(|number| sleep_until(deadline(number)))
            .collect();
        sleeps
            .iter_mut()
            .for_each(|sleep| poll_pending(pin!(sleep)));
        for sleep in sleeps {
            sleep.await;
        }
    });
}

fn queue_insert_remove(_: &Runtime, count: u32) {
    let mut queue = DelayQueue::new();
    for number in 0..LIVE {
        queue.insert(number, HOUR + Duration::from_secs(u64::from(number)));
    }
    for number in 0..count {
        let key = queue.insert(number, black_box(HOUR));
        black_box(queue.remove(&key));
    }
}

fn lazy_timeout_ready(_: &Runtime, count: u32) {
    for _ in 0..count {
        let mut timeout = pin!(lazy_timeout(black_box(HOUR), ready(())));
        let poll = timeout
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(black_box(poll).is_ready());
    }
}

fn pending_sleeps(count: u32, duration: Duration) -> Vec<Sleep> {
    let mut sleeps: Vec<Sleep> = (0..count).map(|_| sleep(duration)).collect();
    sleeps
        .iter_mut()
        .for_each(|sleep| poll_pending(pin!(sleep)));
    sleeps
}

fn poll_pending(future: Pin<&mut impl Future>) {
    let poll = future.poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll.is_pending());
}
