"""One request evaluated in parts: what may be cut, how facts are dealt out, how answers combine.

`ParallelEngine` evaluates windows by a plan of `sound`; `Router` deals out by it and `combined`
unites, here and in Spark alike (thesis, chapters 5 and 6, as docs/parallel.md corrects them).
`description` says what is cut and why; `greedy` is the thesis' own plan, for comparison.
"""

from citywise.reasoning.partition.combining import combined, united
from citywise.reasoning.partition.engine import ParallelEngine
from citywise.reasoning.partition.executors import Executor, Processes
from citywise.reasoning.partition.plan import Key, Partition, Plan, Planner, Reason
from citywise.reasoning.partition.routing import Router, bucket

__all__ = [
    "Executor",
    "Key",
    "ParallelEngine",
    "Partition",
    "Plan",
    "Planner",
    "Processes",
    "Reason",
    "Router",
    "bucket",
    "combined",
    "united",
]
