//! What the run means: every test passes, or is a listed deviation, or is unexpected.

use std::collections::BTreeSet;

use crate::deviations::{DOCUMENT, Deviations};
use crate::execute::{Outcome, Run};
use crate::suite::Target;

/// The counts, and a sentence for everything unexpected.
#[derive(Debug, Default)]
pub struct Verdict {
    pub passed: usize,
    pub failed: usize,
    pub deviating: usize,
    pub unexpected: Vec<String>,
}

/// Judges the runs of `targets`; a target without a run did not compile.
pub fn judge(runs: &[(Target, Option<Run>)], deviations: &Deviations) -> Verdict {
    let mut verdict = Verdict::default();
    let mut unmet: BTreeSet<&str> = deviations
        .tests
        .iter()
        .map(String::as_str)
        // A listed test of a target that was not asked for is neither met nor missed.
        .filter(|test| {
            runs.iter()
                .any(|(t, _)| test.split("::").next() == Some(t.name))
        })
        .collect();
    for (target, run) in runs {
        let Some(run) = run else {
            verdict
                .unexpected
                .push(format!("{}: does not compile", target.name));
            unmet.retain(|test| test.split("::").next() != Some(target.name));
            continue;
        };
        let mut ran = 0;
        for (test, outcome) in &run.outcomes {
            let test = format!("{}::{test}", target.name);
            let listed = unmet.remove(test.as_str());
            ran += usize::from(*outcome != Outcome::Ignored);
            let endless = deviations.endless.contains(&test);
            match (outcome, listed) {
                (Outcome::Passed, false) => verdict.passed += 1,
                (Outcome::Failed, true) if !endless => verdict.deviating += 1,
                (Outcome::Hung, true) if endless => verdict.deviating += 1,
                (Outcome::Ignored, false) => {}
                (Outcome::Passed, true) => {
                    verdict.passed += 1;
                    verdict
                        .unexpected
                        .push(format!("{test}: passes, but {DOCUMENT} lists it"));
                }
                (Outcome::Ignored, true) => {
                    verdict
                        .unexpected
                        .push(format!("{test}: ignored, but {DOCUMENT} lists it"));
                }
                (Outcome::Failed, _) => {
                    verdict.failed += 1;
                    verdict.unexpected.push(format!("{test}: failed"));
                }
                // A deviation has to end, unless it is listed as endless.
                (Outcome::Hung, _) => {
                    verdict.failed += 1;
                    verdict.unexpected.push(format!("{test}: hung"));
                }
            }
        }
        if ran < target.tests {
            let found = format!("{}: {ran} tests, expected {}", target.name, target.tests);
            verdict.unexpected.push(found);
        }
        if run.died_in_company {
            let died = format!(
                "{}: died or hung, though each test passes alone",
                target.name
            );
            verdict.unexpected.push(died);
        }
    }
    for test in unmet {
        verdict.unexpected.push(format!(
            "{test}: {DOCUMENT} lists it, but there is no such test"
        ));
    }
    for test in &deviations.tests {
        if !crate::suite::SUITE
            .iter()
            .any(|t| test.split("::").next() == Some(t.name))
        {
            verdict.unexpected.push(format!(
                "{test}: {DOCUMENT} lists it, but no such target is run"
            ));
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::SUITE;

    fn judged(outcome: Outcome, listed: &[&str]) -> Verdict {
        let target = Target {
            tests: 1,
            ..SUITE[0]
        };
        let outcomes = [("t".to_owned(), outcome)].into();
        let deviations = Deviations {
            tests: listed.iter().map(|s| (*s).to_owned()).collect(),
            ..Deviations::default()
        };
        judge(
            &[(
                target,
                Some(Run {
                    outcomes,
                    ..Run::default()
                }),
            )],
            &deviations,
        )
    }

    #[test]
    fn a_pass_and_a_listed_failure_are_expected() {
        assert!(judged(Outcome::Passed, &[]).unexpected.is_empty());
        let listed = judged(Outcome::Failed, &["time_sleep::t"]);
        assert_eq!((listed.deviating, listed.unexpected.len()), (1, 0));
    }

    #[test]
    fn everything_else_is_unexpected() {
        for (outcome, listed) in [
            (Outcome::Failed, &[][..]),
            (Outcome::Hung, &["time_sleep::t"]),
            (Outcome::Passed, &["time_sleep::t"]),
            (Outcome::Passed, &["time_sleep::gone"]),
            (Outcome::Passed, &["no_target::t"]),
            (Outcome::Ignored, &[]),
        ] {
            let verdict = judged(outcome, listed);
            assert_eq!(
                verdict.unexpected.len(),
                1,
                "{outcome:?} {listed:?}: {verdict:?}"
            );
        }
    }

    #[test]
    fn an_endless_test_must_hang_and_may_not_fail() {
        for (outcome, unexpected) in [
            (Outcome::Hung, 0),
            (Outcome::Failed, 1),
            (Outcome::Passed, 1),
        ] {
            let target = Target {
                tests: 1,
                ..SUITE[0]
            };
            let outcomes = [("t".to_owned(), outcome)].into();
            let names = vec!["time_sleep::t".to_owned()];
            let deviations = Deviations {
                tests: names.clone(),
                endless: names,
                ..Deviations::default()
            };
            let verdict = judge(
                &[(
                    target,
                    Some(Run {
                        outcomes,
                        ..Run::default()
                    }),
                )],
                &deviations,
            );
            assert_eq!(verdict.unexpected.len(), unexpected, "{outcome:?}");
        }
    }

    #[test]
    fn a_target_that_does_not_compile_is_unexpected() {
        let verdict = judge(&[(SUITE[0], None)], &Deviations::default());
        assert_eq!(verdict.unexpected, ["time_sleep: does not compile"]);
    }
}
