//! The load: random users of every kind of timer on two workers and on threads beside them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use cogwheel::delay_queue::channel_bounded;
use cogwheel::time::Instant;
use cogwheel::{Timer, delay_queue};
use tokio::runtime::Builder;

use crate::foreign;
use crate::ledger::{Ledger, Ticket};
use crate::random::Random;
use crate::scenarios::Stage;
use crate::users;
use crate::watch::{Seat, Watch};

const WORKERS: usize = 2;
/// Tasks of each kind.
const TASKS: usize = 12;
/// What the channel holds.
const CAPACITY: usize = 500;
/// Users that have not ended so long after they were told to have lost a timer.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a user needs.
pub(crate) struct User {
    pub(crate) ledger: &'static Ledger,
    pub(crate) random: Random,
    pub(crate) seat: Arc<Seat>,
    /// How long a worker may be blocked.
    pub(crate) longest_block: Duration,
    stop: Arc<AtomicBool>,
    /// Tells that this user has ended, when it is dropped.
    _alive: mpsc::Sender<()>,
}

impl User {
    pub(crate) fn stops(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// A timer in the books that this user will wait for.
    pub(crate) fn waits(&self, due: Instant) -> Ticket {
        self.seat.waits_until(due);
        self.ledger.ticket(due)
    }
}

/// Both ends of the channel that users share.
type Ends = (delay_queue::Sender<Ticket>, delay_queue::Receiver<Ticket>);

/// Runs the users for the time of the stage.
pub(crate) fn run(stage: &mut Stage) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_time()
        .build()
        .expect("a runtime can be made");
    let (watch, watching) = Watch::begin(stage.ledger);
    let stop = Arc::new(AtomicBool::new(false));
    let (alive, ended) = mpsc::channel();
    let mut random = stage.random.fork();
    let mut user = |what| User {
        ledger: stage.ledger,
        random: random.fork(),
        seat: watch.seat(what),
        longest_block: (stage.time / 5).clamp(Duration::from_millis(100), Duration::from_secs(2)),
        stop: Arc::clone(&stop),
        _alive: alive.clone(),
    };

    let context = runtime.enter();
    let ends: Ends = channel_bounded(CAPACITY);
    for _ in 0..TASKS {
        runtime.spawn(users::sleeper(user("sleeper")));
        runtime.spawn(users::timeouts(user("user of timeouts")));
        runtime.spawn(users::resetter(user("resetter")));
        runtime.spawn(users::ticker(user("user of an interval")));
        runtime.spawn(users::scheduler(user("scheduler")));
        runtime.spawn(users::queue(user("keeper of a queue")));
    }
    for _ in 0..2 {
        runtime.spawn(users::sender(user("sender"), ends.0.clone()));
        runtime.spawn(users::receiver(user("receiver"), ends.1.clone()));
        runtime.spawn(users::blocker(user("blocker")));
    }
    let own = Timer::builder().dedicated_thread().build();
    let own = own.expect("the system gives a thread");
    let mut threads = Vec::new();
    for timer in [Timer::current(), own.clone()] {
        let (waiting, rude, passing) = (user("thread"), user("rude thread"), user("parent"));
        let timers = [timer.clone(), timer.clone(), timer];
        let [first, second, third] = timers;
        threads.push(thread::spawn(move || foreign::sleeper(waiting, &first)));
        threads.push(thread::spawn(move || foreign::rude(rude, &second)));
        threads.push(thread::spawn(move || foreign::parent(passing, &third)));
    }
    let (sending, sender) = (user("sending thread"), ends.0.clone());
    threads.push(thread::spawn(move || foreign::sender(sending, &sender)));
    drop((ends, context, own));

    thread::sleep(stage.time);
    stop.store(true, Relaxed);
    drop(alive);
    // All users hold a sender, which nothing is ever sent by.
    if let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(PATIENCE) {
        stage
            .ledger
            .breach(format!("lost: users do not end in {PATIENCE:?}"));
    } else {
        threads.into_iter().for_each(|thread| {
            let joined = thread.join();
            stage
                .ledger
                .check(joined.is_ok(), || "a thread has panicked".into());
        });
    }
    runtime.shutdown_timeout(PATIENCE);
    watch.end();
    let looked = watching.join();
    stage
        .ledger
        .check(looked.is_ok(), || "the watch has panicked".into());
}
