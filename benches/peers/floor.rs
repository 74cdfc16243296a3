//! What this machine charges for the pieces that no timer can do without, and what they come to
//! for the loads whose targets are hard to meet.
//!
//! A floor is no estimate of what an operation should cost: only what is listed for it is in it.
//! Where it lies above what a target asks for, the target cannot be met on this machine by a timer
//! that reads the clock anew, wakes the task that waits and touches its own memory.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::measure::{Mark, as_f64, quantile};
use crate::rounds::Verdict;
use crate::table::figure;
use crate::world::Place;

/// Each piece is measured so often; the median counts.
const ROUNDS: usize = 7;
const OPS: u64 = 400_000;

/// What the pieces cost, in nanoseconds of processor time, or of the clock on the wall where two
/// threads are at it.
pub(crate) struct Floor {
    clock: f64,
    context: f64,
    context_shared: f64,
    exchange: f64,
    waker: f64,
    waker_shared: f64,
    line: f64,
}

/// Measures all pieces, which takes about two seconds.
pub(crate) fn measure() -> Floor {
    Floor {
        clock: median(clock),
        context: median(context),
        context_shared: median(context_shared),
        exchange: median(exchange),
        waker: median(waker),
        waker_shared: median(waker_shared),
        line: median(line),
    }
}

fn median(measure: impl Fn() -> f64) -> f64 {
    let mut all: Vec<f64> = (0..ROUNDS).map(|_| measure()).collect();
    all.sort_by(f64::total_cmp);
    quantile(&all, 0.5)
}

/// The processor time of each of `ops` calls.
fn cpu_of(ops: u64, mut act: impl FnMut(u64)) -> f64 {
    let mark = Mark::now();
    (0..ops).for_each(&mut act);
    mark.cpu_seconds() * 1e9 / as_f64(i64::try_from(ops).unwrap_or(i64::MAX))
}

fn clock() -> f64 {
    cpu_of(OPS, |_| {
        black_box(Instant::now());
    })
}

/// Asking which runtime this is: the only way to learn it counts a reference up and down.
fn context() -> f64 {
    Place::CurrentThread.build().block_on(async {
        cpu_of(OPS, |_| {
            black_box(Handle::current().id());
        })
    })
}

/// The same on two workers at once, which count the same references: what each waits for one.
fn context_shared() -> f64 {
    let runtime = Place::MultiThread(2).build();
    both(&|| {
        let _context = runtime.enter();
        (0..OPS).for_each(|_| {
            black_box(Handle::current().id());
        });
    })
}

fn exchange() -> f64 {
    let word = AtomicU64::new(0);
    cpu_of(OPS, |index| {
        black_box(word.swap(index, Ordering::AcqRel));
    })
}

/// Cloning and dropping the waker of a task.
fn waker() -> f64 {
    with_waker(|waker| cpu_of(OPS, |_| drop(black_box(waker.clone()))))
}

/// The same on two threads at once.
fn waker_shared() -> f64 {
    with_waker(|waker| both(&|| (0..OPS).for_each(|_| drop(black_box(waker.clone())))))
}

