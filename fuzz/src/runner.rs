//! Replays the corpus of a target, then mutates it and makes inputs up until the time is over.

mod args;
mod mutate;
mod random;
mod watch;

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cogwheel_fuzz::Target;

use args::{Args, Command};
use random::Random;
use watch::Watch;

/// How long a failing input is made smaller.
const SHRINKING: Duration = Duration::from_secs(10);

/// Does what the command line says.
pub(crate) fn main(args: impl Iterator<Item = String>) -> ExitCode {
    let outcome = match args::parse(args) {
        Ok(Command::Help) => {
            println!("{}", args::HELP);
            return ExitCode::SUCCESS;
        }
        Ok(Command::Fuzz(args)) => fuzz(&args),
        Ok(Command::Replay(target, files)) => replay(target, &files),
        Err(error) => {
            eprintln!("fuzz: {error}; see --help");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the given inputs once each, and lets the first that fails end the process.
fn replay(target: Target, files: &[PathBuf]) -> io::Result<bool> {
    for file in files {
        let input = fs::read(file)?;
        println!(
            "{}: {} ({} bytes)",
            target.name,
            file.display(),
            input.len()
        );
        (target.run)(&input);
    }
    println!("{}: {} inputs hold", target.name, files.len());
    Ok(true)
}

fn fuzz(args: &Args) -> io::Result<bool> {
    let target = args.target;
    let corpus = read_corpus(&args.home.join("corpus").join(target.name))?;
    println!(
        "{}: {} s, seed {}, {} inputs in the corpus",
        target.name,
        args.seconds,
        args.seed,
        corpus.len()
    );
    let artifacts = args.home.join("artifacts").join(target.name);
    let watch = Watch::begin(target.name, artifacts.clone());
    let mut random = Random::new(args.seed);
    let end = Instant::now() + Duration::from_secs(args.seconds);
    let mut executions = 0_u64;
    let mut bytes = 0;
    loop {
        let input = match corpus.get(usize::try_from(executions).unwrap_or(usize::MAX)) {
            Some(input) => input.clone(),
            None if Instant::now() >= end => break,
            None => mutate::next(&corpus, &mut random),
        };
        executions += 1;
        bytes += input.len() as u64;
        watch.starts(&input);
        if fails(target, &input) {
            println!(
                "{}: execution {executions} fails; making it smaller",
                target.name
            );
            let smallest = shrink(target, &watch, input);
            println!(
                "{}: FAILED; {}",
                target.name,
                keep(target, &artifacts, &smallest)?
            );
            return Ok(false);
        }
    }
    println!(
        "{}: {executions} executions of {bytes} bytes hold",
        target.name
    );
    Ok(true)
}

fn read_corpus(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let files = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = files.collect::<io::Result<Vec<_>>>()?;
    files.sort();
    files.iter().map(fs::read).collect()
}

fn fails(target: Target, input: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err()
}

/// Leaves out pieces as long as it still fails.
fn shrink(target: Target, watch: &Watch, mut input: Vec<u8>) -> Vec<u8> {
    // What was said about the first failure is enough.
    std::panic::set_hook(Box::new(|_| {}));
    let end = Instant::now() + SHRINKING;
    let mut piece = input.len() / 2;
    while piece > 0 {
        let mut start = 0;
        while start < input.len() && Instant::now() < end {
            let mut less = input.clone();
            less.drain(start..(start + piece).min(input.len()));
            watch.starts(&less);
            if fails(target, &less) {
                input = less;
            } else {
                start += piece;
            }
        }
        piece /= 2;
    }
    input
}

/// Writes a failing input; says where it is and how to run it again.
fn keep(target: Target, folder: &Path, input: &[u8]) -> io::Result<String> {
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    fs::create_dir_all(folder)?;
    let file = folder.join(format!("{hash:016x}"));
    fs::write(&file, input)?;
    Ok(format!(
        "once more: ci/fuzz --replay {} {}",
        target.name,
        file.display()
    ))
}
