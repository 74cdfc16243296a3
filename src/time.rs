//! The drop-in face: the names of `tokio::time`.
