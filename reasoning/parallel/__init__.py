"""One request evaluated in parts: what may be cut, how facts are dealt out, how answers combine.

`plan` analyses a request's rules, `ParallelEngine` evaluates windows by such a plan
(thesis, chapters 5 and 6, with the corrections of docs/parallel.md).
"""
