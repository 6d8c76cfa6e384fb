"""Numbers of different scales that a rule compares: a field's, by its step, a parameter's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from clingo.ast import ASTType

from citywise.backend.kinds.registry import name_of
from citywise.backend.packs.numbers import NumberParameter
from citywise.backend.packs.rule_atoms import Findings, of_rule, signature
from citywise.backend.packs.template import TemplateVersion
from citywise.reasoning import Finding, Request
from citywise.reasoning.asp import Node, body_atoms
from citywise.reasoning.languages.casp import Reading
from citywise.reasoning.rdf.mapping import Mapper


@dataclass(frozen=True)
class _Number:
    """What a variable of a rule stands for: whose number, times what, and whether the scale can
    be changed in app.toml."""

    whose: str
    scale: int
    parameter: str | None = None


def scale_faults(
    reading: Reading, request: Request, template: TemplateVersion, say: Findings
) -> Iterator[Finding]:
    """Comparisons of a field's values with those of a parameter that mean another unit."""
    mapper = Mapper(request)
    fields = {
        mapper.predicate(iri.value): _Number(
            f"`{name_of(kind)}.{name}`", request.scales.get(scaled, 1)
        )
        for kind in template.kinds.described
        for name, iri, _datatype in kind.properties
        if kind.fields[name].is_number and (scaled := mapper.predicate(iri.value))
    }
    parameters: dict[str | None, _Number] = {
        name: _Number(f"the parameter `{name}`", parameter.scale, name)
        for name, parameter in template.parameters.items()
        if isinstance(parameter, NumberParameter)
    }
    for rule in reading.rules:
        yield from _of_rule(rule, {**parameters, **fields}, say)


def _of_rule(rule: Node, known: Mapping[str | None, _Number], say: Findings) -> Iterator[Finding]:
    means: dict[str, _Number] = {}
    for atom in of_rule(body_atoms(rule)):
        number, arguments = known.get(atom.name), atom.many("arguments")
        if number is None or signature(atom).arity < 2 or arguments[1].kind != ASTType.Variable:
            continue
        before = means.setdefault(arguments[1].name, number)
        yield from _fault(arguments[1], before, number, say)
    for node in rule.walk():
        if node.kind != ASTType.Comparison:
            continue
        terms = [node.one("term"), *(guard.one("term") for guard in node.many("guards"))]
        plain = [term for term in terms if term.kind == ASTType.Variable and term.name in means]
        for left, right in pairwise(plain):
            yield from _fault(left, means[left.name], means[right.name], say)


def _fault(node: Node, one: _Number, other: _Number, say: Findings) -> Iterator[Finding]:
    if one.scale == other.scale or (one.parameter is None) == (other.parameter is None):
        return
    field, parameter = (one, other) if one.parameter is None else (other, one)
    message = (
        f"{field.whose} is in rules times {field.scale}, {parameter.whose} times "
        f"{parameter.scale}: they are compared as if they were one unit"
    )
    step = f"write `step = {1 / field.scale:g}` at the parameter in app.toml, or "
    said = step if str(field.scale).strip("0") == "1" else ""  # A parameter's is a power of ten.
    yield say.error(node, "scale", f"{message}; {said}multiply in the rule")
