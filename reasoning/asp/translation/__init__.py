"""Stratified rules of answer set programs as rules of the model, for the incremental engine.
`program.translate` takes a whole program, `program.split` its largest part that is stratified.
How those rules are evaluated is none of this: `engines.incremental`."""
