//! `cogwheel_fuzz::wheel` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cogwheel_fuzz::wheel::run(bytes));
