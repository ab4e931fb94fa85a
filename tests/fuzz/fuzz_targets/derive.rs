//! What must hold is said in `src/derive/fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dlock_exporter::derive::fuzzing::derive(bytes));
