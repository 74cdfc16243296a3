//! Fuzz targets of `cogwheel`: each does what its input says to the real thing and to an obvious
//! model of it, and compares after every step.
//!
//! | target | what is compared |
//! |---|---|
//! | [`wheel`] | `Wheel` with a sorted map |
//! | [`delay_queue`] | `DelayQueue` and the task that polls it with a sorted map and what it was told |
//! | [`driver`] | `Sleep`s on a `ManualClock`, polled, moved and dropped on several threads, with a list |
//!
//! A target is a plain function of bytes. Every input means something, so a byte more or less makes
//! another run and not an error. It is run in two ways:
//!
//! * `ci/fuzz`, with a stable compiler: the corpus, then mutations of it and random bytes;
//! * `cargo +nightly fuzz run --features libfuzzer TARGET`, where cargo-fuzz is there: libFuzzer sees
//!   which code an input reaches, and keeps what reaches more.

pub mod delay_queue;
pub mod driver;
mod input;
mod time;
pub mod wheel;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// As `ci/fuzz` and cargo-fuzz call it; its corpus is `corpus/NAME`.
    pub name: &'static str,
    /// Runs one input. Panics if model and reality disagree.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 3] = [
    Target {
        name: "wheel",
        run: wheel::run,
    },
    Target {
        name: "delay_queue",
        run: delay_queue::run,
    },
    Target {
        name: "driver",
        run: driver::run,
    },
];
