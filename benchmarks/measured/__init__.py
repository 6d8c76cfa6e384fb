"""What benchmarks measure: what processes use, and what event streams tell; over which data."""
