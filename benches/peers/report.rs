//! Writes `docs/performance.md`: the figures between two marks, and whatever people wrote around
//! them as it was.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::charts;
use crate::floor;
use crate::options::Wishes;
use crate::peer::{NAMES, Name};
use crate::rounds::{Results, Verdict};
use crate::table::{Table, against, figure, worst_of_groups};

const BEGIN: &str = "<!-- figures: written by `cargo bench --bench peers -- --report` -->";
const END: &str = "<!-- end of the figures -->";

/// What is to be told besides the figures.
pub(crate) struct Report {
    quick: bool,
    command: String,
    /// Before the first load.
    load_average: String,
}

impl Report {
    /// Looks at the machine before it gets to work.
    pub(crate) fn begin(wishes: &Wishes) -> Self {
        let arguments: Vec<String> = env::args()
            .skip(1)
            .filter(|argument| argument != "--bench")
            .collect();
        let average = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            quick: wishes.scale.quick,
            command: format!("cargo bench --bench peers -- {}", arguments.join(" ")),
            load_average: average.split(' ').take(3).collect::<Vec<_>>().join(", "),
        }
    }

    /// Writes the page and the charts.
    pub(crate) fn write(&self, all: &[Results<'_>], verdicts: &[Verdict]) {
        let docs = root().join("docs");
        let page = docs.join("performance.md");
        let before = fs::read_to_string(&page).unwrap_or_default();
        let block = format!("{BEGIN}\n\n{}\n{END}", self.block(all, verdicts));
        let after = match (before.split_once(BEGIN), before.split_once(END)) {
            (Some((head, _)), Some((_, tail))) => format!("{head}{block}{tail}"),
            _ => format!("# Performance\n\n{block}\n"),
        };
        fs::write(&page, after).expect("docs/performance.md can be written");
        let folder = docs.join("charts");
        fs::create_dir_all(&folder).expect("docs/charts can be made");
        charts::draw(&folder, all);
        println!("\nwritten: {} and the charts beside it", page.display());
    }

    fn block(&self, all: &[Results<'_>], verdicts: &[Verdict]) -> String {
        let mut text = String::new();
        text.push_str(&self.circumstances(all));
        text.push_str(&targets(verdicts));
        text.push_str(&floor::measure().markdown(verdicts));
        text.push_str(&better_rivals(all));
        text.push_str(CHARTS);
        text.push_str("## All figures\n\nMedians; the ratio is that of the first column.\n");
        for results in all {
            let load = results.load;
            let rounds = match results.rounds {
                1 => "1 round".to_owned(),
                many => format!("{many} rounds"),
            };
            let _ = write!(
                text,
                "\n### {}\n\n{}; {rounds}, compared with {}\n\n{}",
                load.name,
                load.about,
                load.base,
                Table::of(results).markdown()
            );
        }
        text
    }

    fn circumstances(&self, all: &[Results<'_>]) -> String {
        let mut text = String::from("## Circumstances\n\n");
        if self.quick {
            text.push_str(
                "**A quick run**: a tenth of the work and few rounds, good for the order of \
                 magnitude.\n\n",
            );
        }
        let cores = thread::available_parallelism().map_or(0, usize::from);
        let rows = [
            ("command", format!("`{}`", self.command)),
            ("commit", commit()),
            ("machine", format!("{}, {cores} cores", processor())),
            ("kernel", format!("Linux {}", kernel())),
            ("load average before", self.load_average.clone()),
            ("compiler", output("rustc", &["--version"])),
        ];
        text.push_str("| | |\n|---|---|\n");
        for (name, value) in rows {
            let _ = writeln!(text, "| {name} | {value} |");
        }
        text.push_str("\n| peer | what it is |\n|---|---|\n");
        let shown = |name: &Name| all.iter().any(|results| results.row(*name).is_some());
        for name in NAMES.into_iter().filter(shown) {
            let _ = writeln!(text, "| {name} | {}{} |", name.about(), version(name));
        }
        text
    }
}

const CHARTS: &str = "
## Charts

![Processor time to make, poll and drop a timeout](charts/create-cancel.svg)

![Lateness of a million timers within two seconds](charts/lateness.svg)

![Timeouts per second by the number of tasks](charts/scaling.svg)

";

fn targets(verdicts: &[Verdict]) -> String {
    let met = verdicts.iter().filter(|verdict| verdict.met).count();
    let mut text = format!(
        "\n## Targets\n\n{met} of {} met. `<= 0.40x` is a ratio to the peer compared with.\n\n\
         | load | peer | figure | target | came to | |\n|---|---|---|---|---|---|\n",
        verdicts.len()
    );
    for verdict in verdicts {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            verdict.load,
            verdict.goal.peer,
            verdict.goal.metric,
            verdict.goal.bound,
            against(verdict).trim_end_matches(','),
            if verdict.met { "met" } else { "**missed**" }
        );
    }
    text.push_str("\nOf the loads of one letter, the worst:\n\n");
    for worst in worst_of_groups(verdicts) {
        let _ = writeln!(text, "* {worst}");
    }
    text
}

/// The loads in which somebody beats this crate, in the main figure.
fn better_rivals(all: &[Results<'_>]) -> String {
    let mut text =
        String::from("\n## Where a rival is better\n\nIn the main figure of a load:\n\n");
    for results in all {
        let main = results.load.main;
        let median = |name| Some(results.row(name)?.figure(main)?.median());
        let Some(ours) = median(Name::Cogwheel) else {
            continue;
        };
        for row in &results.rows {
            let (Some(theirs), false) = (median(row.peer), row.peer.is_ours()) else {
                continue;
            };
            if results.load.is_better(theirs, ours) {
                let (name, peer) = (results.load.name, row.peer);
                let (theirs, ours) = (figure(theirs), figure(ours));
                let _ = writeln!(text, "* {name}: {peer}, {main} {theirs} against {ours}");
            }
        }
    }
    text
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn commit() -> String {
    let commit = output("git", &["rev-parse", "--short=10", "HEAD"]);
    let changed = output(
        "git",
        &["status", "--porcelain", "src", "benches", "Cargo.toml"],
    );
    if changed.is_empty() {
        commit
    } else {
        format!("{commit}, with changes")
    }
}

/// The version of the peer's package, from the lock file.
fn version(name: Name) -> String {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap_or_default();
    let package = match name {
        Name::Tokio => "tokio",
        Name::TokioUtil => "tokio-util",
        Name::Pingora => "pingora-timeout",
        Name::AsyncIo => "async-io",
        Name::FuturesTimer => "futures-timer",
        Name::Cogwheel | Name::CogwheelFree | Name::Heap => return String::new(),
    };
    let entry = format!("name = \"{package}\"\nversion = \"");
    let version = lock
        .split_once(&entry)
        .and_then(|(_, rest)| rest.split_once('"'));
    version.map_or_else(String::new, |(version, _)| {
        format!(" ({package} {version})")
    })
}

fn processor() -> String {
    let info = read("/proc/cpuinfo");
    let model = info.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": "));
    model.map_or_else(|| env::consts::ARCH.to_owned(), |(_, name)| name.to_owned())
}

/// The version alone, without what whoever built it has added.
fn kernel() -> String {
    let release = read("/proc/sys/kernel/osrelease");
    let version = release
        .split_once('-')
        .map(|(version, _)| version.to_owned());
    version.unwrap_or(release)
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
