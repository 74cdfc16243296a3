//! `Timer`: the handle.

/// A handle to the timer of a Tokio runtime.
#[derive(Clone, Debug)]
pub struct Timer {}
