"""What the benchmarks `lars` and `casp` share to measure the incremental engine: the
experiments of the Laser paper, windows that overlap, and the systems that are compared."""
