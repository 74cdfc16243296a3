//! The threads that act, one at a time.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// A thread that acts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hand {
    /// The one that reads the input.
    Own,
    /// Another one that stays.
    Other,
    /// One of its own for each action.
    Passing,
}

impl Hand {
    pub(super) fn of(number: usize) -> Self {
        [Self::Own, Self::Other, Self::Passing][number]
    }

    /// Runs `act` there, to its end; a panic comes back here.
    pub(super) fn run<R: Send + 'static>(self, act: impl FnOnce() -> R + Send + 'static) -> R {
        let (sender, receiver) = channel();
        let job = move || {
            // Nobody listens if the caller has panicked.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(act)));
        };
        match self {
            Self::Own => job(),
            Self::Other => hire(Box::new(job)),
            // After the join: its thread locals are gone.
            Self::Passing => drop(thread::spawn(job).join()),
        }
        match receiver.recv() {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => unreachable!("the job answers"),
        }
    }
}

/// Gives a job to the thread that stays.
fn hire(job: Job) {
    static OTHER: OnceLock<Mutex<Sender<Job>>> = OnceLock::new();
    let other = OTHER.get_or_init(|| {
        let (sender, receiver): (_, Receiver<Job>) = channel();
        thread::spawn(move || receiver.into_iter().for_each(|job| job()));
        Mutex::new(sender)
    });
    let sender = other.lock().unwrap_or_else(PoisonError::into_inner);
    sender.send(job).expect("the thread stays");
}
