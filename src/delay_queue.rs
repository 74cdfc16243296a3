//! The delay queue.

/// A queue of delayed values.
#[derive(Debug)]
pub struct DelayQueue<T> {
    _values: Vec<T>,
}
