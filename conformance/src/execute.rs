//! Builds the package's targets and runs each on its own, so that one that does not compile,
//! hangs or aborts hides none of the others.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How one test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Passed,
    Failed,
    Ignored,
    /// Killed after [`Limits::test`].
    Hung,
}

/// What a target's run brought.
#[derive(Debug, Default)]
pub struct Run {
    pub outcomes: BTreeMap<String, Outcome>,
    /// The target as a whole died or hung, and no test of it does so alone.
    pub died_in_company: bool,
    pub output: String,
}

/// When a run is killed.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For a whole target.
    pub target: Duration,
    /// For a single test, when its target was killed.
    pub test: Duration,
    /// For a test that is known never to end.
    pub endless: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            target: Duration::from_secs(120),
            test: Duration::from_secs(30),
            endless: Duration::from_secs(5),
        }
    }
}

/// Compiles all test targets of the package in `dir`; yields the executables of those that do.
///
/// # Errors
/// Cargo cannot be started. Targets that do not compile are merely missing, and the compiler's
/// messages are printed.
pub fn build(dir: &Path, target_dir: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let log = dir.join("build.log");
    let stderr = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let output = Command::new("cargo")
        .args(["build", "--tests", "--keep-going", "--quiet"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(dir)
        .env("CARGO_TARGET_DIR", target_dir)
        // Tokio's tests are not held to our lints, nor do they belong to a loom build.
        .env("RUSTFLAGS", "--cap-lints=allow")
        .stderr(stderr)
        .output()
        .map_err(|e| format!("cargo build: {e}"))?;
    if !output.status.success() {
        print!("{}", fs::read_to_string(&log).unwrap_or_default());
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    Ok(messages.lines().filter_map(test_artifact).collect())
}

/// The name and the executable in Cargo's message about a finished test target.
fn test_artifact(message: &str) -> Option<(String, PathBuf)> {
    let target = message
        .starts_with("{\"reason\":\"compiler-artifact\"")
        .then(|| message.split("\"target\":{\"kind\":[\"test\"]").nth(1))??;
    let name = target.split("\"name\":\"").nth(1)?.split('"').next()?;
    let executable = message
        .split("\"executable\":\"")
        .nth(1)?
        .split('"')
        .next()?;
    Some((
        name.to_owned(),
        PathBuf::from(executable.replace("\\\\", "\\")),
    ))
}

/// Runs all tests of one executable together but the `endless` ones; those and the ones without a
/// result then each alone.
///
/// # Errors
/// The executable cannot be started.
pub fn run(executable: &Path, dir: &Path, endless: &[&str], limits: Limits) -> Result<Run, String> {
    let (_, listing) = execute(executable, dir, &["--list", "--format=terse"], limits.test)?;
    let names = listing
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    let mut together = vec!["--test-threads=4", "--exact"];
    together.extend(endless.iter().flat_map(|name| ["--skip", name]));
    // Two threads at least: with one, libtest prints a name long before its result.
    let (ended, output) = execute(executable, dir, &together, limits.target)?;
    let reported: BTreeMap<&str, Outcome> = output.lines().filter_map(result_line).collect();
    let mut run = Run {
        output: output.clone(),
        ..Run::default()
    };
    let mut alone = Vec::new();
    for name in names {
        match reported.get(name) {
            Some(&outcome) => drop(run.outcomes.insert(name.to_owned(), outcome)),
            None => alone.push(name),
        }
    }
    for name in &alone {
        let limit = if endless.contains(name) {
            limits.endless
        } else {
            limits.test
        };
        let (ended, output) = execute(executable, dir, &["--exact", name], limit)?;
        let outcome = match ended {
            Some(true) => Outcome::Passed,
            Some(false) => Outcome::Failed,
            None => Outcome::Hung,
        };
        run.outcomes.insert((*name).to_owned(), outcome);
        run.output.push_str(&output);
    }
    let none_failed = run.outcomes.iter().all(|(name, outcome)| {
        matches!(outcome, Outcome::Passed | Outcome::Ignored) || endless.contains(&name.as_str())
    });
    run.died_in_company = ended != Some(true) && none_failed;
    Ok(run)
}

/// `test NAME ... ok` and its kin.
fn result_line(line: &str) -> Option<(&str, Outcome)> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let outcome = match result.trim() {
        "ok" => Outcome::Passed,
        "FAILED" => Outcome::Failed,
        ignored if ignored.starts_with("ignored") => Outcome::Ignored,
        _ => return None,
    };
    Some((
        name.strip_suffix(" - should panic").unwrap_or(name),
        outcome,
    ))
}

/// Runs `executable` and yields whether it succeeded (`None`: killed at `limit`), and its output.
fn execute(
    executable: &Path,
    dir: &Path,
    arguments: &[&str],
    limit: Duration,
) -> Result<(Option<bool>, String), String> {
    let error = |e: std::io::Error| format!("{}: {e}", executable.display());
    // A file, not a pipe: a full pipe would need a thread, and a killed child loses nothing.
    let log = dir.join("run.log");
    let stdout = File::create(&log).map_err(error)?;
    let stderr = stdout.try_clone().map_err(error)?;
    let mut child = Command::new(executable)
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .map_err(error)?;
    let start = now();
    let ended = loop {
        match child.try_wait().map_err(error)? {
            Some(status) => break Some(status.success()),
            None if start.elapsed() > limit => {
                child.kill().map_err(error)?;
                child.wait().map_err(error)?;
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let output = fs::read(&log).map_err(error)?;
    Ok((ended, String::from_utf8_lossy(&output).into_owned()))
}

#[allow(
    clippy::disallowed_methods,
    reason = "a real time limit on real processes"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Limits, Outcome, result_line, run, test_artifact};

    #[test]
    fn results_are_read_from_libtest_lines() {
        assert_eq!(
            result_line("test a::b ... ok"),
            Some(("a::b", Outcome::Passed))
        );
        assert_eq!(
            result_line("test a - should panic ... FAILED"),
            Some(("a", Outcome::Failed))
        );
        assert_eq!(
            result_line("test a ... ignored, why"),
            Some(("a", Outcome::Ignored))
        );
        assert_eq!(
            result_line("test a has been running for over 60 seconds"),
            None
        );
        assert_eq!(result_line("test result: ok. 1 passed"), None);
    }

    #[test]
    fn executables_are_read_from_cargo_messages() {
        let message = r#"{"reason":"compiler-artifact","package_id":"p","target":{"kind":["test"],"crate_types":["bin"],"name":"time_sleep","src_path":"s"},"executable":"/t/time_sleep-1","fresh":false}"#;
        assert_eq!(
            test_artifact(message),
            Some(("time_sleep".to_owned(), "/t/time_sleep-1".into()))
        );
        assert_eq!(
            test_artifact(&message.replace("[\"test\"]", "[\"lib\"]")),
            None
        );
    }

    /// Stands in for a test executable: together its tests hang, alone one hangs and one aborts.
    #[cfg(unix)]
    const UNWELL: &str = "#!/bin/sh
case $1$2 in
  --list*) echo good: test; echo hangs: test; echo aborts: test ;;
  --test*) echo test good ... ok; exec sleep 9 ;;
  --exacthangs) exec sleep 9 ;;
  --exactaborts) kill -ABRT $$ ;;
esac
";

    #[cfg(unix)]
    #[test]
    fn a_target_that_hangs_hides_no_test() {
        use std::fs;
        use std::os::unix::fs::PermissionsExt;

        let dir = std::env::temp_dir().join(format!("conformance-{}", std::process::id()));
        let executable = dir.join("unwell");
        fs::create_dir_all(&dir).unwrap();
        fs::write(&executable, UNWELL).unwrap();
        fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).unwrap();
        let limit = Duration::from_millis(300);
        let run = run(
            &executable,
            &dir,
            &[],
            Limits {
                target: limit,
                test: limit,
                endless: limit,
            },
        );
        fs::remove_dir_all(&dir).unwrap();
        let outcomes: Vec<_> = run.unwrap().outcomes.into_iter().collect();
        let expected = [
            ("aborts", Outcome::Failed),
            ("good", Outcome::Passed),
            ("hangs", Outcome::Hung),
        ];
        assert_eq!(
            outcomes,
            expected.map(|(name, outcome)| (name.to_owned(), outcome))
        );
    }
}
