//! Runs Tokio's own timer tests against cogwheel.
//!
//! Generates a package from the tokio sources that Cargo fetched (`generate`: a facade, and the
//! test files with their paths led to it), builds and runs each test target on its own
//! (`execute`), and compares with the deviations that are documented (`verdict`).

mod deviations;
mod execute;
mod generate;
mod rewrite;
mod slice;
mod suite;
mod verdict;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use deviations::{DOCUMENT, Deviations};
use execute::{Limits, Outcome, Run};
use generate::{FACADE_TEST, Subject};
use suite::{SUITE, TIME_ASSERTIONS, Target, Tier};
use verdict::Verdict;

const USAGE: &str = "\
usage: conformance/run [--all] [--reference] [TARGET...]
  --all        also the test files that merely use timers
  --reference  Tokio's own timers behind the facade: proves the harness
  TARGET       only these test files";

fn main() -> ExitCode {
    match run(env::args().skip(1)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("conformance: {message}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing unexpected was met.
fn run(arguments: impl Iterator<Item = String>) -> Result<bool, String> {
    let (mut subject, mut all, mut wanted) = (Subject::Cogwheel, false, Vec::new());
    for argument in arguments {
        match argument.as_str() {
            "--all" => all = true,
            "--reference" => subject = Subject::Reference,
            name if SUITE.iter().any(|t| t.name == name) => wanted.push(argument),
            _ => return Err(format!("unknown argument {argument}\n{USAGE}")),
        }
    }
    let targets = SUITE.iter().copied().filter(|t| match wanted.as_slice() {
        [] => all || t.tier == Tier::Core,
        wanted => wanted.iter().any(|name| name == t.name),
    });

    // Asked when run, not when compiled: checkouts may share a target directory.
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("use conformance/run")?);
    let root = own.parent().ok_or("no repository")?;
    let deviations = match subject {
        Subject::Cogwheel => Deviations::parse(
            &fs::read_to_string(root.join(DOCUMENT)).map_err(|e| format!("{DOCUMENT}: {e}"))?,
        )?,
        Subject::Reference => Deviations::default(),
    };
    let package = generate::generate(root, subject, targets.collect(), &deviations)?;
    let executables = execute::build(&package.dir, &target_dir(root))?;

    let proof = Target {
        name: FACADE_TEST,
        tests: 1,
        ..SUITE[0]
    };
    let proof = (subject == Subject::Cogwheel).then_some(proof);
    let mut runs = Vec::new();
    for target in package.targets.into_iter().chain(proof) {
        let endless: Vec<&str> = (deviations.endless.iter())
            .filter_map(|test| test.strip_prefix(target.name)?.strip_prefix("::"))
            .collect();
        let run = match executables.get(target.name) {
            Some(executable) => Some(execute::run(
                executable,
                &package.dir,
                &endless,
                Limits::default(),
            )?),
            None => None,
        };
        describe(&target, run.as_ref());
        runs.push((target, run));
    }
    // The proof is about the harness: it must hold, but is no test of Tokio's.
    let of_proof = verdict::judge(
        &runs.split_off(runs.len() - usize::from(proof.is_some())),
        &Deviations::default(),
    );
    let mut verdict = verdict::judge(&runs, &deviations);
    verdict.unexpected.extend(of_proof.unexpected);
    report(&runs, &verdict, package.turned);
    Ok(verdict.unexpected.is_empty())
}

/// Where compiled tests go: below the caller's target directory, in a folder of their own.
fn target_dir(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |dir| root.join(dir))
        .join("conformance")
}

fn describe(target: &Target, run: Option<&Run>) {
    let Some(run) = run else {
        println!("{:<24} does not compile", target.name);
        return;
    };
    let count = |outcome| run.outcomes.values().filter(|o| **o == outcome).count();
    let (passed, failed) = (count(Outcome::Passed), count(Outcome::Failed));
    let (hung, ignored) = (count(Outcome::Hung), count(Outcome::Ignored));
    println!(
        "{:<24} {passed} passed, {failed} failed, {hung} hung, {ignored} ignored",
        target.name
    );
}

fn report(runs: &[(Target, Option<Run>)], verdict: &Verdict, turned: usize) {
    for (target, run) in runs {
        let concerned = verdict
            .unexpected
            .iter()
            .any(|u| u.starts_with(&format!("{}:", target.name)));
        if let (true, Some(run)) = (concerned, run) {
            println!("\n---- output of {}\n{}", target.name, run.output);
        }
    }
    for unexpected in &verdict.unexpected {
        println!("unexpected: {unexpected}");
    }
    if runs
        .iter()
        .any(|(t, run)| t.name == "async_send_sync_time" && run.is_some())
    {
        println!("assertions: {TIME_ASSERTIONS} hold, {turned} of them turned round as listed");
    }
    let (passed, failed) = (verdict.passed, verdict.failed + verdict.deviating);
    println!("{passed} passed, {failed} failed");
    let (listed, unexpected) = (verdict.deviating, verdict.unexpected.len());
    println!("conformance: {passed} passed, {listed} listed deviations, {unexpected} unexpected");
}
