"""What the benchmark `rif` measures: the experiments of Monks et al. with their system R4, what
must come out of them, and how R4 joins."""
