//! Writes the test package: a facade, and Tokio's test files led to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::deviations::Deviations;
use crate::rewrite;
use crate::slice;
use crate::suite::{Origin, Part, TIME_ASSERTIONS, TOKIO_UTIL_VERSION, Target};

/// The name of the target that proves whose timers stand behind the facade.
pub const FACADE_TEST: &str = "facade";

/// Whose timers stand behind the facade.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The crate of this repository.
    Cogwheel,
    /// Tokio's own: every test must pass, or the harness is at fault.
    Reference,
}

impl Subject {
    pub fn name(self) -> &'static str {
        match self {
            Self::Cogwheel => "cogwheel",
            Self::Reference => "reference",
        }
    }
}

/// A generated package.
pub struct Package {
    pub dir: PathBuf,
    pub targets: Vec<Target>,
    /// Assertions that were turned round, as they stand in Tokio.
    pub turned: usize,
}

/// Generates the package for `subject` from `targets`.
///
/// # Errors
/// Sources that cannot be fetched, a file that vanished, or a listed assertion that is not there.
pub fn generate(
    root: &Path,
    subject: Subject,
    targets: Vec<Target>,
    deviations: &Deviations,
) -> Result<Package, String> {
    let dir = root.join("conformance/generated").join(subject.name());
    let tests = dir.join("tests");
    if tests.exists() {
        fs::remove_dir_all(&tests).map_err(|e| format!("{}: {e}", tests.display()))?;
    }
    let tokio_version = locked_version(&read(&root.join("Cargo.lock"))?, "tokio")?;
    write(
        &dir.join("Cargo.toml"),
        &manifest(root, subject, &tokio_version),
    )?;
    write(&dir.join("src/lib.rs"), facade(subject))?;
    if subject == Subject::Cogwheel {
        write(&tests.join(FACADE_TEST).with_extension("rs"), FACADE_PROOF)?;
    }
    let lock = root.join("conformance/suite.lock");
    if lock.exists() {
        write(&dir.join("Cargo.lock"), &read(&lock)?)?;
    }

    let metadata = metadata(&dir)?;
    let tokio = package_dir(&metadata, "tokio", &tokio_version)?;
    let tokio_util = package_dir(&metadata, "tokio-util", TOKIO_UTIL_VERSION)?;
    let mut turned = 0;
    for target in &targets {
        let (origin, label) = match target.origin {
            Origin::Tokio => (&tokio, format!("tokio {tokio_version}")),
            Origin::TokioUtil => (&tokio_util, format!("tokio-util {TOKIO_UTIL_VERSION}")),
        };
        let file = format!("tests/{}.rs", target.file);
        let source = read(&origin.join(&file))?;
        let part = match target.part {
            Part::Whole => source,
            Part::DelayQueueTests => delay_queue_tests(&source),
            Part::TimeAssertions => {
                let (source, count) = turn_assertions(&time_assertions(&source)?, deviations)?;
                turned += count;
                source
            }
        };
        let part = rewrite::to_facade(&part).map_err(|e| format!("{label} {file}: {e}"))?;
        let head = format!("// Generated from {label} {file}; only paths were changed.\n");
        write(
            &tests.join(target.name).with_extension("rs"),
            &(head + &part),
        )?;
    }
    copy_support(&tokio.join("tests/support"), &tests.join("support"))?;
    Ok(Package {
        dir,
        targets,
        turned,
    })
}

fn manifest(root: &Path, subject: Subject, tokio_version: &str) -> String {
    let under_test = match subject {
        Subject::Cogwheel => format!("cogwheel = {{ path = {:?} }}", root.display().to_string()),
        Subject::Reference => String::new(),
    };
    format!(
        r#"[package]
name = "conf"
version = "0.0.0"
edition = "2021"
publish = false
homepage = "https://tokio.rs" # one of Tokio's tests looks for this line

[workspace]

[lib]
test = false
doctest = false

# The names that the test files' own `cfg`s ask for.
[features]
default = ["full", "test-util", "rt", "rt-multi-thread", "macros", "time", "io-util", "sync", "net", "fs", "io-std"]
full = []
test-util = []
rt = []
rt-multi-thread = []
macros = []
time = []
io-util = []
sync = []
net = []
fs = []
io-std = []

[dependencies]
{under_test}
tokio = {{ version = "={tokio_version}", features = ["full", "test-util"] }}
tokio-util = {{ version = "={TOKIO_UTIL_VERSION}", features = ["full"] }}

[dev-dependencies]
futures = {{ version = "0.3", features = ["async-await"] }}
futures-test = "0.3.31"
parking_lot = "0.12"
pin-project-lite = "0.2"
rand = "0.9"
tempfile = "3"
tokio-stream = "0.1"
tokio-test = "0.4"

[profile.dev]
debug = 0
"#
    )
}

