//! What must hold is said in `src/poll/fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dlock_exporter::poll::fuzzing::source(bytes));
