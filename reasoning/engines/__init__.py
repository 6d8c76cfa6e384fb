"""What computes the answer sets of a window: `choosing.engine_for` gives a request its engine.
`clingo` is the solver, `incremental` follows changes, `programs` has the incremental engine for
requests, alone or below the solver, `worker` is the process in which both can be ended.
Windows are made elsewhere (`streams`), and cutting a request into parts is `partition`."""
