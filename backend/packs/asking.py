"""What of its user's context an instance reads: what its rules can come to with its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from clingo.ast import ASTType, Sign

from citywise.backend.ingest.standing import CONTEXT
from citywise.backend.packs.parameters import ChoiceParameter
from citywise.backend.packs.prepared import prepared
from citywise.backend.packs.rule_atoms import text
from citywise.backend.packs.template import TemplateVersion, Values
from citywise.backend.packs.vocabulary import CONCLUSIONS, PREDICATES
from citywise.reasoning import Signature
from citywise.reasoning.asp import Node, atom_signatures, body_atoms, head_atoms
from citywise.reasoning.rdf.mapping import Mapper

_Chosen = Mapping[str, tuple[str, ...]]
"""Of the parameters that have a value: what was chosen, or nothing where that is no choice."""


def asks(version: TemplateVersion, values: Values | None = None) -> list[str]:
    """What of its user's context an instance with some (bound) values reads, of `CONTEXT`.

    Without values, what any instance may read. A rule that the values rule out reads nothing
    (one with `interest(Me,"area")` where another is chosen), nor does one that leads to no
    conclusion; a route of its own is not the user's.
    """
    if values is None:
        return list(_askable(_Case(version.request_name, version.digest, None, version)))
    chosen = tuple(sorted(_chosen(version, values).items()))
    found = _askable(_Case(version.request_name, version.digest, chosen, version))
    own = version.route(values) is not None
    return [subject for subject in found if subject != "route" or not own]


@dataclass(frozen=True)
class _Case:
    """A template and what was chosen: there are far fewer of them than instances."""

    template: str
    digest: str
    chosen: tuple[tuple[str, tuple[str, ...]], ...] | None
    version: TemplateVersion = field(compare=False)


def _chosen(version: TemplateVersion, values: Values) -> dict[str, tuple[str, ...]]:
    found = {}
    for name, value in values.items():
        is_choice = isinstance(version.parameters[name], ChoiceParameter)
        words = value if isinstance(value, list) else [value]
        found[name] = tuple(map(str, words)) if is_choice else ()
    return found


@lru_cache(maxsize=1000)
def _askable(case: _Case) -> tuple[str, ...]:
    version = prepared(case.version).template  # Its rules are read already.
    rules: Sequence[Node] = version.reading.rules
    if case.chosen is not None:
        given = {*version.reading.facts, *version.supplied}
        chosen = dict(case.chosen)
        held = [rule for rule in rules if not _excludes(version, chosen, rule)]
        rules = _possible(held, _derived(rules) - given)
    mapper = Mapper(version.request)
    properties = {mapper.predicate(iri): told for iri, told in version.told.items()}
    told = [PREDICATES.get(one.name) or properties.get(one.name) for one in _needed(rules)]
    wanted = {permission for one in told if one for permission in one.permissions}
    return tuple(subject for subject in CONTEXT if subject in wanted)


def _excludes(version: TemplateVersion, chosen: _Chosen, rule: Node) -> bool:
    """Whether what was chosen keeps a rule from concluding anything of its instance.

    Only what the rule says of the very instance that it concludes of is looked at: of another
    other choices hold.
    """
    owners = {_owner(atom.one("symbol")) for atom in head_atoms(rule)}
    if len(owners) != 1 or None in owners:
        return False
    (owner,) = owners
    return any(
        _holds(version, chosen, symbol) is (literal.origin.sign == Sign.Negation)
        for literal in rule.many("body")
        if (symbol := _symbol(literal)) is not None and _owner(symbol) == owner
    )


def _symbol(literal: Node) -> Node | None:
    """The predicate with its arguments that a literal is, unless it is something else."""
    if literal.kind != ASTType.Literal or literal.one("atom").kind != ASTType.SymbolicAtom:
        return None
    return literal.one("atom").one("symbol")


def _owner(symbol: Node) -> str | None:
    """The variable that an atom has first, which is the instance it is about."""
    arguments = symbol.many("arguments") if symbol.kind == ASTType.Function else ()
    return arguments[0].name if arguments and arguments[0].kind == ASTType.Variable else None


def _holds(version: TemplateVersion, chosen: _Chosen, symbol: Node) -> bool | None:
    """Whether there is a fact of a parameter such as an atom; None where that is open."""
    parameter = version.parameters.get(symbol.name)
    if parameter is None or not parameter.arity:
        return None
    if symbol.name not in chosen:
        return False
    if all(argument.name == "_" for argument in symbol.many("arguments")[1:]):
        return True
    word = text(symbol, 1) if isinstance(parameter, ChoiceParameter) else None
    return None if word is None else word in chosen[symbol.name]


def _possible(rules: list[Node], derived: set[Signature]) -> list[Node]:
    """The rules without those that need what is `derived` by rules, but by none of them."""
    while True:
        gone = derived - _derived(rules)
        left = [rule for rule in rules if not _demands(rule) & gone]
        if len(left) == len(rules):
            return rules
        rules = left


def _derived(rules: Iterable[Node]) -> set[Signature]:
    return {one for rule in rules for atom in head_atoms(rule) for one in atom_signatures(atom)}


def _demands(rule: Node) -> set[Signature]:
    """Of which predicates there must be facts for a rule to hold."""
    wanted = [literal for literal in rule.many("body") if literal.kind == ASTType.Literal]
    atoms = [one.one("atom") for one in wanted if one.origin.sign == Sign.NoSign]
    found = [list(atom_signatures(a)) for a in atoms if a.kind == ASTType.SymbolicAtom]
    return {signatures[0] for signatures in found if len(signatures) == 1}


def _needed(rules: Iterable[Node]) -> set[Signature]:
    """The predicates that lead to a conclusion, or to none where they must not hold."""
    needed, rest = set(CONCLUSIONS.values()), list(rules)
    while True:
        leading = [rule for rule in rest if _leads(rule, needed)]
        if not leading:
            return needed
        rest = [rule for rule in rest if rule not in leading]
        needed |= {s for rule in leading for a in body_atoms(rule) for s in atom_signatures(a)}


def _leads(rule: Node, needed: set[Signature]) -> bool:
    heads = _derived([rule])
    return not heads or bool(heads & needed)
