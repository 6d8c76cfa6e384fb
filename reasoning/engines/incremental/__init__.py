"""The incremental engine: rules over rows with horizons, evaluated by what changes.

`evaluation` moves the relations of a `model.rules.Program` from one point of time to the next,
`component` by the functions that `generated` writes for each rule, `operators` for aggregates;
`atoms` and `views` are its two ends in text. It knows no language: C-ASP, LARS and RIF are
translated into such programs (docs/decisions/incremental-engine.md).
"""