/// The library that the tests see in the place of `tokio::time` and `tokio_util::time`. Globs,
/// so that an item that is missing hides only the targets that use it.
fn facade(subject: Subject) -> &'static str {
    match subject {
        Subject::Cogwheel => {
            "\
pub mod time {
    pub use ::cogwheel::time::*;
    pub use ::tokio::time::{advance, pause, resume, Duration, Instant};
}
pub use ::cogwheel::{delay_queue, DelayQueue};
"
        }
        Subject::Reference => {
            "\
pub mod time {
    pub use ::tokio::time::*;
}
pub use ::tokio_util::time::{delay_queue, DelayQueue};
"
        }
    }
}

const FACADE_PROOF: &str = r#"//! Were one of these Tokio's, the suite would test Tokio.
use std::any::type_name;

#[test]
fn the_timers_behind_the_facade_are_cogwheels() {
    for name in [
        type_name::<conf::time::Sleep>(),
        type_name::<conf::time::Timeout<()>>(),
        type_name::<conf::time::Interval>(),
        type_name::<conf::time::error::Elapsed>(),
        type_name::<conf::DelayQueue<()>>(),
        type_name::<conf::delay_queue::Key>(),
        type_name::<conf::delay_queue::Expired<()>>(),
    ] {
        assert!(name.starts_with("cogwheel::"), "{name}");
    }
}
"#;

/// The tests about `DelayQueue`, with every item that is no test.
fn delay_queue_tests(source: &str) -> String {
    const OTHERS: [&str; 4] = [
        "SyncIoBridge",
        "PollSender",
        "LocalPoolHandle",
        "sync::mpsc::channel",
    ];
    let keep = |item: &&str| {
        if item.contains("#[test]") {
            item.contains("DelayQueue")
        } else {
            !(slice::body(item).starts_with("use ") && OTHERS.iter().any(|o| item.contains(o)))
        }
    };
    slice::items(source).into_iter().filter(keep).collect()
}

/// The prelude of macros and helpers, and the assertions about `tokio::time`.
fn time_assertions(source: &str) -> Result<String, String> {
    let items = slice::items(source);
    let prelude = items
        .iter()
        .position(|item| slice::body(item).starts_with("cfg_not_wasi!"))
        .ok_or("async_send_sync.rs has another shape than expected")?;
    let assertions = items[prelude..].iter().filter(|item| {
        let body = slice::body(item);
        (body.starts_with("assert_value!") || body.starts_with("async_assert_fn!"))
            // Tokio's `time::error::Error` has no counterpart.
            && body.contains("tokio::time::") && !body.contains("tokio::time::error::Error")
    });
    let kept: Vec<&str> = items[..prelude].iter().chain(assertions).copied().collect();
    let found = kept.len() - prelude;
    if found < TIME_ASSERTIONS {
        return Err(format!(
            "{found} assertions about tokio::time, expected {TIME_ASSERTIONS}"
        ));
    }
    Ok(kept.concat())
}

/// Turns each listed `!Unpin` into `Unpin`: what we promise instead is checked as strictly.
fn turn_assertions(source: &str, deviations: &Deviations) -> Result<(String, usize), String> {
    let mut source = source.to_owned();
    for theirs in &deviations.assertions {
        if source.matches(theirs.as_str()).count() != 1 {
            return Err(format!("a listed assertion is not among Tokio's: {theirs}"));
        }
        let ours = theirs.replace("!Unpin", "Unpin");
        println!(
            "turned round: {theirs} -> {}",
            ours.rsplit(": ").next().unwrap_or_default()
        );
        source = source.replace(theirs, &ours);
    }
    Ok((source, deviations.assertions.len()))
}

/// The version of `package` in a `Cargo.lock`.
fn locked_version(lock: &str, package: &str) -> Result<String, String> {
    lock.split("[[package]]")
        .find(|entry| entry.contains(&format!("name = \"{package}\"\n")))
        .and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next())
        .map(str::to_owned)
        .ok_or_else(|| format!("Cargo.lock names no {package}"))
}

/// Fetches the sources and says where they lie.
fn metadata(dir: &Path) -> Result<String, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1"])
        .current_dir(dir)
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    if !output.status.success() {
        return Err("cargo metadata failed".to_owned());
    }
    String::from_utf8(output.stdout).map_err(|e| format!("cargo metadata: {e}"))
}

fn package_dir(metadata: &str, name: &str, version: &str) -> Result<PathBuf, String> {
    let folder = format!("{name}-{version}");
    metadata
        .split("\"manifest_path\":\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .map(|path| PathBuf::from(path.replace("\\\\", "\\")))
        .filter_map(|path| path.parent().map(Path::to_owned))
        .find(|dir| dir.ends_with(&folder))
        .ok_or_else(|| format!("cargo fetched no {folder}"))
}

fn copy_support(from: &Path, to: &Path) -> Result<(), String> {
    let entries = fs::read_dir(from).map_err(|e| format!("{}: {e}", from.display()))?;
    for entry in entries {
        let entry = entry.map_err(|e| e.to_string())?;
        write(&to.join(entry.file_name()), &read(&entry.path())?)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, text))
        .map_err(|e| format!("{}: {e}", path.display()))
}
