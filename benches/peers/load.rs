//! A load, who can do it, and what is expected of it.

use std::fmt;

use crate::measure::Metrics;
use crate::peer::{Name, Work, run_as};
use crate::world::Scale;
use crate::{busy, churn, firing, handed, held, queue, requests, reset};

/// One kind of work, done by each peer that can.
pub(crate) struct Load {
    /// A letter, and after a slash the variant.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) peers: &'static [Name],
    /// Whom the others are compared with.
    pub(crate) base: Name,
    /// The figure that the ratio is taken of.
    pub(crate) main: &'static str,
    pub(crate) goals: Vec<Goal>,
    /// Of the main figure; otherwise less is.
    pub(crate) more_is_better: bool,
    /// Runs but once in a quick run.
    pub(crate) slow: bool,
    pub(crate) run: Box<dyn Fn(Name, Scale) -> Metrics>,
}

/// What is wanted of one figure of one peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) peer: Name,
    pub(crate) metric: &'static str,
    pub(crate) bound: Bound,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    /// At most this many times the same figure of the base.
    Times(f64),
    /// At least this many times the same figure of the base.
    AtLeastTimes(f64),
    /// At most this, whatever the base has.
    Most(f64),
    /// No more than another figure of the base.
    NotAbove(&'static str),
}

/// All loads, in the order in which they are run and printed.
pub(crate) fn loads() -> Vec<Load> {
    let mut loads = churn::loads();
    loads.extend(handed::loads());
    loads.sort_by_key(|load| load.letter());
    loads.extend(firing::loads());
    loads.extend(reset::loads());
    loads.extend(held::loads());
    loads.extend(queue::loads());
    loads.extend(requests::loads());
    loads.extend(busy::loads());
    loads.extend(firing::windows());
    loads
}

impl Load {
    /// A load on single timers, this crate's by way of a handle, compared with Tokio's.
    pub(crate) fn of_timers(
        name: &'static str,
        about: &'static str,
        main: &'static str,
        work: impl Work,
    ) -> Self {
        Self {
            name,
            about,
            peers: crate::peer::TIMERS,
            base: Name::Tokio,
            main,
            goals: Vec::new(),
            more_is_better: false,
            slow: false,
            run: Box::new(move |name, scale| run_as(name, work, scale)),
        }
    }

    /// This crate's free functions as well.
    pub(crate) fn and_free(mut self) -> Self {
        self.peers = crate::peer::TIMERS_AND_FREE;
        self
    }

    pub(crate) fn goal(mut self, peer: Name, metric: &'static str, bound: Bound) -> Self {
        self.goals.push(Goal {
            peer,
            metric,
            bound,
        });
        self
    }

    pub(crate) fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    pub(crate) fn letter(&self) -> &'static str {
        self.name.split('/').next().unwrap_or(self.name)
    }

    /// Whether one value of the main figure is better than another.
    pub(crate) fn is_better(&self, one: f64, other: f64) -> bool {
        if self.more_is_better {
            one > other
        } else {
            one < other
        }
    }

    /// Whether `wish`, a letter or a full name, means this load.
    pub(crate) fn answers_to(&self, wish: &str) -> bool {
        self.name == wish || self.letter() == wish
    }
}

impl Bound {
    /// The figure of the base that `metric` is compared with.
    pub(crate) const fn compared(self, metric: &'static str) -> &'static str {
        match self {
            Self::NotAbove(other) => other,
            _ => metric,
        }
    }

    /// Whether `ours` is good enough; `base` gives the base's figures. `None` if there is nothing
    /// to compare with.
    pub(crate) fn is_met(
        self,
        metric: &str,
        ours: f64,
        base: impl Fn(&str) -> Option<f64>,
    ) -> Option<bool> {
        Some(match self {
            Self::Times(most) => ours <= most * base(metric)?,
            Self::AtLeastTimes(least) => ours >= least * base(metric)?,
            // One allocation or wake-up of the runtime's own in a long run is none per operation.
            Self::Most(most) => ours <= most + 0.000_5,
            Self::NotAbove(other) => ours <= base(other)?,
        })
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(most) => write!(f, "<= {most:.2}x"),
            Self::AtLeastTimes(least) => write!(f, ">= {least:.0}x"),
            Self::Most(most) => write!(f, "<= {most}"),
            Self::NotAbove(other) => write!(f, "<= {other} of the base"),
        }
    }
}
