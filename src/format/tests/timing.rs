//! What decoding costs, for `cargo test --release -- --ignored --nocapture`. It is paid when a value changed, not at each
//! read. Nothing is asserted but that the dearest is within reason.
#![allow(clippy::print_stdout)]

use super::*;
use crate::clock::mono;

/// Nanoseconds of one call, the least of several rounds.
fn cost(mut call: impl FnMut()) -> u128 {
    const CALLS: u32 = 2_000;
    let round = |call: &mut dyn FnMut()| {
        let began = mono();
        (0..CALLS).for_each(|_| call());
        mono().since(began).as_nanos() / u128::from(CALLS)
    };
    (0..9).map(|_| round(&mut call)).min().unwrap_or_default()
}

#[test]
#[ignore = "it measures"]
fn of_common_values() {
    let key = b"lock:orders:shard:00017";
    let values = ["worker-7:host-1:4711", UUID, BASE64_16, "86bb5074ebf111f1930402fc00000001"];
    for value in values {
        let raw = Raw::String { bytes: value.as_bytes(), full_len: value.len() };
        let string = Sight { key, raw, rules: &auto(), now: NOW, is_declared: false };
        let alone = cost(|| drop(std::hint::black_box((string::FORMAT.decode)(&string))));
        let all = cost(|| drop(std::hint::black_box(decode(key, raw, &auto(), NOW))));
        println!(
            "{value}: {all} ns, {:.2} of `string` alone ({alone} ns)",
            all as f64 / alone as f64
        );
    }
    let fields: Vec<String> = (0..64).map(|i| format!("{OTHER}:{i}")).collect();
    let fields: Vec<(&[u8], &[u8])> = fields.iter().map(|f| (f.as_bytes(), &b"1"[..])).collect();
    let hash = cost(|| drop(std::hint::black_box(decode(key, Raw::Hash(&fields), &auto(), NOW))));
    let companion = cost(|| assert!(!std::hint::black_box(is_companion(key))));
    println!("64 owners: {hash} ns; is_companion: {companion} ns");
    assert!(hash < 1_000_000, "{hash} ns for 64 owners");
}
