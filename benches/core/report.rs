//! The rounds and the table.

use std::env;
use std::process::{Command, ExitCode};

use crate::load::{Load, Side};
use crate::measure::{as_f64, quantile};
use crate::world::Scale;
use crate::{churn, firing, limits, reset};

const TOKIO: &str = "tokio";
const COGWHEEL: &str = "cogwheel";

const HELP: &str = "\
Tokio's timers and this crate's on the same loads, side by side.

cargo bench --bench core -- [OPTIONS] [NAME...]

  NAME          only loads with this in their name
  --rounds N    so many rounds; otherwise 5, in a quick run 3
  --quick       a tenth of the work, without the slow loads
  --list        print the loads
  --help        print this
";

/// What the command line asks for.
struct Wishes {
    scale: Scale,
    rounds: usize,
    list: bool,
    help: bool,
    names: Vec<String>,
}

impl Wishes {
    fn of(arguments: &[String], known: &[Load]) -> Result<Self, String> {
        let mut wishes = Self {
            scale: Scale { quick: false },
            rounds: 0,
            list: false,
            help: false,
            names: Vec::new(),
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => wishes.scale.quick = true,
                "--list" => wishes.list = true,
                "--help" | "-h" => wishes.help = true,
                "--rounds" => {
                    let rounds = arguments.next().and_then(|count| count.parse().ok());
                    let rounds = rounds.filter(|&rounds| rounds > 0);
                    wishes.rounds = rounds.ok_or("--rounds takes a number from 1")?;
                }
                // Cargo's own.
                "--bench" => {}
                option if option.starts_with('-') => {
                    return Err(format!("unknown option {option:?}"));
                }
                name if known.iter().any(|load| load.name.contains(name)) => {
                    wishes.names.push(name.to_owned());
                }
                name => return Err(format!("no load has {name:?} in its name; see --list")),
            }
        }
        if wishes.rounds == 0 {
            wishes.rounds = if wishes.scale.quick { 3 } else { 5 };
        }
        Ok(wishes)
    }

    fn want(&self, load: &Load) -> bool {
        let named = |name: &String| load.name.contains(name.as_str());
        if self.names.is_empty() {
            !(load.slow && self.scale.quick)
        } else {
            self.names.iter().any(named)
        }
    }
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let mut loads = churn::loads();
    loads.extend(reset::loads());
    loads.extend(firing::loads());
    loads.extend(limits::loads());
    if let [one, name, side, rest @ ..] = arguments
        && one == "--one"
    {
        let quick = rest.iter().any(|argument| argument == "--quick");
        run_here(&loads, name, side, Scale { quick });
        return ExitCode::SUCCESS;
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        // `cargo test --benches`: that it has come so far is all there is to test.
        println!("run it with `cargo bench --bench core`");
        return ExitCode::SUCCESS;
    }
    let wishes = match Wishes::of(arguments, &loads) {
        Ok(wishes) => wishes,
        Err(complaint) => {
            eprintln!("error: {complaint}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    if wishes.help {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let wanted = loads.iter().filter(|load| wishes.want(load));
    if wishes.list {
        wanted.for_each(|load| println!("{:<22} {}", load.name, load.about));
        return ExitCode::SUCCESS;
    }
    let mut missed = Vec::new();
    for load in wanted {
        missed.extend(Results::gather(load, &wishes).print(load));
    }
    println!();
    match missed.as_slice() {
        [] => println!("all targets met"),
        missed => println!("targets missed:\n  {}", missed.join("\n  ")),
    }
    ExitCode::SUCCESS
}

/// Runs one side in this process and prints its figures for the parent.
fn run_here(loads: &[Load], name: &str, side: &str, scale: Scale) {
    let load = loads.iter().find(|load| load.name == name);
    let load = load.unwrap_or_else(|| panic!("no load is called {name}"));
    let side: &Side = match side {
        TOKIO => &load.tokio,
        COGWHEEL => &load.cogwheel,
        _ => panic!("the sides are {TOKIO} and {COGWHEEL}, not {side}"),
    };
    for (metric, value) in side(scale) {
        println!("{metric}\t{value}");
    }
}

/// The figures of one metric, a value for each round.
struct Row {
    metric: String,
    tokio: Vec<f64>,
    cogwheel: Vec<f64>,
}

struct Results(Vec<Row>);

impl Results {
    fn gather(load: &Load, wishes: &Wishes) -> Self {
        let mut results = Self(Vec::new());
        for round in 0..wishes.rounds {
            // Whoever goes first may find the machine in another state.
            let order = if round % 2 == 0 {
                [TOKIO, COGWHEEL]
            } else {
                [COGWHEEL, TOKIO]
            };
            for side in order {
                for (metric, value) in run_apart(load.name, side, wishes.scale) {
                    let row = results.row(metric);
                    match side {
                        TOKIO => row.tokio.push(value),
                        _ => row.cogwheel.push(value),
                    }
                }
            }
        }
        for row in &mut results.0 {
            row.tokio.sort_by(f64::total_cmp);
            row.cogwheel.sort_by(f64::total_cmp);
        }
        results
    }

    fn row(&mut self, metric: String) -> &mut Row {
        let known = self.0.iter().position(|row| row.metric == metric);
        let index = known.unwrap_or_else(|| {
            self.0.push(Row {
                metric,
                tokio: Vec::new(),
                cogwheel: Vec::new(),
            });
            self.0.len() - 1
        });
        &mut self.0[index]
    }

    /// Prints the load's part of the table; the targets that it has missed.
    fn print(&self, load: &Load) -> Vec<String> {
        println!("\n{}: {}", load.name, load.about);
        println!("  {:<20} {:>28} {:>28} {:>7}", "", TOKIO, COGWHEEL, "ratio");
        let mut missed = Vec::new();
        for Row {
            metric,
            tokio,
            cogwheel,
        } in &self.0
        {
            let (ours, theirs) = (median(cogwheel), median(tokio));
            let target = load.targets.iter().find(|(name, _)| name == metric);
            let verdict = target.map_or_else(String::new, |(_, target)| {
                if target.is_met(theirs, ours) {
                    return format!("target {target}");
                }
                missed.push(format!(
                    "{} {metric}: {} against {}, target {target}",
                    load.name,
                    figure(ours),
                    figure(theirs)
                ));
                format!("target {target}  MISSED")
            });
            let ratio = if theirs == 0.0 {
                "-".to_owned()
            } else {
                format!("{:.2}", ours / theirs)
            };
            println!(
                "  {metric:<20} {:>28} {:>28} {ratio:>7}  {verdict}",
                spread(tokio),
                spread(cogwheel)
            );
        }
        missed
    }
}

/// Runs one side in a process of its own.
fn run_apart(name: &str, side: &str, scale: Scale) -> Vec<(String, f64)> {
    let program = env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command.args(["--one", name, side]);
    if scale.quick {
        command.arg("--quick");
    }
    let output = command.output().expect("this program runs");
    assert!(
        output.status.success(),
        "{name} failed with {side}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let parsed = text.lines().filter_map(|line| {
        let (metric, value) = line.split_once('\t')?;
        Some((metric.to_owned(), value.parse().ok()?))
    });
    parsed.collect()
}

fn median(sorted: &[f64]) -> f64 {
    quantile(sorted, 0.5)
}

fn spread(sorted: &[f64]) -> String {
    let (least, greatest) = (quantile(sorted, 0.0), quantile(sorted, 1.0));
    format!(
        "{} ({}..{})",
        figure(median(sorted)),
        figure(least),
        figure(greatest)
    )
}

/// A number with about four digits.
fn figure(value: f64) -> String {
    let whole = value.abs();
    if whole == 0.0 {
        "0".to_owned()
    } else if whole < as_f64(1) {
        format!("{value:.4}")
    } else if whole < as_f64(100) {
        format!("{value:.2}")
    } else {
        format!("{value:.0}")
    }
}
