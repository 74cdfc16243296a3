//! primitive
