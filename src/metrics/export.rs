//! Hands a snapshot to the `metrics` crate, whose recorder exports it.

use ::metrics::{SharedString, counter, gauge};

use crate::metrics::TimerMetrics;

/// With the feature `metrics`.
impl TimerMetrics {
    /// Hands these figures to the recorder of the `metrics` crate, under the label `timer = name`.
    ///
    /// Call it whenever figures are to be fresh, every few seconds or when they are asked for;
    /// nothing is handed on by itself. Without a recorder it does nothing.
    ///
    /// | name | kind | is |
    /// |---|---|---|
    /// | `cogwheel_timers_live` | gauge | [`live`](Self::live) |
    /// | `cogwheel_timers_queued` | gauge | [`queued`](Self::queued) |
    /// | `cogwheel_timers_created_total` | counter | [`created`](Self::created) |
    /// | `cogwheel_timers_fired_total` | counter | [`fired`](Self::fired) |
    /// | `cogwheel_timers_cancelled_total` | counter | [`cancelled`](Self::cancelled) |
    /// | `cogwheel_timers_reset_total` | counter | [`resets`](Self::resets) |
    /// | `cogwheel_turns_total` | counter | [`turns`](Self::turns) |
    /// | `cogwheel_wake_ups_total` | counter | [`wake_ups`](Self::wake_ups) |
    /// | `cogwheel_cascades_total` | counter | [`cascades`](Self::cascades) |
    /// | `cogwheel_levels` | gauge | how many [`levels`](Self::levels) there are |
    /// | `cogwheel_nodes` | gauge | [`nodes`](Self::nodes) |
    /// | `cogwheel_memory_bytes` | gauge | [`bytes`](Self::bytes) |
    /// | `cogwheel_lateness_seconds` | gauge | [`lateness`](Self::lateness) since the timer was made, with a further label: `quantile` = `0.5`, `0.99` or `1` |
    ///
    /// Counters are set to what they are, so that calling it twice counts nothing twice. Give each
    /// timer a name of its own.
    ///
    /// # Panics
    ///
    /// Only if the recorder does.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// cogwheel::Timer::current().metrics().record("default");
    /// # }
    /// ```
    #[allow(
        clippy::cast_precision_loss,
        reason = "the recorder's gauges are floats"
    )]
    pub fn record(&self, name: &str) {
        let name = SharedString::from(name.to_owned());
        let counters = [
            ("cogwheel_timers_created_total", self.created),
            ("cogwheel_timers_fired_total", self.fired),
            ("cogwheel_timers_cancelled_total", self.cancelled),
            ("cogwheel_timers_reset_total", self.resets),
            ("cogwheel_turns_total", self.turns),
            ("cogwheel_wake_ups_total", self.wake_ups),
            ("cogwheel_cascades_total", self.cascades),
        ];
        for (key, value) in counters {
            counter!(key, "timer" => name.clone()).absolute(value);
        }
        let gauges = [
            ("cogwheel_timers_live", self.live),
            ("cogwheel_timers_queued", self.queued),
            ("cogwheel_levels", self.levels.len() as u64),
            ("cogwheel_nodes", self.nodes),
            ("cogwheel_memory_bytes", self.bytes),
        ];
        for (key, value) in gauges {
            gauge!(key, "timer" => name.clone()).set(value as f64);
        }
        let lateness = [
            ("0.5", self.lateness.p50()),
            ("0.99", self.lateness.p99()),
            ("1", self.lateness.max()),
        ];
        for (quantile, value) in lateness {
            gauge!("cogwheel_lateness_seconds", "timer" => name.clone(), "quantile" => quantile)
                .set(value.as_secs_f64());
        }
    }
}
