"""What numbers rules see: a field's, by its step and range, a parameter's; and where they compare
those of different scales."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from clingo.ast import ASTType

from citywise.backend.city.observations import scaled
from citywise.backend.kinds.registry import name_of
from citywise.backend.packs.numbers import NumberParameter
from citywise.backend.packs.rule_atoms import Findings, of_rule, signature
from citywise.backend.packs.template import TemplateVersion
from citywise.reasoning import Finding, Request
from citywise.reasoning.asp import Node, body_atoms
from citywise.reasoning.languages.casp import Ranges, Reading
from citywise.reasoning.model.carried import timed
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
            f"`{name_of(kind)}.{name}`", request.scales.get(predicate, 1)
        )
        for kind in template.kinds.described
        for name, iri, _datatype in kind.read
        if kind.fields[name].is_number and (predicate := mapper.predicate(iri.value))
    }
    parameters: dict[str | None, _Number] = {
        name: _Number(f"the parameter `{name}`", parameter.scale, name)
        for name, parameter in template.parameters.items()
        if isinstance(parameter, NumberParameter)
    }
    for rule in reading.rules:
        yield from _of_rule(rule, {**parameters, **fields}, say)


_TIMES = 0, 2_000_000_000
"""Unix seconds, until 2033."""
_SUPPLIED = {
    ("now", 0): _TIMES,
    ("ev_start", 1): _TIMES,
    ("ev_level", 1): (1, 5),
    ("time_of_day", 0): (0, 1439),
    ("weekday", 0): (1, 7),
}


def ranges(reading: Reading, template: TemplateVersion) -> Ranges:
    """Between what the numbers are that rules see of fields, parameters and times."""
    request = scaled(reading.request, template.kinds)
    mapper, found = Mapper(request), dict(_SUPPLIED)
    for kind in template.kinds.described:
        for name, iri, _datatype in kind.read:
            about, predicate = kind.fields[name], mapper.predicate(iri.value)
            if about.range is not None and predicate is not None:
                found[predicate, 1] = _times(about.range, request.scales.get(predicate, 1))
    for name, parameter in template.parameters.items():
        if isinstance(parameter, NumberParameter):
            low, high = parameter.lowest, parameter.highest
            if low is not None and high is not None:
                found[name, 1] = _times((low, high), parameter.scale)
    for made in timed(request):
        found[made.name, made.arity - 1] = _TIMES
    return found


def _times(ends: tuple[int | float, int | float], scale: int) -> tuple[int, int]:
    low, high = (round(end * scale) for end in ends)
    return low, high


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
