//! The command line.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use cogwheel_fuzz::{TARGETS, Target};

pub(crate) const HELP: &str = "\
usage: run [--seconds N] [--seed S] TARGET
       run --replay TARGET FILE...

Replays fuzz/corpus/TARGET, then runs mutations of it and random inputs for N seconds
[default: 30]. The same seed makes the same inputs. An input that fails is written to
fuzz/artifacts/TARGET.";

pub(crate) struct Args {
    pub(crate) target: Target,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    /// The folder of this package.
    pub(crate) home: PathBuf,
}

pub(crate) enum Command {
    Help,
    Fuzz(Args),
    Replay(Target, Vec<PathBuf>),
}

/// Reads the arguments after the program's name.
///
/// # Errors
///
/// One sentence for the user.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let (mut seconds, mut seed, mut replays) = (30, None, false);
    let mut names = Vec::new();
    while let Some(arg) = args.next() {
        match &*arg {
            "-h" | "--help" => return Ok(Command::Help),
            "--seconds" => seconds = number("--seconds", args.next())?,
            "--seed" => seed = Some(number("--seed", args.next())?),
            "--replay" => replays = true,
            flag if flag.starts_with('-') => return Err(format!("unknown argument '{flag}'")),
            _ => names.push(arg),
        }
    }
    let mut names = names.into_iter();
    let name = names.next().ok_or("which target?")?;
    let target = TARGETS.iter().copied().find(|target| target.name == name);
    let target = target.ok_or_else(|| format!("no target is called '{name}'"))?;
    let files: Vec<PathBuf> = names.map(PathBuf::from).collect();
    if replays {
        return Ok(Command::Replay(target, files));
    }
    if let Some(file) = files.first() {
        return Err(format!("'{}' is too much", file.display()));
    }
    Ok(Command::Fuzz(Args {
        target,
        seconds,
        seed: seed.unwrap_or_else(now),
        home: PathBuf::from(env!("CARGO_MANIFEST_DIR")),
    }))
}

fn number(flag: &str, value: Option<String>) -> Result<u64, String> {
    let value = value.ok_or_else(|| format!("{flag} needs a value"))?;
    let number = value.parse();
    number.map_err(|_| format!("{flag} takes a whole number, not '{value}'"))
}

/// A seed that is another one each time.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        since.as_secs() << 20 | u64::from(since.subsec_micros())
    })
}
