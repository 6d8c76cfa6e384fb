"""What evaluates a program of plain LARS, and its graphs (`citywise plan`, DESIGN A7)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reasoning.analysis import lars
from reasoning.analysis.dependencies import Fragment
from reasoning.engines.program import program as rules_of
from reasoning.lars.choosing import obstacle
from reasoning.lars.evaluation import shown
from reasoning.lars.program import LarsProgram
from reasoning.parallel import sound
from reasoning.parallel.description import Description, strata
from reasoning.parallel.graphs import extended_graph, input_graph, input_predicates
from reasoning.parallel.plan import Plan
from reasoning.parallel.rules import read

_WHOLE = (
    "plain LARS is evaluated as a whole: its windows stand in the rules, and a window of tuples "
    "counts what any rule reads"
)


def describe(program: LarsProgram, path: Path) -> Description:
    """The program of a file: fragment, engine, strata and graphs over its predicates.

    The graphs are those of the rules without their windows and times. There is one
    partition, with all rules.
    """
    request = program.request
    rules = read(request.rules, request.labels).rules
    dependencies = lars.dependencies(program)
    inputs, extended = input_predicates(request, rules), extended_graph(rules)
    cycle, why = dependencies.negative_cycle(), obstacle(program)
    fragment: Fragment = "normal" if why is not None else lars.fragment(program)
    return Description(
        file=path.name,
        language="lars",
        fragment=fragment,
        engine="incremental" if why is None else "solver",
        outside=() if why is None else (why,),
        strata=strata(dependencies, extended.nodes),
        cycle=None if cycle is None else ", ".join(f"{e.head} needs {e}" for e in cycle),
        rules=rules,
        inputs=inputs,
        extended=extended,
        graph=input_graph(extended, inputs),
        plan=_plan(program),
    )


def _plan(program: LarsProgram) -> Plan:
    """The plan that cuts nothing."""
    found = sound.whole(rules_of(program.request, frozenset()), program.request.labels)
    (partition,) = found.partitions
    partition = replace(partition, shows=shown(program, frozenset()))
    return replace(found, partitions=(partition,), reasons=(_WHOLE,))
