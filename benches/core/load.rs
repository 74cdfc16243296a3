//! A load and what is expected of it.

use std::fmt;

use crate::measure::Metrics;
use crate::world::Scale;

/// One side of a load.
pub(crate) type Side = Box<dyn Fn(Scale) -> Metrics>;

/// One kind of work, done with Tokio's timers and with this crate's.
pub(crate) struct Load {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// What is wanted of some of the figures.
    pub(crate) targets: Vec<(&'static str, Target)>,
    pub(crate) tokio: Side,
    pub(crate) cogwheel: Side,
    /// Left out of a quick run.
    pub(crate) slow: bool,
}

/// What is wanted of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// At most this many times Tokio's.
    Ratio(f64),
    /// At most this, whatever Tokio's is.
    Most(f64),
}

impl Target {
    pub(crate) fn is_met(self, tokio: f64, cogwheel: f64) -> bool {
        match self {
            Self::Ratio(most) => cogwheel <= most * tokio,
            // One allocation or wake-up of the runtime's own in a long run is none per operation.
            Self::Most(most) => cogwheel <= most + 0.000_5,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(most) => write!(f, "ratio <= {most:.2}"),
            Self::Most(most) => write!(f, "<= {most}"),
        }
    }
}
