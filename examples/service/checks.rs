//! What must hold after a run.

use crate::run::Outcome;

/// The checks that failed, in words.
pub(crate) fn failures(outcome: &Outcome) -> Vec<String> {
    let Outcome { counts, totals, .. } = outcome;
    let mut failures = Vec::new();
    let mut check = |holds: bool, failure: String| {
        if !holds {
            failures.push(failure);
        }
    };

    check(
        counts.early == 0,
        format!("{} timers fired early", counts.early),
    );
    check(
        counts.live() == 0,
        format!("{} timers neither fired nor were cancelled", counts.live()),
    );
    for (count, fault) in totals.faults {
        check(count == 0, format!("{count} {fault}"));
    }
    check(
        totals.request_timeouts == 0,
        format!("{} requests ran out of time", totals.request_timeouts),
    );
    check(
        totals.early == 0,
        format!("{} stalled connections closed early", totals.early),
    );
    check(
        totals.late == 0,
        format!(
            "{} stalled connections closed late, the latest by {:?}",
            totals.late, totals.latest
        ),
    );
    // A run cut short leaves stalled connections behind, and that is no fault.
    if !outcome.interrupted {
        check(outcome.finished, "some clients did not end".to_owned());
        let open = totals.open();
        check(open == 0, format!("{open} stalled connections not closed"));
        check(
            totals.idle_ends == totals.stalled,
            format!(
                "{} connections closed for being idle, but {} stalled",
                totals.idle_ends, totals.stalled
            ),
        );
    }
    failures
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::meter::{Counts, Percentiles};
    use crate::protocol::IDLE_TIMEOUT;
    use crate::tally::{End, Fault, Tally};

    /// A run in which one connection stalled and was closed on time.
    fn outcome(change_tally: impl FnOnce(&Tally)) -> Outcome {
        let tally = Tally::default();
        tally.stalled();
        tally.closed(IDLE_TIMEOUT, IDLE_TIMEOUT);
        tally.ended(End::Idle);
        change_tally(&tally);
        Outcome {
            name: "test",
            connections: 1,
            elapsed: Duration::from_secs(1),
            requests: 1,
            cpu: None,
            peak_live: 1,
            counts: Counts::default(),
            lateness: Percentiles::default(),
            totals: tally.totals(),
            finished: true,
            interrupted: false,
        }
    }

    #[test]
    fn a_good_run_passes() {
        assert_eq!(failures(&outcome(|_| {})), Vec::<String>::new());
    }

    #[test]
    fn a_timer_that_fired_early_or_never_ended_fails() {
        let mut bad = outcome(|_| {});
        bad.counts.early = 1;
        bad.counts.created = 2;
        assert_eq!(
            failures(&bad),
            [
                "1 timers fired early",
                "2 timers neither fired nor were cancelled"
            ]
        );
    }

    #[test]
    fn a_connection_that_is_not_closed_on_time_fails() {
        let open = outcome(Tally::stalled);
        assert_eq!(failures(&open)[0], "1 stalled connections not closed");
        let late = outcome(|tally| {
            tally.stalled();
            tally.ended(End::Idle);
            tally.closed(2 * IDLE_TIMEOUT, 2 * IDLE_TIMEOUT);
        });
        assert_eq!(
            failures(&late),
            ["1 stalled connections closed late, the latest by 2s"]
        );
        let unwanted = outcome(|tally| tally.ended(End::Idle));
        assert_eq!(
            failures(&unwanted),
            ["2 connections closed for being idle, but 1 stalled"]
        );
    }

    #[test]
    fn a_fault_of_a_client_fails() {
        let bad = outcome(|tally| tally.fault(Fault::ExpiredEarly));
        assert_eq!(failures(&bad), ["1 entries expired early"]);
    }

    #[test]
    fn a_run_cut_short_may_leave_stalled_connections_open() {
        let mut cut = outcome(Tally::stalled);
        cut.finished = false;
        cut.interrupted = true;
        assert_eq!(failures(&cut), Vec::<String>::new());
    }
}
