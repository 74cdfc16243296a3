//! The command line.

use std::process::ExitCode;

use crate::floor;
use crate::load::{Load, loads};
use crate::peer::{NAMES, Name};
use crate::report::Report;
use crate::rounds::{Results, Verdict};
use crate::table;
use crate::world::Scale;

const HELP: &str = "\
This crate's timers next to those that a Tokio user can pick instead.

cargo bench --bench peers -- [OPTIONS]

  --load NAME,...   these loads alone: a letter (`a`, `b2`) or a full name (`a/fixed`)
  --peer NAME,...   these peers alone; a ratio needs the peer that is compared with
  --rounds N        so many rounds; otherwise 5, in a quick run 3, or 1 of the long loads
  --quick           a tenth of the work; all loads within 3 minutes
  --floor           print what the pieces of a timer cost here, and no loads
  --report          run everything, and write docs/performance.md and docs/charts/*.svg
  --list            print the loads, their targets and the peers
  --help            print this
";

/// What the command line asks for.
#[derive(Debug)]
enum Command {
    Run(Wishes),
    /// One peer on one load in this process; how the rounds are run.
    One {
        load: String,
        peer: Name,
        scale: Scale,
    },
    List,
    Floor,
    Help,
}

#[derive(Debug)]
pub(crate) struct Wishes {
    pub(crate) scale: Scale,
    rounds: Option<usize>,
    loads: Vec<String>,
    peers: Vec<Name>,
    report: bool,
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    if arguments.is_empty() {
        // `cargo test --benches`: that it has come so far is all there is to test.
        println!("run it with `cargo bench --bench peers`");
        return ExitCode::SUCCESS;
    }
    let loads = loads();
    match Command::parse(arguments, &loads) {
        Ok(Command::Help) => print!("{HELP}"),
        Ok(Command::Floor) => print!("{}", floor::measure().markdown(&[])),
        Ok(Command::List) => table::list(&loads),
        Ok(Command::One { load, peer, scale }) => run_here(&loads, &load, peer, scale),
        Ok(Command::Run(wishes)) => return run_rounds(&loads, &wishes),
        Err(complaint) => {
            eprintln!("error: {complaint}\n\n{HELP}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn run_here(loads: &[Load], name: &str, peer: Name, scale: Scale) {
    let load = loads.iter().find(|load| load.name == name);
    for (metric, value) in (load.expect("a load of that name").run)(peer, scale) {
        println!("{metric}\t{value}");
    }
}

fn run_rounds(loads: &[Load], wishes: &Wishes) -> ExitCode {
    // What the machine was doing before is of interest, not what this does to it.
    let report = wishes.report.then(|| Report::begin(wishes));
    let mut all = Vec::new();
    for load in loads.iter().filter(|load| wishes.want(load)) {
        let results = Results::gather(load, wishes);
        table::print(&results);
        all.push(results);
    }
    let verdicts: Vec<Verdict> = all.iter().flat_map(Results::verdicts).collect();
    table::print_verdicts(&verdicts);
    if let Some(report) = report {
        report.write(&all, &verdicts);
    }
    if all.iter().any(Results::has_failed) {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

impl Wishes {
    fn want(&self, load: &Load) -> bool {
        self.loads.is_empty() || self.loads.iter().any(|wish| load.answers_to(wish))
    }

    pub(crate) fn wants_peer(&self, peer: Name) -> bool {
        self.peers.is_empty() || self.peers.contains(&peer)
    }

    pub(crate) fn rounds(&self, load: &Load) -> usize {
        self.rounds.unwrap_or(match (self.scale.quick, load.slow) {
            (false, _) => 5,
            (true, false) => 3,
            (true, true) => 1,
        })
    }
}

impl Command {
    fn parse(arguments: &[String], known: &[Load]) -> Result<Self, String> {
        let mut wishes = Wishes {
            scale: Scale { quick: false },
            rounds: None,
            loads: Vec::new(),
            peers: Vec::new(),
            report: false,
        };
        let (mut one, mut list) = (false, false);
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let next = arguments.next();
                next.ok_or(format!("{argument} takes a value"))
            };
            match argument.as_str() {
                "--load" => {
                    for wish in value()?.split(',') {
                        if !known.iter().any(|load| load.answers_to(wish)) {
                            return Err(format!("no load is called {wish:?}; see --list"));
                        }
                        wishes.loads.push(wish.to_owned());
                    }
                }
                "--peer" => {
                    for wish in value()?.split(',') {
                        let known = || NAMES.map(Name::text).join(", ");
                        let peer = Name::parse(wish).ok_or_else(|| {
                            format!("no peer is called {wish:?}; they are {}", known())
                        })?;
                        wishes.peers.push(peer);
                    }
                }
                "--rounds" => {
                    let rounds = value()?.parse().ok().filter(|&rounds| rounds > 0);
                    let rounds = rounds.ok_or("--rounds takes a number from 1")?;
                    wishes.rounds = Some(rounds);
                }
                "--quick" => wishes.scale.quick = true,
                "--report" => wishes.report = true,
                "--list" => list = true,
                "--floor" => return Ok(Self::Floor),
                "--help" | "-h" => return Ok(Self::Help),
                "--one" => one = true,
                // Cargo's own.
                "--bench" => {}
                other => return Err(format!("unknown argument {other:?}")),
            }
        }
        if list {
            return Ok(Self::List);
        }
        if one {
            return wishes.single();
        }
        if wishes.report && !(wishes.loads.is_empty() && wishes.peers.is_empty()) {
            return Err("--report is about all loads and peers".to_owned());
        }
        Ok(Self::Run(wishes))
    }
}

impl Wishes {
    fn single(self) -> Result<Command, String> {
        match (self.loads.as_slice(), self.peers.as_slice()) {
            ([load], &[peer]) => Ok(Command::One {
                load: load.clone(),
                peer,
                scale: self.scale,
            }),
            _ => Err("--one takes one --load and one --peer".to_owned()),
        }
    }
}
