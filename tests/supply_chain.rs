//! What this crate makes its users build, and under which licences: read from `cargo tree` and
//! `Cargo.lock`, without a network. The rules are those of `deny.toml`.
//!
//! `ci/supply-chain` runs this for each platform of `deny.toml` (`SUPPLY_CHAIN_TARGET`), which may
//! have to fetch packages; without it, it is the platform of the tests.

#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// All packages that a user of this crate builds, with every feature: itself and these. `metrics`,
/// `rapidhash` and `rustversion` come with the feature `metrics` alone.
const NORMAL: [&str; 10] = [
    "futures-core",
    "metrics",
    "once_cell",
    "pin-project-lite",
    "rapidhash",
    "rustversion",
    "slab",
    "tokio",
    "tracing",
    "tracing-core",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// One package of the tree.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    licence: String,
}

/// The packages that this crate reaches over edges of these kinds.
fn packages(edges: &str) -> BTreeSet<Package> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo.args(["tree", "--locked", "--package", env!("CARGO_PKG_NAME")]);
    cargo.args(["--all-features", "--edges", edges, "--prefix", "none"]);
    cargo.args(["--no-dedupe", "--format", "{p}|{l}"]);
    match env::var_os("SUPPLY_CHAIN_TARGET") {
        Some(target) => cargo.arg("--target").arg(target),
        None => cargo.arg("--offline"),
    };
    let output = cargo.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree: {errors}");
    listed(&String::from_utf8(output.stdout).unwrap())
}

/// Reads lines like `slab v0.4.12|MIT`.
fn listed(tree: &str) -> BTreeSet<Package> {
    let lines = tree.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (package, licence) = line.rsplit_once('|').unwrap();
            let mut words = package.split(' ');
            Package {
                name: words.next().unwrap().to_owned(),
                version: words.next().unwrap_or_default().to_owned(),
                licence: licence.to_owned(),
            }
        })
        .collect()
}

/// The quoted words of a list in `deny.toml`.
fn allowed(list: &str) -> Vec<String> {
    let rules = fs::read_to_string(root().join("deny.toml")).unwrap();
    let beginning = format!("\n{list} = [");
    let (_, rest) = rules.split_once(&beginning).unwrap();
    let (words, _) = rest.split_once(']').unwrap();
    let words: Vec<String> = words
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    assert!(!words.is_empty(), "{list} is empty");
    words
}

/// Whether an expression of SPDX, or its old form with slashes, can be met with these licences. A
/// licence with an exception allows more than without.
fn may_be_met(expression: &str, with: &[String]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = words.into_iter().peekable();
    let met = any(&mut words, with);
    met && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::vec::IntoIter<&'a str>>;

fn any(words: &mut Words<'_>, with: &[String]) -> bool {
    let mut met = all(words, with);
    while words.next_if_eq(&"OR").is_some() {
        met |= all(words, with);
    }
    met
}

fn all(words: &mut Words<'_>, with: &[String]) -> bool {
    let mut met = one(words, with);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, with);
    }
    met
}

fn one(words: &mut Words<'_>, with: &[String]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let met = any(words, with);
        return met && words.next() == Some(")");
    }
    let licence = words.next().unwrap_or_default();
    if words.next_if_eq(&"WITH").is_some() {
        words.next();
    }
    with.iter().any(|allowed| allowed == licence)
}

fn forbidden(packages: &BTreeSet<Package>, with: &[String]) -> Vec<String> {
    let forbidden = packages.iter().filter(|it| !may_be_met(&it.licence, with));
    forbidden
        .map(|it| format!("{} {}: {:?}", it.name, it.version, it.licence))
        .collect()
}

fn twice(packages: &BTreeSet<Package>) -> Vec<&str> {
    let names: Vec<&str> = packages.iter().map(|it| &*it.name).collect();
    let mut twice: Vec<&str> = names
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
        .collect();
    twice.dedup();
    twice
}

/// The lines of a lock file that name another source than `registry`.
fn strangers<'a>(lock: &'a str, registry: &str) -> Vec<&'a str> {
    let expected = format!("source = \"registry+{registry}\"");
    lock.lines()
        .filter(|line| line.starts_with("source = ") && *line != expected)
        .collect()
}

#[test]
fn a_user_builds_these_packages_and_no_other() {
    let names: BTreeSet<String> = packages("normal").into_iter().map(|it| it.name).collect();
    let mut expected: BTreeSet<String> = NORMAL.map(str::to_owned).into();
    expected.insert(env!("CARGO_PKG_NAME").to_owned());
    assert_eq!(
        names, expected,
        "if that is meant, say why and change the list in this file"
    );
}

#[test]
fn a_user_builds_no_package_in_two_versions() {
    assert_eq!(twice(&packages("normal")), Vec::<&str>::new());
}

#[test]
fn every_package_is_under_a_licence_that_is_allowed_that_of_the_tests_too() {
    let packages = packages("normal,build,dev");
    assert!(packages.len() > 20, "{packages:?}");
    assert_eq!(
        forbidden(&packages, &allowed("allow")),
        Vec::<String>::new()
    );
}

#[test]
fn every_package_comes_from_the_one_registry() {
    let [registry] = &allowed("allow-registry")[..] else {
        panic!("there is one registry");
    };
    let locks =
        ["Cargo.lock", "conformance/Cargo.lock", "fuzz/Cargo.lock"].map(|lock| root().join(lock));
    // A package that was published has only the first.
    let locks: Vec<PathBuf> = locks.into_iter().filter(|lock| lock.exists()).collect();
    assert!(!locks.is_empty());
    for lock in locks {
        let lock = fs::read_to_string(lock).unwrap();
        assert_eq!(strangers(&lock, registry), Vec::<&str>::new());
    }
}

// === that these rules are broken by what breaks them ===

#[test]
fn a_licence_expression_is_met_by_one_side_of_or_and_by_both_of_and() {
    let with = ["MIT".to_owned(), "Apache-2.0".to_owned()];
    for met in [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT/GPL-3.0",
        "Apache-2.0 / MIT",
        "(GPL-3.0 OR MIT) AND Apache-2.0",
        "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        "GPL-3.0 AND MIT OR MIT",
    ] {
        assert!(may_be_met(met, &with), "{met}");
    }
    for not_met in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "GPL-3.0 WITH MIT",
        "MIT MIT",
        "(MIT",
    ] {
        assert!(!may_be_met(not_met, &with), "{not_met}");
    }
}

#[test]
fn a_breach_of_each_rule_is_named() {
    let tree = listed("slab v0.4.11|MIT\nslab v0.4.12|MIT\nevil v1.0.0|GPL-3.0\nbare v1.0.0|\n");
    assert_eq!(twice(&tree), ["slab"]);
    let named = forbidden(&tree, &["MIT".to_owned()]);
    assert_eq!(named, ["bare v1.0.0: \"\"", "evil v1.0.0: \"GPL-3.0\""]);
    let lock = "source = \"registry+https://here\"\nsource = \"git+https://there\"\n";
    assert_eq!(
        strangers(lock, "https://here"),
        ["source = \"git+https://there\""]
    );
}
