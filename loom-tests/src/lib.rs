//! Loom models of the lock-free parts of `cogwheel`; see the files in `tests/`.
