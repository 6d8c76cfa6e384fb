"""What the statements of a program say: its predicates, what each derives and what it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from clingo.ast import AST, ASTType, Sign, parse_string

from citywise.reasoning.asp.syntax import Constants, Node, copy
from citywise.reasoning.errors import ItemError
from citywise.reasoning.model.atoms import ground
from citywise.reasoning.model.request import Signature


@dataclass(frozen=True)
class RuleFacts:
    """Predicates of a program, by the side of the rule they stand on."""

    derived: frozenset[Signature]
    used: frozenset[Signature]
    priorities: tuple[int, ...]


def inspect(statements: Sequence[Node], facts: Iterable[Signature] = ()) -> RuleFacts:
    """Collect predicates, those of plain `facts` included, and priorities."""
    derived = set(facts)
    used: set[Signature] = set()
    priorities: set[int] = set()
    constants = Constants(statements)
    for statement in statements:
        derived.update(s for atom in head_atoms(statement) for s in atom_signatures(atom))
        used.update(s for atom in body_atoms(statement) for s in atom_signatures(atom))
        if statement.kind == ASTType.Minimize:
            number = constants.number(statement.one("priority"))
            priorities |= {number} if number is not None else set()
    ordered = tuple(sorted(priorities, reverse=True))
    return RuleFacts(frozenset(derived), frozenset(used), ordered)


def atoms(node: Node) -> Iterator[Node]:
    """The atoms in it."""
    return (part for part in node.walk() if part.kind == ASTType.SymbolicAtom)


def atom_signatures(atom: Node) -> Iterator[Signature]:
    """The predicate of an atom; several for a pool such as `p(1;2,3)`."""
    symbol, sign = atom.one("symbol"), ""
    while symbol.kind == ASTType.UnaryOperation:
        symbol, sign = symbol.one("argument"), "-"
    if symbol.kind == ASTType.Pool:
        for argument in symbol.many("arguments"):
            yield Signature(sign + argument.name, len(argument.many("arguments")))
    elif symbol.kind == ASTType.Function:
        yield Signature(sign + symbol.name, len(symbol.many("arguments")))
    elif symbol.kind == ASTType.SymbolicTerm:
        yield Signature(sign + str(symbol), 0)


def head_atoms(statement: Node) -> Iterator[Node]:
    """Atoms a rule derives; conditions behind `:` in its head are not derived."""
    return _derived(statement.one("head")) if statement.kind == ASTType.Rule else iter(())


def _derived(head: Node) -> Iterator[Node]:
    if head.kind == ASTType.HeadAggregate:
        for element in head.many("elements"):
            yield from atoms(element.one("condition").one("literal"))
    elif head.kind in (ASTType.Aggregate, ASTType.Disjunction):
        for element in head.many("elements"):
            yield from atoms(element.one("literal"))
    else:
        yield from atoms(head)


def body_atoms(statement: Node) -> Iterator[Node]:
    """Atoms a statement looks at: those of its body and of the conditions in its head."""
    for part in statement.many("body"):
        yield from atoms(part)
    if statement.kind == ASTType.Rule:
        for node in statement.one("head").walk():
            if node.kind == ASTType.ConditionalLiteral:
                for part in node.many("condition"):
                    yield from atoms(part)


StatementKind = Literal[
    "normal", "choice", "disjunction", "constraint", "preference", "show", "other"
]
"""`constraint` is every rule that derives nothing, `show` a statement that shows terms,
`other` a statement that speaks of the whole program (`#external`, `#edge`, …)."""

_CHOICES = (ASTType.Aggregate, ASTType.HeadAggregate)
_COMMON = (ASTType.Definition, ASTType.Defined, ASTType.Program, ASTType.ShowSignature)
_KINDS: dict[ASTType, StatementKind] = {
    ASTType.Minimize: "preference",
    ASTType.ShowTerm: "show",
}
Labels = Mapping[tuple[int, int], str]
"""Labels of rules by line and column of the rule."""


@dataclass(frozen=True, eq=False)
class AspRule:
    """A rule, a preference or a shown term."""

    name: str
    """Its label, or the line on which it begins."""
    line: int
    kind: StatementKind
    head: frozenset[Signature]
    """Predicates it derives."""
    body: frozenset[Signature]
    """Predicates it reads, wherever they stand."""
    tree: Node

    @property
    def cited(self) -> str:
        """How messages call it."""
        return f"line {self.name}" if self.name[:1].isdigit() else f"({self.name})"

    @property
    def text(self) -> str:
        """The statement in clingo's language, on a line of its own."""
        return f"{self.tree}\n"


