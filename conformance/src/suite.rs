//! Which of Tokio's test files are run, and how many tests each must show.

/// The tokio-util whose tests are run. Tokio's own version is that of the crate's `Cargo.lock`.
pub const TOKIO_UTIL_VERSION: &str = "0.7.20";

/// The package a test file comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    Tokio,
    TokioUtil,
}

/// How much of a test file is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Whole,
    /// The tests that mention `DelayQueue`.
    DelayQueueTests,
    /// The auto-trait assertions about `tokio::time`.
    TimeAssertions,
}

/// Whether a file is about timers (run on every change) or merely uses them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tier {
    Core,
    Wider,
}

/// One test target of the generated package.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    pub file: &'static str,
    pub origin: Origin,
    pub part: Part,
    pub tier: Tier,
    /// Tests it holds with the pinned versions, on Linux: fewer is an error.
    pub tests: usize,
}

/// The auto-trait assertions of [`Part::TimeAssertions`]; they are compiled, not run.
pub const TIME_ASSERTIONS: usize = 17;

const fn core(name: &'static str, tests: usize) -> Target {
    Target {
        name,
        file: name,
        origin: Origin::Tokio,
        part: Part::Whole,
        tier: Tier::Core,
        tests,
    }
}

const fn wider(name: &'static str, tests: usize) -> Target {
    Target {
        tier: Tier::Wider,
        ..core(name, tests)
    }
}

#[rustfmt::skip]
pub const SUITE: &[Target] = &[
    core("time_sleep", 24),
    core("time_timeout", 8),
    core("time_interval", 14),
    core("time_pause", 18),
    core("time_panic", 6),
    core("time_rt", 5),
    core("test_clock", 5),
    core("rt_time_start_paused", 1),
    Target { origin: Origin::TokioUtil, ..core("time_delay_queue", 36) },
    Target { file: "panic", origin: Origin::TokioUtil, part: Part::DelayQueueTests, ..core("util_panic", 6) },
    Target { file: "async_send_sync", part: Part::TimeAssertions, ..core("async_send_sync_time", 0) },
    wider("rt_handle_block_on", 66),
    wider("rt_common", 142),
    wider("sync_mpsc", 107),
    wider("macros_select", 33),
    wider("rt_threaded", 28),
    wider("task_local_set", 27),
    wider("task_join_set", 24),
    wider("task_blocking", 16),
    Target { origin: Origin::TokioUtil, ..wider("task_join_queue", 15) },
    wider("sync_once_cell", 12),
    wider("rt_basic", 11),
    wider("io_copy_bidirectional", 9),
    wider("sync_mutex", 9),
    wider("task_abort", 8),
    wider("sync_mutex_owned", 6),
    wider("task_local", 6),
    wider("no_rt", 5),
    wider("rt_common_before_park", 4),
    Target { file: "context", origin: Origin::TokioUtil, ..wider("util_context", 1) },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn total(tier: Tier) -> usize {
        SUITE
            .iter()
            .filter(|t| t.tier == tier)
            .map(|t| t.tests)
            .sum()
    }

    #[test]
    fn the_core_has_123_tests_and_the_wider_tier_529() {
        assert_eq!((total(Tier::Core), total(Tier::Wider)), (123, 529));
    }
}
