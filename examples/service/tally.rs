//! What the clients and the service saw in one run, as plain counts.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::Duration;

use crate::protocol::IDLE_TIMEOUT;

/// A stalled connection that is closed up to this long after its idle timeout was closed on time;
/// so was an entry that expires up to this long after its time to live. Generous, for the machine
/// may be busy with other things.
pub(crate) const TOLERANCE: Duration = Duration::from_millis(250);

/// Why the service ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The peer has closed it, or has gone.
    Peer,
    /// The peer sent nothing for too long.
    Idle,
    /// A request took too long.
    RequestTimeout,
    /// The peer sent a line without an end.
    LineTooLong,
    /// The service itself is ending.
    StoreClosed,
}

/// What must not happen to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection was closed, and not for being idle.
    Closed,
    /// No answer came.
    NoAnswer,
    /// An answer came that the protocol does not allow.
    WrongAnswer,
    /// An entry was gone before its time.
    ExpiredEarly,
    /// An entry was still there long after its time.
    ExpiredLate,
    /// The client could not connect again.
    NotConnected,
}

impl Fault {
    /// What the report says of it.
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Closed, "well-behaved connections closed"),
        (Self::NoAnswer, "requests without an answer"),
        (Self::WrongAnswer, "wrong answers"),
        (Self::ExpiredEarly, "entries expired early"),
        (Self::ExpiredLate, "entries expired late"),
        (Self::NotConnected, "clients that could not reconnect"),
    ];
}

/// The counts of one run, shared by all its tasks.
#[derive(Default)]
pub(crate) struct Tally {
    requests: AtomicU64,
    stalled: AtomicU64,
    on_time: AtomicU64,
    early: AtomicU64,
    late: AtomicU64,
    latest_nanos: AtomicU64,
    vanished: AtomicU64,
    faults: [AtomicU64; Fault::ALL.len()],
    idle_ends: AtomicU64,
    request_timeouts: AtomicU64,
}

impl Tally {
    /// A client got its answer.
    pub(crate) fn answered(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    /// Requests answered so far.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    /// A client dropped its connection without a word.
    pub(crate) fn vanished(&self) {
        self.vanished.fetch_add(1, Relaxed);
    }

    /// A client fell silent and now waits to be closed.
    pub(crate) fn stalled(&self) {
        self.stalled.fetch_add(1, Relaxed);
    }

    /// A stalled client was closed. The service saw its last packet at an instant that the client
    /// knows only roughly: at most `longest` and at least `shortest` ago.
    pub(crate) fn closed(&self, longest: Duration, shortest: Duration) {
        let late = shortest.saturating_sub(IDLE_TIMEOUT);
        let verdict = if longest < IDLE_TIMEOUT {
            &self.early
        } else if late <= TOLERANCE {
            &self.on_time
        } else {
            &self.late
        };
        verdict.fetch_add(1, Release);
        let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.latest_nanos.fetch_max(nanos, Relaxed);
    }

    /// A client was treated wrongly.
    pub(crate) fn fault(&self, fault: Fault) {
        self.faults[fault as usize].fetch_add(1, Relaxed);
    }

    /// The service ended a connection.
    pub(crate) fn ended(&self, end: End) {
        match end {
            End::Idle => self.idle_ends.fetch_add(1, Relaxed),
            End::RequestTimeout => self.request_timeouts.fetch_add(1, Relaxed),
            // These show on the client's side, as faults unless the client wanted them.
            End::Peer | End::LineTooLong | End::StoreClosed => return,
        };
    }

    /// The counts as they are now.
    pub(crate) fn totals(&self) -> Totals {
        // Those closed are read before those stalled, which are never fewer.
        let [on_time, early, late] =
            [&self.on_time, &self.early, &self.late].map(|n| n.load(Acquire));
        Totals {
            stalled: self.stalled.load(Relaxed),
            on_time,
            early,
            late,
            latest: Duration::from_nanos(self.latest_nanos.load(Relaxed)),
            vanished: self.vanished.load(Relaxed),
            faults: Fault::ALL.map(|(fault, text)| {
                let count = self.faults[fault as usize].load(Relaxed);
                (count, text)
            }),
            idle_ends: self.idle_ends.load(Relaxed),
            request_timeouts: self.request_timeouts.load(Relaxed),
        }
    }
}

/// The counts of one run at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    /// Connections that stalled on purpose; each is in one of the next three counts once closed.
    pub(crate) stalled: u64,
    pub(crate) on_time: u64,
    pub(crate) early: u64,
    pub(crate) late: u64,
    /// How long after its idle timeout the latest of them was closed.
    pub(crate) latest: Duration,
    pub(crate) vanished: u64,
    pub(crate) faults: [(u64, &'static str); Fault::ALL.len()],
    /// Connections that the service closed for being idle.
    pub(crate) idle_ends: u64,
    pub(crate) request_timeouts: u64,
}

impl Totals {
    /// Stalled connections that have not been closed yet.
    pub(crate) fn open(&self) -> u64 {
        self.stalled - self.on_time - self.early - self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    fn close(longest: Duration, shortest: Duration) -> (u64, u64, u64) {
        let tally = Tally::default();
        tally.closed(longest, shortest);
        let totals = tally.totals();
        (totals.early, totals.on_time, totals.late)
    }

    #[test]
    fn a_close_is_early_only_if_the_last_packet_cannot_be_an_idle_timeout_ago() {
        assert_eq!(close(IDLE_TIMEOUT - MILLI, IDLE_TIMEOUT - MILLI), (1, 0, 0));
        assert_eq!(close(IDLE_TIMEOUT, IDLE_TIMEOUT - MILLI), (0, 1, 0));
    }

    #[test]
    fn a_close_is_late_only_beyond_the_tolerance() {
        let latest = IDLE_TIMEOUT + TOLERANCE;
        assert_eq!(close(latest + MILLI, latest), (0, 1, 0));
        assert_eq!(close(latest + MILLI, latest + MILLI), (0, 0, 1));
    }

    #[test]
    fn each_fault_has_its_own_count_and_text() {
        for (index, (fault, text)) in Fault::ALL.into_iter().enumerate() {
            let tally = Tally::default();
            tally.fault(fault);
            for (other, counted) in tally.totals().faults.into_iter().enumerate() {
                let wanted = (u64::from(other == index), Fault::ALL[other].1);
                assert_eq!(counted, wanted, "{text}");
            }
        }
    }
}
