//! timeout
