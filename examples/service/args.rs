//! The command line: four flags, each with a default, and one clear sentence for everything wrong.

use std::ops::RangeInclusive;

/// Connections opened unless `--connections` says otherwise.
pub(crate) const DEFAULT_CONNECTIONS: usize = 2_000;
/// Seconds of load for each kind of timer: both together stay well below a minute.
pub(crate) const DEFAULT_SECONDS: u64 = 12;

const CONNECTIONS: RangeInclusive<usize> = 1..=100_000;
const SECONDS: RangeInclusive<u64> = 1..=3_600;

/// Whose timers the service runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timers {
    Tokio,
    Cogwheel,
    Both,
}

impl Timers {
    /// Whether a run on `tokio::time` was asked for.
    pub(crate) fn tokio(self) -> bool {
        self != Self::Cogwheel
    }

    /// Whether a run on `cogwheel::time` was asked for.
    pub(crate) fn cogwheel(self) -> bool {
        self != Self::Tokio
    }
}

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) seconds: u64,
    pub(crate) connections: usize,
    pub(crate) timers: Timers,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            seconds: DEFAULT_SECONDS,
            connections: DEFAULT_CONNECTIONS,
            timers: Timers::Both,
        }
    }
}

/// What the command line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Run(Args),
}

/// Reads the arguments after the program's name.
///
/// # Errors
///
/// One sentence for the user: an unknown flag, a missing value, or a value out of range.
pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut parsed = Args::default();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let (flag, inline) = match arg.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        let mut value = || {
            inline
                .clone()
                .or_else(|| args.next())
                .ok_or_else(|| format!("{flag} needs a value"))
        };
        match flag {
            "-h" | "--help" if inline.is_none() => return Ok(Command::Help),
            "--seconds" => parsed.seconds = number(flag, &value()?, SECONDS)?,
            "--connections" => parsed.connections = number(flag, &value()?, CONNECTIONS)?,
            "--timers" => parsed.timers = timers(&value()?)?,
            _ => return Err(format!("unknown argument '{arg}'")),
        }
    }
    Ok(Command::Run(parsed))
}

fn number<N>(flag: &str, value: &str, allowed: RangeInclusive<N>) -> Result<N, String>
where
    N: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    match value.parse() {
        Ok(number) if allowed.contains(&number) => Ok(number),
        _ => Err(format!(
            "{flag} takes a whole number from {} to {}, not '{value}'",
            allowed.start(),
            allowed.end()
        )),
    }
}

fn timers(value: &str) -> Result<Timers, String> {
    match value {
        "tokio" => Ok(Timers::Tokio),
        "cogwheel" => Ok(Timers::Cogwheel),
        "both" => Ok(Timers::Both),
        _ => Err(format!(
            "--timers takes tokio, cogwheel or both, not '{value}'"
        )),
    }
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    format!(
        "\
A key-value service over loopback TCP and the load that drives it, run first on
tokio::time and then on cogwheel::time, and compared.

Usage: service [OPTIONS]
       cargo run --release --example service -- [OPTIONS]

Options:
  --seconds N       seconds of load for each kind of timer, {} to {}
                    [default: {DEFAULT_SECONDS}]
  --connections N   connections to open, {} to {} [default: {DEFAULT_CONNECTIONS}];
                    fewer are opened if the limit of open files is too low
  --timers WHICH    tokio, cogwheel or both [default: both]
  -h, --help        this text

One line is printed for each second of load, with that second's figures, and a
table at the end. Ctrl-C ends the run early; a second one ends it at once.

What the figures say:
  CPU               of the service and its clients together
  live              timers that have neither fired nor been cancelled
  left over         timers that were still live after the runtime had ended
  late, lateness    from a timer's deadline until its task has run
  stalled           connections that fell silent on purpose; the service has to
                    close each of them after the idle timeout
  latest close      how long after that timeout one was closed at most
  vanished          connections that clients dropped without a word, on purpose

Exit code: 0 if every check holds, 1 if one fails, 2 for a wrong argument,
130 after Ctrl-C.
",
        SECONDS.start(),
        SECONDS.end(),
        CONNECTIONS.start(),
        CONNECTIONS.end(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn no_arguments_mean_the_defaults() {
        assert_eq!(parse_line(""), Ok(Command::Run(Args::default())));
    }

    #[test]
    fn values_follow_their_flag_after_a_space_or_an_equals_sign() {
        let wanted = Args {
            seconds: 3,
            connections: 40,
            timers: Timers::Cogwheel,
        };
        for line in [
            "--seconds 3 --connections 40 --timers cogwheel",
            "--timers=cogwheel --connections=40 --seconds=3",
        ] {
            assert_eq!(parse_line(line), Ok(Command::Run(wanted)), "{line}");
        }
    }

    #[test]
    fn help_wins_wherever_it_stands_before_an_error() {
        for line in ["--help", "-h", "--seconds 3 --help", "--help --nonsense"] {
            assert_eq!(parse_line(line), Ok(Command::Help), "{line}");
        }
    }

    #[test]
    fn wrong_arguments_are_named_in_the_error() {
        for (line, wanted) in [
            ("--nonsense", "unknown argument '--nonsense'"),
            ("12", "unknown argument '12'"),
            ("--help=yes", "unknown argument '--help=yes'"),
            ("--seconds", "--seconds needs a value"),
            (
                "--seconds 0",
                "--seconds takes a whole number from 1 to 3600, not '0'",
            ),
            (
                "--seconds=",
                "--seconds takes a whole number from 1 to 3600, not ''",
            ),
            (
                "--seconds -1",
                "--seconds takes a whole number from 1 to 3600, not '-1'",
            ),
            (
                "--connections many",
                "--connections takes a whole number from 1 to 100000, not 'many'",
            ),
            (
                "--timers std",
                "--timers takes tokio, cogwheel or both, not 'std'",
            ),
        ] {
            assert_eq!(parse_line(line), Err(wanted.to_owned()), "{line}");
        }
    }

    #[test]
    fn a_screen_of_eighty_columns_holds_the_help() {
        let widest = help().lines().map(str::len).max();
        assert!(widest <= Some(80), "{widest:?}");
    }

    #[test]
    fn the_help_shows_every_default() {
        let help = help();
        for default in ["[default: 12]", "[default: 2000]", "[default: both]"] {
            assert!(help.contains(default), "{default} is missing in:\n{help}");
        }
    }
}
