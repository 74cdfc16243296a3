#![doc = include_str!("../docs/guide.md")]
#![forbid(unsafe_code)]
