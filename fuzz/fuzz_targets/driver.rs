//! `cogwheel_fuzz::driver` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cogwheel_fuzz::driver::run(bytes));
