//! The rounds: every peer in turn, each in a process of its own; and what they amount to.

use std::env;
use std::process::Command;

use crate::load::{Bound, Goal, Load};
use crate::measure::quantile;
use crate::options::Wishes;
use crate::peer::{NAMES, Name};
use crate::world::Scale;

/// What the rounds of one load have given.
pub(crate) struct Results<'a> {
    pub(crate) load: &'a Load,
    pub(crate) rounds: usize,
    /// All peers that were asked for, also those that cannot do the load.
    pub(crate) rows: Vec<Row>,
}

/// The figures of one peer.
pub(crate) struct Row {
    pub(crate) peer: Name,
    /// Empty if the peer cannot do the load or has failed.
    pub(crate) figures: Vec<Figure>,
    failed: bool,
}

/// One metric, a value for each round, sorted.
pub(crate) struct Figure {
    pub(crate) metric: String,
    values: Vec<f64>,
}

/// Whether a goal was met.
pub(crate) struct Verdict {
    pub(crate) load: &'static str,
    pub(crate) goal: Goal,
    pub(crate) ours: f64,
    /// The same figure of the base, if there is one.
    pub(crate) base: Option<f64>,
    pub(crate) met: bool,
}

impl<'a> Results<'a> {
    pub(crate) fn gather(load: &'a Load, wishes: &Wishes) -> Self {
        let asked = NAMES.into_iter().filter(|&name| wishes.wants_peer(name));
        let mut rows: Vec<Row> = asked.map(Row::new).collect();
        // A line for a peer that only ever does another kind of load says nothing.
        rows.retain(|row| load.peers.contains(&row.peer) || row.peer.could_be_expected(load.base));
        let count = wishes.rounds(load);
        for round in 0..count {
            eprintln!("{}: round {} of {count}", load.name, round + 1);
            // Whoever goes first may find the machine in another state.
            let first = round % rows.len().max(1);
            let (before, from) = rows.split_at_mut(first);
            for row in from.iter_mut().chain(before) {
                if load.peers.contains(&row.peer) {
                    row.add_round(load, wishes.scale);
                }
            }
        }
        for figure in rows.iter_mut().flat_map(|row| &mut row.figures) {
            figure.values.sort_by(f64::total_cmp);
        }
        Self {
            load,
            rounds: count,
            rows,
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.rows.iter().any(|row| row.failed)
    }

    pub(crate) fn row(&self, peer: Name) -> Option<&Row> {
        self.rows.iter().find(|row| row.peer == peer)
    }

    /// The median of a figure of the base.
    pub(crate) fn base(&self, metric: &str) -> Option<f64> {
        Some(self.row(self.load.base)?.figure(metric)?.median())
    }

    /// The names of all figures, in the order in which they came.
    pub(crate) fn metrics(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for figure in self.rows.iter().flat_map(|row| &row.figures) {
            if !names.contains(&figure.metric.as_str()) {
                names.push(figure.metric.as_str());
            }
        }
        names
    }

    /// The goals that could be checked.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let verdict = |&goal: &Goal| {
            let ours = self.row(goal.peer)?.figure(goal.metric)?.median();
            let met = goal
                .bound
                .is_met(goal.metric, ours, |metric| self.base(metric))?;
            Some(Verdict {
                load: self.load.name,
                goal,
                ours,
                base: self.base(goal.bound.compared(goal.metric)),
                met,
            })
        };
        self.load.goals.iter().filter_map(verdict).collect()
    }
}

impl Verdict {
    /// What a goal that limits a ratio limits.
    pub(crate) fn ratio(&self) -> Option<f64> {
        match self.goal.bound {
            Bound::Times(_) => Some(self.ours / self.base?),
            _ => None,
        }
    }

    /// What a goal that limits a ratio asks for, in the unit of the figure.
    pub(crate) fn asked(&self) -> Option<f64> {
        match self.goal.bound {
            Bound::Times(most) => Some(most * self.base?),
            _ => None,
        }
    }

    /// Whether another load of the same letter has the same goal.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let key = |verdict: &Self| {
            let Goal {
                peer,
                metric,
                bound,
            } = verdict.goal;
            let letter = verdict.load.split('/').next();
            (letter, peer.text(), metric, bound.to_string())
        };
        key(self) == key(other)
    }
}

impl Row {
    const fn new(peer: Name) -> Self {
        Self {
            peer,
            figures: Vec::new(),
            failed: false,
        }
    }

    pub(crate) fn figure(&self, metric: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.metric == metric)
    }

    fn add_round(&mut self, load: &Load, scale: Scale) {
        let Some(metrics) = run_apart(load.name, self.peer, scale) else {
            self.failed = true;
            return;
        };
        for (metric, value) in metrics {
            let known = self
                .figures
                .iter_mut()
                .find(|figure| figure.metric == metric);
            match known {
                Some(figure) => figure.values.push(value),
                None => self.figures.push(Figure {
                    metric,
                    values: vec![value],
                }),
            }
        }
    }
}

impl Figure {
    pub(crate) fn median(&self) -> f64 {
        quantile(&self.values, 0.5)
    }

    pub(crate) fn least(&self) -> f64 {
        quantile(&self.values, 0.0)
    }

    pub(crate) fn greatest(&self) -> f64 {
        quantile(&self.values, 1.0)
    }
}

/// Runs one peer in a process of its own; `None` if that fails, which it says.
fn run_apart(load: &str, peer: Name, scale: Scale) -> Option<Vec<(String, f64)>> {
    let program = env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command.args(["--one", "--load", load, "--peer", peer.text()]);
    if scale.quick {
        command.arg("--quick");
    }
    let output = command.output().expect("this program runs");
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        eprintln!("{load} FAILED with {peer}: {complaint}");
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let parsed = text.lines().filter_map(|line| {
        let (metric, value) = line.split_once('\t')?;
        Some((metric.to_owned(), value.parse().ok()?))
    });
    Some(parsed.collect())
}
