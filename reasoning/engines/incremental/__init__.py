"""The incremental engine: rules over facts with horizons, evaluated by what changes.

A program (`program`) is compiled to straight-line Python, a function for each way in which
a rule can meet a change (`joins`, `generated`); `evaluation` moves its relations from one
point of time to the next. C-ASP, LARS and what follows are translated into such programs.
"""
