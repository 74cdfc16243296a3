//! One run: a fresh runtime, the load on it, and a line of figures each second.
//!
//! The run is watched from a plain thread that waits on a standard channel. It needs no timer of
//! either kind, so a timer that is lost cannot stop the watch.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::meter::{Counts, Meter, Percentiles};
use crate::report;
use crate::system;
use crate::tally::{Tally, Totals};

/// Worker threads of each runtime.
const WORKERS: usize = 2;
/// Clients that have not ended this long after the load has stopped are given up.
const DRAIN_LIMIT: Duration = Duration::from_secs(8);
/// How often the settling is looked at.
const SETTLE_PAUSE: Duration = Duration::from_millis(100);
/// Everything that the setup may take, with a margin.
const SETUP_LIMIT: Duration = Duration::from_secs(15);
/// The exit code after Ctrl-C, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// The same load, compiled with one kind of timers.
pub(crate) struct Backend {
    pub(crate) name: &'static str,
    pub(crate) meter: &'static Meter,
    pub(crate) load: fn(Arc<Plan>) -> Load,
}

/// A running load. It ends once every client has.
pub(crate) type Load = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// What the clients of one run share.
pub(crate) struct Plan {
    pub(crate) connections: u64,
    pub(crate) tally: Arc<Tally>,
    phase: AtomicU8,
    events: Sender<Event>,
}

/// The phases of a run: clients connect, work, work without stalling or vanishing, and end.
///
/// Connecting or closing thousands of sockets at once delays everything else. Whether a stalled
/// connection is closed on time is therefore seen under the steady load between the two.
#[derive(Clone, Copy)]
enum Phase {
    Connecting,
    Working,
    Settling,
    Ending,
}

impl Plan {
    /// Whether clients may stall or vanish.
    pub(crate) fn may_misbehave(&self) -> bool {
        self.phase.load(Relaxed) == Phase::Working as u8
    }

    /// Whether clients are to end.
    pub(crate) fn stopped(&self) -> bool {
        self.phase.load(Relaxed) == Phase::Ending as u8
    }

    /// Begins the measured time.
    pub(crate) fn begin(&self, connections: usize, refusal: Option<io::Error>) {
        self.enter(Phase::Working);
        self.tell(Event::Connected {
            connections,
            refusal,
        });
    }

    fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }

    /// Tells the watching thread.
    fn tell(&self, event: Event) {
        // Nobody listens any more once the run is over.
        let _ = self.events.send(event);
    }
}

/// What the watching thread waits for.
pub(crate) enum Event {
    /// Every client that could be connected is.
    Connected {
        connections: usize,
        refusal: Option<io::Error>,
    },
    /// Every client has ended.
    Finished(io::Result<()>),
    /// Ctrl-C.
    Interrupted,
}

/// What one run has shown.
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) connections: usize,
    /// The time measured, and the requests, the CPU time and the lateness in it.
    pub(crate) elapsed: Duration,
    pub(crate) requests: u64,
    pub(crate) cpu: Option<Duration>,
    pub(crate) lateness: Percentiles,
    /// The most live timers seen at the end of a second.
    pub(crate) peak_live: u64,
    /// Everything from the start of the runtime until after its end.
    pub(crate) counts: Counts,
    pub(crate) totals: Totals,
    /// Whether every client has ended in time.
    pub(crate) finished: bool,
    pub(crate) interrupted: bool,
}

/// How the load came to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    TimeIsUp,
    Finished,
    Interrupted,
}

/// Runs the load once on `backend`.
///
/// # Errors
///
/// When there is no runtime, no listener or no connection to be had, when the load panicked, or
/// when Ctrl-C came before anything was measured.
pub(crate) fn run(backend: &Backend, args: &Args) -> io::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()?;
    let (events, received) = mpsc::channel();
    let plan = Arc::new(Plan {
        connections: args.connections as u64,
        tally: Arc::default(),
        phase: AtomicU8::new(Phase::Connecting as u8),
        events: events.clone(),
    });
    runtime.spawn(watch_for_ctrl_c(events));
    runtime.spawn(supervise(
        (backend.load)(Arc::clone(&plan)),
        Arc::clone(&plan),
    ));

    let mut watch = Watch::begin(backend, &plan.tally, &received)?;
    let mut stop = watch.seconds(args.seconds, &received)?;
    let mut outcome = watch.measured();
    if stop == Stop::TimeIsUp {
        plan.enter(Phase::Settling);
        stop = settle(&plan.tally, &received)?;
    }
    plan.enter(Phase::Ending);
    if stop == Stop::TimeIsUp {
        stop = wait(DRAIN_LIMIT, &received)?;
    }
    outcome.finished = stop == Stop::Finished;
    outcome.interrupted = stop == Stop::Interrupted;

    // Every timer that is still there is dropped with its task, and counts as cancelled.
    runtime.shutdown_timeout(DRAIN_LIMIT);
    outcome.counts = backend.meter.counts();
    outcome.totals = plan.tally.totals();
    Ok(outcome)
}