@dataclass(frozen=True)
class Statements:
    """A program taken apart."""

    rules: tuple[AspRule, ...]
    common: str
    """What every part of the program needs: constants and what may stay undefined."""
    shows: frozenset[Signature] | None
    """Predicates that are shown; None: all of them."""
    definitions: tuple[Node, ...]
    """The `#const` statements."""
    facts: str = ""
    """Plain facts among the rules, one `atom.` a line: they are dealt out as data are."""
    known: frozenset[Signature] = frozenset()
    """Predicates of those facts."""

    @property
    def constants(self) -> frozenset[str]:
        """Names that `#const` gives a value."""
        return frozenset(node.name for node in self.definitions)

    @property
    def constants_text(self) -> str:
        """The `#const` statements, one a line."""
        return "".join(f"{node}\n" for node in self.definitions)

    def has_fixed_priority(self, preference: AspRule) -> bool:
        """Whether a preference's priority is a number before anything is ground."""
        constants = Constants([*self.definitions, preference.tree])
        return constants.number(preference.tree.one("priority")) is not None

    @property
    def predicates(self) -> frozenset[Signature]:
        """All predicates that the rules and facts mention."""
        return self.known.union(*(rule.head | rule.body for rule in self.rules))


def read(program: str, labels: Labels | None = None) -> Statements:
    """Take a program's text apart; `labels` name its rules."""
    trees: list[AST] = []
    parse_string(program, trees.append, logger=lambda _code, _words: None)
    nodes = [copy(tree) for tree in trees]
    names = _Names(labels or {})
    # A fact that is written twice is one; and facts are many, so they are kept as text.
    facts = {fact: node for node in nodes if (fact := _fact(node)) is not None}
    stated = {id(node) for node in facts.values()}
    rules = [n for n in nodes if n.kind not in _COMMON and id(n) not in stated]
    common = [n for n in nodes if n.kind in (ASTType.Definition, ASTType.Defined)]
    return Statements(
        tuple(_rule(node, names) for node in rules),
        "".join(f"{n}\n" for n in common),
        _shown_signatures(nodes),
        tuple(n for n in nodes if n.kind == ASTType.Definition),
        "".join(f"{fact}.\n" for fact in facts),
        frozenset(_signatures(atom for n in facts.values() for atom in head_atoms(n))),
    )


def _fact(node: Node) -> str | None:
    """The ground atom a statement states, in clingo's spelling; None if it says more."""
    if node.kind != ASTType.Rule or node.many("body"):
        return None
    head = node.one("head")
    if head.kind != ASTType.Literal or head.origin.sign != Sign.NoSign:
        return None
    try:
        # Intervals, pools and arithmetic are no plain facts: clingo makes several of them, or one
        # with another text.
        return ground(str(head))
    except ItemError:
        return None


def _shown_signatures(nodes: Sequence[Node]) -> frozenset[Signature] | None:
    found = [n.origin for n in nodes if n.kind == ASTType.ShowSignature]
    if not found:
        return None
    named = (n for n in found if n.name)  # `#show.` names none, and hides the others
    return frozenset(Signature(("" if n.positive else "-") + n.name, n.arity) for n in named)


class _Names:
    """Names of rules: labels, else lines, with the column where a line has several."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        self._given: set[str] = set()

    def of(self, node: Node) -> str:
        name = self._labels.get((node.line, node.column)) or str(node.line)
        if name in self._given:
            name = f"{node.line}:{node.column}"
        unique, number = name, 2
        while unique in self._given:  # the elements of a `#minimize` begin at one place
            unique, number = f"{name}.{number}", number + 1
        self._given.add(unique)
        return unique


def _rule(node: Node, names: _Names) -> AspRule:
    heads = frozenset(_signatures(derived(node)))
    read = frozenset(_signatures([*body_atoms(node), *_refused(node)]))
    return AspRule(names.of(node), node.line, _kind(node), heads, read, node)


def _kind(node: Node) -> StatementKind:
    if node.kind != ASTType.Rule:
        return _KINDS.get(node.kind, "other")
    head = node.one("head")
    if head.kind in _CHOICES:
        return "choice"
    if head.kind == ASTType.Disjunction:
        return "disjunction"
    return "normal" if any(True for _ in derived(node)) else "constraint"


def derived(node: Node) -> Iterator[Node]:
    """The atoms a statement derives: `not a` in a head derives nothing."""
    refused = {id(atom) for atom in _refused(node)}
    return (atom for atom in head_atoms(node) if id(atom) not in refused)


def _refused(node: Node) -> Iterator[Node]:
    """The atoms of a head that stand behind `not`."""
    if node.kind == ASTType.Rule:
        for part in node.one("head").walk():
            if part.kind == ASTType.Literal and part.origin.sign != Sign.NoSign:
                yield from atoms(part)


def _signatures(found: Sequence[Node] | Iterator[Node]) -> Iterator[Signature]:
    return (signature for atom in found for signature in atom_signatures(atom))
