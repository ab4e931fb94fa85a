//! What must hold is said in `src/config/fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dlock_exporter::config::fuzzing::config(bytes));
