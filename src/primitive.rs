//! primitive

/// Atomics for process-wide counters, which take part in no protocol: loom's cannot be statics.
pub(crate) mod counter {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
}
