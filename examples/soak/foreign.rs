//! The users that are plain threads.

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use cogwheel::Timer;
use cogwheel::delay_queue::Sender;
use cogwheel::time::Instant;
use futures::executor::block_on;

use crate::faults::Planned;
use crate::ledger::Ticket;
use crate::load::User;
use crate::users::poll_once;

const LONGEST: Duration = Duration::from_millis(40);
/// More timers than a thread keeps nodes for.
const CROWD: usize = 100;

/// Sleeps on a thread.
pub(crate) fn sleeper(mut user: User, timer: &Timer) {
    while !user.stops() {
        let sleep = timer.sleep(user.random.duration(LONGEST));
        let ticket = user.waits(sleep.deadline());
        block_on(sleep);
        ticket.fired();
        user.seat.waits_no_more();
    }
}

/// A waker that panics after it has done its work.
struct Rude {
    woken: AtomicBool,
    thread: Thread,
}

impl Wake for Rude {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, SeqCst);
        self.thread.unpark();
        panic_any(Planned);
    }
}

/// Waits with wakers that panic: that must cost nobody else his wake.
pub(crate) fn rude(mut user: User, timer: &Timer) {
    while !user.stops() {
        let mut sleep = timer.sleep(user.random.duration(LONGEST));
        let due = sleep.deadline();
        let ticket = user.waits(due);
        let rude = Arc::new(Rude {
            woken: AtomicBool::new(false),
            thread: thread::current(),
        });
        let waker = Waker::from(Arc::clone(&rude));
        if !poll_once(&mut sleep, &waker) {
            while !rude.woken.load(SeqCst) {
                thread::park();
            }
            user.ledger
                .check(Instant::now() >= due, || "woken early".into());
            user.ledger.check(poll_once(&mut sleep, &waker), || {
                "woken, but not ready".into()
            });
        }
        ticket.fired();
        user.seat.waits_no_more();
    }
}

/// Starts threads that end with their caches full, and timers of theirs that live on.
pub(crate) fn parent(mut user: User, timer: &Timer) {
    while !user.stops() {
        let (timer, ledger) = (timer.clone(), user.ledger);
        let mut random = user.random.fork();
        let child = thread::spawn(move || {
            let mut crowd: Vec<_> = (0..CROWD)
                .map(|_| {
                    let mut sleep = timer.sleep(random.duration(LONGEST));
                    let ticket = ledger.ticket(sleep.deadline());
                    let ready = poll_once(&mut sleep, Waker::noop());
                    (sleep, ticket, ready)
                })
                .collect();
            // One is left over, for the parent.
            crowd.pop()
        });
        let Ok(left) = child.join() else {
            user.ledger
                .breach("a thread that ended has panicked".into());
            return;
        };
        if let Some((sleep, ticket, _)) = left {
            user.seat.waits_until(sleep.deadline());
            block_on(sleep);
            ticket.fired();
        }
        user.seat.waits_no_more();
        thread::sleep(Duration::from_millis(1));
    }
}

/// Sends from a thread, without waiting.
pub(crate) fn sender(mut user: User, sender: &Sender<Ticket>) {
    while !user.stops() {
        let delay = user.random.duration(LONGEST);
        let due = Instant::now() + delay;
        // A channel that is full gives the ticket back: cancelled.
        drop(sender.try_insert_at(user.ledger.ticket(due), due));
        thread::sleep(user.random.duration(Duration::from_millis(2)));
    }
}