/// Waits until every stalled connection is closed.
fn settle(tally: &Tally, received: &Receiver<Event>) -> io::Result<Stop> {
    let start = Instant::now();
    loop {
        let stop = wait(SETTLE_PAUSE, received)?;
        let settled = tally.totals().open() == 0 || start.elapsed() > DRAIN_LIMIT;
        if settled || stop != Stop::TimeIsUp {
            return Ok(stop);
        }
    }
}

/// Waits for the load to end, no longer than `limit`.
fn wait(limit: Duration, received: &Receiver<Event>) -> io::Result<Stop> {
    match received.recv_timeout(limit) {
        Err(RecvTimeoutError::Timeout) => Ok(Stop::TimeIsUp),
        Ok(Event::Interrupted) => Ok(Stop::Interrupted),
        Ok(Event::Finished(result)) => result.map(|()| Stop::Finished),
        Ok(Event::Connected { .. }) | Err(RecvTimeoutError::Disconnected) => {
            Err(io::Error::other("the load has lost its way"))
        }
    }
}

async fn supervise(load: Load, plan: Arc<Plan>) {
    let ended = tokio::spawn(load).await;
    plan.tell(Event::Finished(
        ended.unwrap_or_else(|panic| Err(panic.into())),
    ));
}

/// The first Ctrl-C ends the run, the second one the process.
async fn watch_for_ctrl_c(events: Sender<Event>) {
    if tokio::signal::ctrl_c().await.is_ok() {
        let _ = events.send(Event::Interrupted);
    }
    if tokio::signal::ctrl_c().await.is_ok() {
        process::exit(INTERRUPTED.into());
    }
}

/// The figures at the start of the measured time and at the last second.
struct Watch<'a> {
    backend: &'a Backend,
    tally: &'a Tally,
    connections: usize,
    start: Instant,
    start_requests: u64,
    start_cpu: Option<Duration>,
    last: Instant,
    last_requests: u64,
    last_counts: Counts,
    peak_live: u64,
}

impl<'a> Watch<'a> {
    /// Waits until the clients are connected, and starts to measure.
    fn begin(
        backend: &'a Backend,
        tally: &'a Tally,
        received: &Receiver<Event>,
    ) -> io::Result<Self> {
        let started = Instant::now();
        let connections = match received.recv_timeout(SETUP_LIMIT) {
            Ok(Event::Connected {
                connections,
                refusal,
            }) => {
                let took = started.elapsed();
                report::connected(backend.name, connections, took, refusal.as_ref());
                connections
            }
            Ok(Event::Interrupted) => return Err(io::ErrorKind::Interrupted.into()),
            Ok(Event::Finished(Err(error))) => return Err(error),
            Ok(Event::Finished(Ok(()))) | Err(_) => {
                return Err(io::Error::other("the clients did not get connected"));
            }
        };
        // While thousands of connections are opened at once, everything is late.
        backend.meter.forget_lateness();
        let now = Instant::now();
        let requests = tally.requests();
        Ok(Self {
            backend,
            tally,
            connections,
            start: now,
            start_requests: requests,
            start_cpu: system::cpu_time(),
            last: now,
            last_requests: requests,
            last_counts: backend.meter.counts(),
            peak_live: 0,
        })
    }

    /// Prints one line for each second.
    fn seconds(&mut self, seconds: u64, received: &Receiver<Event>) -> io::Result<Stop> {
        for second in 1..=seconds {
            let end = self.start + Duration::from_secs(second);
            let left = end.saturating_duration_since(Instant::now());
            match wait(left, received)? {
                Stop::TimeIsUp => self.second(second),
                stop => return Ok(stop),
            }
        }
        Ok(Stop::TimeIsUp)
    }

    fn second(&mut self, second: u64) {
        let now = Instant::now();
        let requests = self.tally.requests();
        let counts = self.backend.meter.counts();
        let elapsed = (now - self.last).as_secs_f64();
        report::second(&report::Second {
            name: self.backend.name,
            second,
            requests_per_second: (requests - self.last_requests) as f64 / elapsed,
            live: counts.live(),
            counts: counts.since(&self.last_counts),
            lateness: self.backend.meter.recent_lateness(),
        });
        self.peak_live = self.peak_live.max(counts.live());
        (self.last, self.last_requests, self.last_counts) = (now, requests, counts);
    }

    /// The figures of the measured time; the rest is filled in when the runtime has ended.
    fn measured(&self) -> Outcome {
        let cpu = system::cpu_time();
        Outcome {
            name: self.backend.name,
            connections: self.connections,
            elapsed: self.start.elapsed(),
            requests: self.tally.requests() - self.start_requests,
            cpu: cpu.zip(self.start_cpu).map(|(now, start)| now - start),
            peak_live: self.peak_live,
            counts: self.backend.meter.counts(),
            lateness: self.backend.meter.total_lateness(),
            totals: self.tally.totals(),
            finished: false,
            interrupted: false,
        }
    }
}