fn with_waker(measure: impl Fn(&Waker) -> f64 + Send + 'static) -> f64 {
    Place::CurrentThread.build().block_on(async {
        let task = poll_fn(move |cx: &mut Context<'_>| Poll::Ready(measure(cx.waker())));
        tokio::spawn(task).await.expect("no panic")
    })
}

/// A cache line that another thread wrote last, exchanged: a handful of lines goes to and fro, as
/// the nodes of timers do that are made here and dropped there.
fn line() -> f64 {
    const LINES: u64 = 256;
    const TRIPS: u64 = 400;
    #[repr(align(128))]
    struct Line(AtomicU64);
    let lines: Arc<Vec<Line>> = Arc::new((0..LINES).map(|_| Line(AtomicU64::new(0))).collect());
    let whose = Arc::new(AtomicU64::new(0));
    let go = |lines: &[Line], whose: &AtomicU64, me: u64| {
        for trip in 0..TRIPS {
            while whose.load(Ordering::Acquire) != 2 * trip + me {
                spin_loop();
            }
            for line in lines {
                black_box(line.0.swap(trip, Ordering::AcqRel));
            }
            whose.store(2 * trip + me + 1, Ordering::Release);
        }
    };
    let (theirs, turn) = (lines.clone(), whose.clone());
    let begin = std::time::Instant::now();
    let other = thread::spawn(move || go(&theirs, &turn, 1));
    go(&lines, &whose, 0);
    other.join().expect("no panic");
    let wall = begin.elapsed().as_secs_f64();
    wall * 1e9 / as_f64(i64::try_from(2 * TRIPS * LINES).unwrap_or(i64::MAX))
}

/// The time on the wall of each of the operations that two threads do at once.
fn both(act: &(impl Fn() + Sync)) -> f64 {
    let barrier = Barrier::new(2);
    let one = || {
        barrier.wait();
        let begin = std::time::Instant::now();
        act();
        begin.elapsed().as_secs_f64()
    };
    let slower = thread::scope(|scope| {
        let other = scope.spawn(one);
        let here = one();
        here.max(other.join().expect("no panic"))
    });
    slower * 1e9 / as_f64(i64::try_from(OPS).unwrap_or(i64::MAX))
}

/// So many of a piece.
type Share = (f64, &'static str);

impl Floor {
    /// What one operation of a load cannot do without, by piece.
    fn shares(&self, load: &str, free: bool) -> Option<Vec<(f64, String)>> {
        let one = |share: Share| (share.0, share.1.to_owned());
        let shares: Vec<Share> = match load {
            "a/fixed" | "a/random" | "a/mixed" => vec![
                (self.clock, "the clock"),
                (self.context, "which runtime this is"),
                (2.0 * self.exchange, "two exchanges"),
            ],
            "a/worker" if free => vec![
                (self.clock, "the clock"),
                (self.context, "which runtime this is"),
                (2.0 * self.exchange, "two exchanges"),
            ],
            "a/worker" => vec![
                (self.clock, "the clock"),
                (2.0 * self.exchange, "two exchanges"),
            ],
            "a/elsewhere" => vec![
                (self.clock, "the clock"),
                (self.context, "which runtime this is"),
                (self.waker, "a waker cloned here and dropped there"),
                (2.0 * self.line, "the node's exchanges, there and back"),
            ],
            "b2/fixed" | "b2/random" | "b2/mixed" if free => vec![
                (self.clock / 2.0, "the clock"),
                (self.context_shared / 2.0, "which runtime this is"),
                (self.exchange, "two exchanges"),
            ],
            "b2/elsewhere" if free => vec![
                (self.clock / 2.0, "the clock"),
                (self.context_shared / 2.0, "which runtime this is"),
                (
                    self.waker_shared / 2.0,
                    "a waker cloned here and dropped there",
                ),
                (self.line, "the node's exchanges, there and back"),
            ],
            "b2/elsewhere" => vec![
                (self.clock / 2.0, "the clock"),
                (
                    self.waker_shared / 2.0,
                    "a waker cloned here and dropped there",
                ),
                (self.line, "the node's exchanges, there and back"),
            ],
            "k/duplex" => vec![
                (2.0 * self.clock, "the clock, twice"),
                (2.0 * self.context, "which runtime this is, twice"),
                (2.0 * self.waker, "two tasks' wakers"),
                (4.0 * self.exchange, "four exchanges"),
            ],
            _ => return None,
        };
        Some(shares.into_iter().map(one).collect())
    }

    /// The pieces, and the floors of the loads in `verdicts`.
    pub(crate) fn markdown(&self, verdicts: &[Verdict]) -> String {
        let mut text = String::from(
            "\n## The floor\n\nWhat this machine charged, in the same run, for what no timer can do \
             without:\n\n| piece | ns |\n|---|---:|\n",
        );
        for (about, nanos) in self.pieces() {
            let _ = writeln!(text, "| {about} | {} |", figure(nanos));
        }
        text.push_str(
            "\nAnd what these come to for targets that ask for little time. A floor has nothing in \
             it but what is listed; where it is above what was asked for, nobody who reads the \
             clock and touches the timer can meet the target here.\n\n\
             | load | peer | asked for | floor | came to | the floor is |\n\
             |---|---|---:|---:|---:|---|\n",
        );
        for line in verdicts.iter().filter_map(|verdict| self.line_of(verdict)) {
            text.push_str(&line);
        }
        text
    }

    fn pieces(&self) -> [(&'static str, f64); 7] {
        [
            ("one reading of the clock", self.clock),
            ("asking which runtime this is", self.context),
            ("the same on two workers at once, each", self.context_shared),
            ("an exchange on a word at hand", self.exchange),
            ("a task's waker cloned and dropped", self.waker),
            ("the same on two threads at once, each", self.waker_shared),
            (
                "an exchange on a line that another thread wrote last",
                self.line,
            ),
        ]
    }

    fn line_of(&self, verdict: &Verdict) -> Option<String> {
        let asked = verdict.asked()?;
        let free = verdict.goal.peer.text().ends_with("free");
        let shares = self.shares(verdict.load, free)?;
        let floor: f64 = shares.iter().map(|share| share.0).sum();
        let listed: Vec<String> = shares
            .into_iter()
            .filter(|share| share.0 > 0.0)
            .map(|(nanos, about)| format!("{about} {}", figure(nanos)))
            .collect();
        Some(format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            verdict.load,
            verdict.goal.peer,
            figure(asked),
            figure(floor),
            figure(verdict.ours),
            listed.join(", ")
        ))
    }
}
