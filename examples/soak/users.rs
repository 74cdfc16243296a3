//! The users that are tasks.

use std::future::pending;
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cogwheel::delay_queue::{Key, Receiver, Sender};
use cogwheel::scheduled::Outcome;
use cogwheel::time::{Instant, Sleep, interval, sleep, timeout};
use cogwheel::{DelayQueue, Timer};
use futures::StreamExt;

use crate::faults::Planned;
use crate::ledger::Ticket;
use crate::load::User;

/// The longest that a user waits for one timer.
const LONGEST: Duration = Duration::from_millis(60);
/// Items of a queue.
const ITEMS: usize = 64;

/// Sleeps, sometimes to the end.
pub(crate) async fn sleeper(mut user: User) {
    while !user.stops() {
        let mut sleep = sleep(user.random.duration(LONGEST));
        let ticket = user.waits(sleep.deadline());
        match user.random.below(4) {
            0 | 1 => {
                sleep.await;
                ticket.fired();
            }
            // Polled once, and dropped on another worker, perhaps.
            2 => match futures::poll!(&mut sleep) {
                Poll::Ready(()) => ticket.fired(),
                Poll::Pending => tokio::task::yield_now().await,
            },
            _ => {
                let moved = tokio::spawn(async move {
                    sleep.await;
                    ticket.fired();
                });
                if user.random.once_in(3) {
                    moved.abort();
                }
                let _ = moved.await;
            }
        }
    }
}

/// Runs this and that under timeouts, most of which are cancelled.
pub(crate) async fn timeouts(mut user: User) {
    while !user.stops() {
        let limit = user.random.duration(LONGEST);
        let due = Instant::now() + limit;
        let steps = user.random.below(4);
        let stuck = user.random.once_in(4);
        let ticket = user.waits(due);
        let work = async {
            for _ in 0..steps {
                tokio::task::yield_now().await;
            }
            if stuck {
                pending::<()>().await;
            }
        };
        if timeout(limit, work).await.is_err() {
            ticket.fired();
        }
    }
}

/// Moves a sleep again and again, as an idle timeout is moved.
pub(crate) async fn resetter(mut user: User) {
    while !user.stops() {
        let mut idle = sleep(user.random.duration(LONGEST));
        let mut ticket = Some(user.waits(idle.deadline()));
        for _ in 0..user.random.below(6) {
            let mut pause = sleep(user.random.duration(LONGEST / 8));
            let fired = tokio::select! {
                () = &mut idle => true,
                () = &mut pause => false,
            };
            if let (true, Some(fired)) = (fired, ticket.take()) {
                fired.fired();
            }
            idle.set_deadline(Instant::now() + user.random.duration(LONGEST));
            user.seat.waits_until(idle.deadline());
            match &mut ticket {
                Some(ticket) => ticket.moved(idle.deadline()),
                None => ticket = Some(user.ledger.ticket(idle.deadline())),
            }
        }
        if user.random.once_in(2) {
            continue;
        }
        idle.await;
        ticket.into_iter().for_each(Ticket::fired);
    }
}

/// Ticks a few times, and begins anew.
pub(crate) async fn ticker(mut user: User) {
    while !user.stops() {
        let period = user.random.duration(LONGEST / 4) + Duration::from_micros(10);
        let mut interval = interval(period);
        let mut before = None;
        for _ in 0..1 + user.random.below(5) {
            user.seat.waits_until(Instant::now() + period);
            let mut ticket = user.ledger.ticket(None);
            let tick = interval.tick().await;
            ticket.moved(tick);
            ticket.fired();
            user.ledger.check(before < Some(tick), || {
                format!("an interval ticks at {tick:?} after {before:?}")
            });
            before = Some(tick);
        }
    }
}

