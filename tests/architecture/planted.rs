//! The checker, checked: planted violations are found, and nothing else is.

use crate::{Source, check};

/// The complaints about one planted file beside an innocent crate.
fn complaints_about(module: &str, text: &str) -> Vec<String> {
    let innocent = [
        (
            "lib",
            "mod tick; pub use crate::tick::Tick; pub use crate::sleep::Sleep;",
        ),
        ("tick", ""),
        ("error", ""),
        ("sleep", ""),
        ("interval", ""),
        ("wheel", "mod level;"),
        ("wheel/level", ""),
        ("driver", ""),
        ("driver/core", ""),
        ("driver/parker", ""),
        ("sync/node", ""),
    ];
    let mut sources: Vec<_> = innocent
        .into_iter()
        .filter(|(name, _)| *name != module)
        .chain([(module, text)])
        .map(|(module, text)| Source {
            module: module.to_owned(),
            text: text.to_owned(),
        })
        .collect();
    sources.sort_by(|a, b| a.module.cmp(&b.module));
    check(&sources)
}

#[test]
#[rustfmt::skip]
fn planted_violations_are_caught_in_every_disguise() {
    for (module, text, complaint) in [
        ("wheel", "use std::time::Duration;", "wheel: must not contain `std::time`"),
        ("wheel/level", "use std::{fmt, time::{self}};", "wheel/level: must not contain `std::time`"),
        ("wheel", "fn f() { let _: std::time::Duration; }", "wheel: must not contain `std::time`"),
        ("wheel", "use crate::driver::core::Core;", "wheel: must not import `driver/core`"),
        ("wheel/level", "use super::super::sleep::sleep;", "wheel/level: must not import `sleep`"),
        ("wheel", "use crate::{tick::Tick, error, Sleep};", "wheel: must not import `error`"),
        ("wheel", "use crate::{tick::Tick, Sleep};", "wheel: must not import `sleep`"),
        ("wheel", "mod a { fn f() { super::super::sync::node::g() } }", "wheel: must not import `sync/node`"),
        ("driver/core", "use super::parker::Parker;", "driver/core: must not import `driver/parker`"),
        ("driver/core", "use tokio as t;", "driver/core: must not contain `tokio`"),
        ("timeout", "use crate::interval::Interval;", "timeout: must not import `interval`"),
        ("sleep", "fn f() { unsafe { g() } }", "sleep: must not contain `unsafe`"),
        ("sleep", "use std::sync::Mutex;", "sleep: `std::sync` belongs into primitive/*"),
        ("clock", "use std::sync::{Arc, OnceLock};", "clock: `std::sync` belongs into primitive/*"),
        ("sync/node", "use core::cell::UnsafeCell;", "sync/node: `core::cell::UnsafeCell` belongs into primitive/*"),
        ("sync/node", "fn f() { loom::thread::yield_now(); }", "sync/node: `loom` belongs into primitive/*"),
        ("sync/node", "const N: u8 = if cfg!(loom) { 2 } else { 64 }; use loom::cell;", "sync/node: `loom` belongs into primitive/*"),
        ("time", "pub fn logic() {}", "time: must not contain `fn`"),
        ("gadget", "", "gadget: has no row; add one"),
        ("tick", "#[cfg(not(test))] use tokio::time;", "tick: must not contain `tokio`"),
        ("tick", "const A: &str = \"\\\"\"; use tokio::time;", "tick: must not contain `tokio`"),
        ("tick", "fn f<'a>(_: &'a u8) -> char { '\"' } use tokio::time;", "tick: must not contain `tokio`"),
    ] {
        let complaints = complaints_about(module, text);
        assert!(
            complaints.iter().any(|found| found == complaint),
            "{text}: {complaints:?}"
        );
    }
}

#[test]
#[rustfmt::skip]
fn innocent_code_raises_no_complaint() {
    for (module, text) in [
        ("wheel", "// use std::time::Instant;\n/* async */ use crate::tick::Tick; mod level;"),
        ("wheel", "use crate::Tick; use self::level::Level; const WHY: &str = \"no async, no Waker\";"),
        ("wheel", "#[cfg(test)]\nmod tests { use std::time::Duration; use crate::driver::core::Core; }"),
        ("wheel", "#[cfg(test)] use crate::sleep::Sleep; #[cfg(all(test, not_loom))] fn f() { async {} }"),
        ("wheel/level", "use super::Wheel; use crate::wheel::level::Level; fn f<'a>(_: &'a u8) {}"),
        ("driver/core", "use crate::{sync::node::Node, wheel::level, tick::Tick};"),
        ("clock", "use std::sync::OnceLock;"),
        ("lib", "#[cfg(loom)] pub mod loom_only { pub use crate::sync::node; }"),
        ("sync/node", "#[cfg(not(loom))] const PAGES: usize = 64; const PAGE: usize = if cfg!(loom) { 2 } else { 64 };"),
        ("tick", "const RAW: &str = r#\"async \" unsafe\"#; const BYTE: u8 = b'\\''; const QUOTE: char = '\"';"),
    ] {
        assert_eq!(complaints_about(module, text), [""; 0], "{text}");
    }
}
