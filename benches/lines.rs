//! Timers out of many, one at a time in no order: for `ci/lines`, which counts the cache lines that
//! are missed.
//!
//! ```text
//! lines PATH tokio|cogwheel COUNT
//! ```
//!
//! As in `instructions`, two runs that differ in their count differ by what the path costs.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark prints"
)]

use std::env;
use std::future::Future;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

const HOUR: Duration = Duration::from_secs(3600);
/// A power of two, so that an odd factor visits all.
const LIVE: u32 = 1 << 17;

/// A path by its name.
#[derive(Clone, Copy)]
struct Path {
    name: &'static str,
    tokio: fn(&Runtime, u32),
    cogwheel: fn(&Runtime, u32),
}

macro_rules! paths {
    ($($name:literal $path:ident,)*) => {
        [$(Path {
            name: $name,
            tokio: $path::<tokio::time::Sleep>,
            cogwheel: $path::<cogwheel::time::Sleep>,
        }),*]
    };
}

const PATHS: [Path; 4] = paths! {
    "reset-later" later,
    "reset-earlier" earlier,
    "replace" replace,
    "fire" fire,
};

/// A sleep of either kind.
trait Timer: Future<Output = ()> {
    fn until(deadline: Instant) -> Self;
    fn move_to(self: Pin<&mut Self>, deadline: Instant);
}

impl Timer for tokio::time::Sleep {
    fn until(deadline: Instant) -> Self {
        tokio::time::sleep_until(deadline)
    }

    fn move_to(self: Pin<&mut Self>, deadline: Instant) {
        self.reset(deadline);
    }
}

impl Timer for cogwheel::time::Sleep {
    fn until(deadline: Instant) -> Self {
        cogwheel::time::sleep_until(deadline)
    }

    fn move_to(self: Pin<&mut Self>, deadline: Instant) {
        self.reset(deadline);
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (path, side, count) = match words.as_slice() {
        [] => {
            println!("ci/lines runs this");
            return ExitCode::SUCCESS;
        }
        ["--list"] => {
            PATHS.iter().for_each(|path| println!("{}", path.name));
            return ExitCode::SUCCESS;
        }
        [path, side, count] => (*path, *side, count.parse::<u32>()),
        _ => ("", "", "".parse()),
    };
    let path = PATHS.iter().find(|known| known.name == path);
    let (Some(path), "tokio" | "cogwheel", Ok(count)) = (path, side, count) else {
        eprintln!("usage: lines [--list | PATH tokio|cogwheel COUNT]");
        return ExitCode::from(2);
    };
    let mut builder = Builder::new_current_thread();
    // A paused clock jumps to the next timer whenever there is nothing else to do.
    let builder = builder.enable_time().start_paused(path.name == "fire");
    let runtime = builder.build().expect("a runtime");
    let _context = runtime.enter();
    let run = if side == "tokio" {
        path.tokio
    } else {
        path.cogwheel
    };
    run(&runtime, count);
    ExitCode::SUCCESS
}

/// So many timers beside each other in memory, all pending.
fn pending<T: Timer>(deadlines: impl Iterator<Item = Instant>) -> Vec<Pin<Box<T>>> {
    // One allocation each, as in tasks.
    let mut timers: Vec<Pin<Box<T>>> = deadlines.map(|at| Box::pin(T::until(at))).collect();
    timers.iter_mut().for_each(|timer| poll(timer.as_mut()));
    timers
}

fn poll(timer: Pin<&mut impl Future>) {
    let poll = timer.poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll.is_pending());
}

/// Calls `act` for one timer after the other, in an order that no prefetcher knows.
fn each<T: Timer>(count: u32, mut act: impl FnMut(Pin<&mut T>, Instant, Duration)) {
    let start = Instant::now();
    let mut first = pin!(T::until(start + HOUR / 4));
    poll(first.as_mut());
    let spread = |index| start + HOUR + Duration::from_millis(u64::from(index));
    let mut timers = pending::<T>((0..LIVE).map(spread));
    for turn in 0..count {
        let index = turn.wrapping_mul(0x9E37_79B1) % LIVE;
        let step = Duration::from_micros(u64::from(turn));
        act(timers[index as usize].as_mut(), start, step);
    }
    black_box(timers);
}

fn later<T: Timer>(_: &Runtime, count: u32) {
    each::<T>(count, |timer, start, step| {
        timer.move_to(start + 2 * HOUR + step);
    });
}

fn earlier<T: Timer>(_: &Runtime, count: u32) {
    each::<T>(count, |timer, start, step| {
        timer.move_to(start + HOUR - step);
    });
}

fn replace<T: Timer>(_: &Runtime, count: u32) {
    let mut turn = 0_u32;
    each::<T>(count, |mut timer, start, _| {
        turn = turn.wrapping_add(0x85EB_CA6B);
        let deadline = start + HOUR + Duration::from_millis(u64::from(turn % LIVE));
        timer.set(T::until(deadline));
        poll(timer);
    });
}

/// Timers that become due, 64 in each millisecond, in no order.
fn fire<T: Timer>(runtime: &Runtime, count: u32) {
    runtime.block_on(async {
        let start = Instant::now();
        let milli = |number: u32| u64::from(number.wrapping_mul(0x9E37_79B1) % count / 64 + 1);
        let deadline = |number| start + Duration::from_millis(milli(number));
        let timers = pending::<T>((0..count).map(deadline));
        for timer in timers {
            timer.await;
        }
    });
}
