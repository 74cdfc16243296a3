//! `cogwheel_fuzz::delay_queue` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cogwheel_fuzz::delay_queue::run(bytes));