/// Puts work off, calls it off, moves it; some of it panics.
pub(crate) async fn scheduler(mut user: User) {
    let timer = Timer::current();
    while !user.stops() {
        let delay = user.random.duration(LONGEST);
        let due = Arc::new(Mutex::new(Instant::now() + delay));
        let ran = Arc::new(AtomicBool::new(false));
        let panics = user.random.once_in(16);
        let mut ticket = user.waits(Instant::now() + delay);
        let work = {
            let (due, ran) = (Arc::clone(&due), Arc::clone(&ran));
            async move {
                ran.store(true, SeqCst);
                ticket.moved(*due.lock().unwrap_or_else(PoisonError::into_inner));
                ticket.fired();
                if panics {
                    panic_any(Planned);
                }
            }
        };
        let scheduled = timer.schedule(delay, work);
        if user.random.once_in(3) {
            let moved = Instant::now() + user.random.duration(LONGEST);
            // Whoever starts in between must not seem early.
            let set = |to| *due.lock().unwrap_or_else(PoisonError::into_inner) = to;
            let old = scheduled.deadline();
            set(old.min(moved));
            if scheduled.reschedule(moved) {
                set(moved);
                user.seat.waits_until(moved);
            }
        }
        if user.random.once_in(2) {
            for _ in 0..user.random.below(3) {
                tokio::task::yield_now().await;
            }
            if scheduled.cancel() {
                user.ledger
                    .check(!ran.load(SeqCst), || "cancelled work ran".into());
            }
        }
        let outcome = scheduled.await;
        let right = match outcome {
            Outcome::Fired(()) => ran.load(SeqCst) && !panics,
            Outcome::Panicked(_) => ran.load(SeqCst) && panics,
            Outcome::Cancelled => !ran.load(SeqCst),
            _ => false,
        };
        user.ledger
            .check(right, || format!("work ended as {outcome:?}, ran: {ran:?}"));
    }
}

/// Keeps a queue of many deadlines.
pub(crate) async fn queue(mut user: User) {
    let mut queue = DelayQueue::new();
    let mut keys: Vec<Key> = Vec::new();
    while !user.stops() {
        if queue.len() < ITEMS {
            let due = Instant::now() + user.random.duration(LONGEST);
            keys.push(queue.insert_at(user.ledger.ticket(due), due));
        }
        if user.random.once_in(3) && !keys.is_empty() {
            let n = user.random.index(keys.len());
            if user.random.once_in(2) {
                queue.try_remove(&keys.swap_remove(n));
            } else {
                let due = Instant::now() + user.random.duration(LONGEST);
                if queue.try_reset_at(&keys[n], due) {
                    queue
                        .get_mut(&keys[n])
                        .into_iter()
                        .for_each(|ticket| ticket.moved(due));
                }
            }
        }
        if keys.len() > 2 * ITEMS {
            keys.retain(|key| queue.try_deadline(key).is_some());
        }
        if user.random.once_in(4) {
            if let Some(first) = queue.next_deadline() {
                user.seat.waits_until(first);
            }
            take(&mut queue, &user).await;
        }
        tokio::task::yield_now().await;
    }
    while !queue.is_empty() {
        take(&mut queue, &user).await;
    }
}

/// Takes the next item when it is due.
async fn take(queue: &mut DelayQueue<Ticket>, user: &User) {
    let Some(item) = queue.next().await else {
        return;
    };
    let due = item.deadline();
    let ticket = item.into_inner();
    user.ledger.check(ticket.due() == Some(due), || {
        "an item has another's deadline".into()
    });
    ticket.fired();
    user.seat.waits_no_more();
}

/// Sends to whoever receives, and sometimes takes it back.
pub(crate) async fn sender(mut user: User, sender: Sender<Ticket>) {
    while !user.stops() {
        let due = Instant::now() + user.random.duration(LONGEST);
        let sent = sender.send_at(user.ledger.ticket(due), due).await;
        if let (Ok(key), true) = (sent, user.random.once_in(4)) {
            tokio::task::yield_now().await;
            drop(sender.remove(&key));
        }
        if user.random.once_in(8) {
            sleep(user.random.duration(LONGEST / 16)).await;
        }
    }
}

/// Receives until all who send have ended.
pub(crate) async fn receiver(user: User, mut receiver: Receiver<Ticket>) {
    loop {
        match receiver.next_deadline() {
            Some(first) => user.seat.waits_until(first),
            None => user.seat.waits_no_more(),
        }
        let Some(item) = receiver.recv().await else {
            return;
        };
        item.into_inner().fired();
    }
}

/// Blocks a worker, now and then.
pub(crate) async fn blocker(mut user: User) {
    while !user.stops() {
        let shortest = Duration::from_millis(100);
        let pause = sleep(shortest + user.random.duration(4 * user.longest_block));
        let ticket = user.waits(pause.deadline());
        pause.await;
        ticket.fired();
        let block = shortest + user.random.duration(user.longest_block);
        user.seat.waits_no_more();
        std::thread::sleep(block.min(user.longest_block));
    }
}

/// Polls a sleep of another thread's or task's making, once.
pub(crate) fn poll_once(sleep: &mut Sleep, waker: &Waker) -> bool {
    let mut context = Context::from_waker(waker);
    Pin::new(sleep).poll(&mut context).is_ready()
}
