//! What the operating system is asked: how many files may be open, and how much CPU time was used.

use std::time::Duration;

/// Files that are open besides the connections: standard streams, the listener, the runtime's own.
#[cfg(unix)]
const OTHER_FILES: u64 = 64;

/// Raises the limit of open files as far as `connections` need, and returns how many connections
/// it allows. A connection takes two files: both its ends are in this process.
#[cfg(unix)]
pub(crate) fn allowed_connections(connections: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let wanted = 2 * u64::try_from(connections).unwrap_or(u64::MAX / 4) + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    let mut allowed = limit.current.unwrap_or(u64::MAX);
    if allowed < wanted {
        let raised = wanted.min(limit.maximum.unwrap_or(u64::MAX));
        let raise = Rlimit {
            current: Some(raised),
            maximum: limit.maximum,
        };
        if setrlimit(Resource::Nofile, raise).is_ok() {
            allowed = raised;
        }
    }
    let room = allowed.saturating_sub(OTHER_FILES) / 2;
    usize::try_from(room).unwrap_or(usize::MAX).min(connections)
}

/// Elsewhere the first connection that cannot be opened shows the limit.
#[cfg(not(unix))]
pub(crate) fn allowed_connections(connections: usize) -> usize {
    connections
}

/// The CPU time this process has used, in all threads.
#[cfg(unix)]
pub(crate) fn cpu_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};

    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).ok()
}

/// Unknown here.
#[cfg(not(unix))]
pub(crate) fn cpu_time() -> Option<Duration> {
    None
}
