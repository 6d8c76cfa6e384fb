"""What evaluates a program of plain LARS, and its graphs (docs/plan.md)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from citywise.reasoning.asp.dependencies import (
    Fragment,
    extended_graph,
    input_graph,
    input_predicates,
)
from citywise.reasoning.asp.rules import read
from citywise.reasoning.languages.lars import check
from citywise.reasoning.languages.lars.language import obstacle
from citywise.reasoning.languages.lars.program import LarsProgram, shown
from citywise.reasoning.model.engine import program as rules_of
from citywise.reasoning.partition import sound
from citywise.reasoning.partition.description import Description, strata
from citywise.reasoning.partition.plan import Plan, Reason

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
    dependencies = check.dependencies(program)
    inputs, extended = input_predicates(request, rules), extended_graph(rules)
    cycle, why = dependencies.negative_cycle(), obstacle(program)
    fragment: Fragment = "normal" if why is not None else check.fragment(program)
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
    return replace(found, partitions=(partition,), because=(Reason(_WHOLE),))
