//! Criterion benchmarks of the engine live in `benches/`.
