//! The wheel.

/// A hierarchical timing wheel.
#[derive(Debug)]
pub struct Wheel<T> {
    _values: Vec<T>,
}
