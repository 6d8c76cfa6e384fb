"""`#held`, `#last` and `now/1`: the rules they add to a request, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clingo.ast import AST, parse_string

from citywise.reasoning.asp.dependencies import Dependencies
from citywise.reasoning.asp.statements import Source, Statement
from citywise.reasoning.asp.syntax import Node, copy
from citywise.reasoning.languages.casp.directives import Directives
from citywise.reasoning.model import carried
from citywise.reasoning.model.carried import NOW
from citywise.reasoning.model.request import Request, Signature


def timed(
    source: Source,
    found: Directives,
    request: Request,
    nodes: Sequence[Node],
    *,
    clocked: bool = False,
) -> Request:
    """The request with what `#held`, `#last` and `now/1` mean; what is wrong with them is noted.
    Where no stream is read there is no time, unless it is `clocked`."""
    watched = frozenset({*request.held, *request.last})
    looked_at = request.used | request.shows | watched
    sees_now = NOW in looked_at and NOW not in request.derived | request.inputs
    request = replace(
        request,
        sees_now=sees_now and (clocked or bool(request.streams)),
        used=request.used | watched,
    )
    _refuse_others(source, found, request)
    _refuse_circles(source, found, request, nodes)
    return _with_rules(request)


def _with_rules(request: Request) -> Request:
    """The request with the rules of its directives behind its own, on lines with labels."""
    added = carried.rules(request)
    if not added:
        return request
    text = request.rules if request.rules.endswith("\n") else request.rules + "\n"
    lines = enumerate(added.items(), text.count("\n") + 1)
    labels = {(number, len(label) + 4): label for number, (label, _rule) in lines}
    return replace(
        request,
        rules=text + "".join(f"{' ' * (len(label) + 3)}{rule}\n" for label, rule in added.items()),
        appended="".join(f"({label}) {rule}\n" for label, rule in added.items()),
        labels={**request.labels, **labels},
    )


def _refuse_others(source: Source, found: Directives, request: Request) -> None:
    """Note what else gives the predicates that the directives make."""
    for signature, statement in _made(found).items():
        if signature in request.derived | request.inputs:
            by = "`#input` declares" if signature in request.inputs else "a rule derives"
            source.fault(
                statement.start,
                "clash",
                f"{_text(statement)} gives the rules `{signature}`, which {by} too; give that "
                "one another name",
            )


def _made(found: Directives) -> dict[Signature, Statement]:
    made = {carried.since(s): statement for s, statement in found.held.items()}
    return made | {carried.last(s): statement for s, (_age, statement) in found.last.items()}


def _refuse_circles(
    source: Source, found: Directives, request: Request, nodes: Sequence[Node]
) -> None:
    """Note each predicate under `#held` that depends on since when it holds."""
    if not found.held:
        return
    trees: list[AST] = []
    parse_string(carried.meaning(request), trees.append)
    graph = Dependencies([*nodes, *map(copy, trees)])
    for signature, statement in found.held.items():
        made = carried.since(signature)
        if graph.together(signature, made):
            steps = graph.path(signature, made)
            lines = ", ".join(str(line) for line in dict.fromkeys(s.line for s in steps))
            source.fault(
                statement.start,
                "unstratified",
                f"`{signature}` depends on `{made}` (line {lines}), which says since when it "
                f"holds; decide by what was before, with `#last {signature}` or `#feedback "
                f"{signature}`",
            )


def _text(statement: Statement) -> str:
    return f"`{' '.join(statement.text.split())}`"
