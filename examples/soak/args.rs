//! The command line.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::scenarios::SCENARIOS;

/// Seconds unless `--seconds` says otherwise.
const SECONDS: u64 = 30;

/// What to run.
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    /// Names of scenarios; all if there is none.
    pub(crate) only: Vec<String>,
}

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Command {
    Help,
    Run(Args),
}

/// Reads the arguments after the program's name.
///
/// # Errors
///
/// One sentence for the user.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut parsed = Args {
        seconds: SECONDS,
        seed: now(),
        only: Vec::new(),
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match &*arg {
            "-h" | "--help" => return Ok(Command::Help),
            "--seconds" => parsed.seconds = number(&arg, &value()?)?.max(1),
            "--seed" => parsed.seed = number(&arg, &value()?)?,
            "--only" => {
                let name = value()?;
                if !SCENARIOS.iter().any(|scenario| scenario.name == name) {
                    return Err(format!("no scenario is called '{name}'"));
                }
                parsed.only.push(name);
            }
            _ => return Err(format!("unknown argument '{arg}'")),
        }
    }
    Ok(Command::Run(parsed))
}

fn number(flag: &str, value: &str) -> Result<u64, String> {
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

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut help = format!(
        "\
Random users of every kind of timer, with faults on purpose, until the time is over.
Ends with 1 if a timer was early, lost or counted twice, or if memory or threads stay behind.

usage: soak [--seconds N] [--seed S] [--only SCENARIO]...

  --seconds N      about how long, from 10 on [{SECONDS}]; the first round is as long as it takes
  --seed S         makes the same choices again [the time]; threads still run as they like
  --only SCENARIO  this one alone, or these:
"
    );
    for scenario in SCENARIOS {
        help += &format!("      {:<14} {}\n", scenario.name, scenario.what);
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_that_does_not_exist_is_refused() {
        let line = ["--only", "nothing"].map(str::to_owned);
        let refused = parse(line.into_iter()).unwrap_err();
        assert_eq!(refused, "no scenario is called 'nothing'");
    }

    #[test]
    fn values_follow_their_flags() {
        let line = "--seconds 7 --only load --seed 3 --only edges".split(' ');
        let Ok(Command::Run(args)) = parse(line.map(str::to_owned)) else {
            panic!("it is valid");
        };
        assert_eq!((args.seconds, args.seed), (7, 3));
        assert_eq!(args.only, ["load", "edges"]);
    }
}
