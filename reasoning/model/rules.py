"""What the incremental engine evaluates: rules and operators over named relations.

The model is that of no language: a relation is a set of rows, each with a horizon, the last
point of time up to which it is known to hold (Laser, Definition 7). Front ends name their
relations as they like; a name stands for one arity. Rules are evaluated stratum by stratum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal as OneOf
from typing import TypeAlias, TypeVar

from citywise.reasoning.errors import ReasoningError
from citywise.reasoning.model.values import (
    Compound,
    Computed,
    Constant,
    Row,
    Term,
    Value,
    Variable,
    variables,
    with_terms,
)

# No predicate's name begins with `#`: relations that translations and engines add cannot be
# mistaken for a program's.
CLOCK = "#now"
"""The relation of one row `(now,)`, the point of time that is evaluated."""
FALSE = "#false"
"""The relation without arguments that constraints derive: while its row holds there is no
answer."""

Fact: TypeAlias = tuple[str, Row]
"""A relation's name and one of its rows."""
Comparator: TypeAlias = OneOf["=", "!=", "<", "<=", ">", ">="]
OPPOSITE: Mapping[Comparator, Comparator] = {
    "=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
"""What holds where a comparison does not."""
Function: TypeAlias = OneOf["count", "sum", "sum+", "min", "max"]


@dataclass(frozen=True)
class Scan:
    """A row of the relation matches the terms; gives its variables values."""

    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Absent:
    """No row of the relation equals the terms, whose variables have values elsewhere."""

    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Holds:
    """A row equals the terms, whose variables have values elsewhere: `not not p`. What it
    depends on must be complete before, as with `Absent`."""

    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Compare:
    """A comparison in clingo's order of terms. `=` gives a variable on one side, or those of
    a compound, the values of the other side."""

    comparator: Comparator
    left: Term
    right: Term


@dataclass(frozen=True)
class Between:
    """An integer from `low` to `high`, both inclusive; `term` gets it, or has it."""

    term: Term
    low: Term
    high: Term


@dataclass(frozen=True)
class Call:
    """What a function of Python says of the arguments, whose variables have values elsewhere.

    The function is pure and total: it gives a value, or None where it has none; an instance
    of a rule in which it has none does not exist. `result` gets the value, or has it; without
    it the literal holds where the value is not None.
    """

    function: Callable[..., Value | None]
    arguments: tuple[Term, ...]
    result: Term | None = None
    name: str = ""
    """For messages."""


Looked: TypeAlias = Scan | Absent | Holds
"""A literal that looks at a relation."""
Literal: TypeAlias = Looked | Compare | Between | Call


@dataclass(frozen=True)
class Rule:
    """The head's row holds while all of the body does.

    `until` ends it earlier, at the value of a term (an integer) plus a number: the last
    point of time at which it may hold.
    """

    head: str
    terms: tuple[Term, ...]
    body: tuple[Literal, ...] = ()
    name: str = ""
    """For messages: label or line."""
    until: tuple[Term, int] | None = None

    @property
    def looks(self) -> dict[int, Looked]:
        """The literals that look at relations, by their places in the body."""
        body = enumerate(self.body)
        return {place: each for place, each in body if isinstance(each, Scan | Absent | Holds)}


@dataclass(frozen=True)
class Aggregate:
    """For each row `G` of `groups` a row `G + (value,)` of `result`.

    The value is that of `function` over the set of tuples `T` in the rows `G + (T,)` of
    `elements`, where each `T` is a tuple of ASP (`("", weight, …)`). A weight that is no
    number counts for nothing in a sum; without elements a count and a sum are 0, `min` is
    `#sup` and `max` is `#inf`.
    """

    result: str
    groups: str
    elements: str
    function: Function

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations it looks at."""
        return self.groups, self.elements


@dataclass(frozen=True)
class Always:
    """A row `X` of `result` while `timed` has `X + (t,)` for each `t` of a window.

    The window is [max(first, now - width), now - gap], where `first` is the first point of time
    that was evaluated: ⊞ⁿ□ (Laser, Definition 3). There is no row while it has no `t`.
    """

    result: str
    timed: str
    width: int
    gap: int = 0

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations it looks at."""
        return (self.timed,)


@dataclass(frozen=True)
class Lasting:
    """A row `X + (s,)` of `result` while `timed` has `X + (t,)` for each `t` from `s` to now, and
    not for `s - 1`, as far as that is in the window [now - width, now].
    """

    result: str
    timed: str
    width: int

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations it looks at."""
        return (self.timed,)


Operator: TypeAlias = Aggregate | Always | Lasting


@dataclass(frozen=True)
class Program:
    """Rules, operators, and the relations that are filled from outside."""

    rules: tuple[Rule, ...]
    operators: tuple[Operator, ...] = ()
    inputs: frozenset[str] = frozenset()
    """Relations that `insert` fills; rules may derive rows of them as well."""
    name: str = ""
    """For messages."""
    outputs: frozenset[str] = field(default_factory=frozenset)
    """Relations whose changes are asked for."""


_GIVEN = "#given "
"""Before the name of a relation: what of it comes from outside."""


def without_copies(program: Program) -> tuple[Program, dict[str, str]]:
    """The program, and the names under which the relations it left out are found.

    A relation derived by one rule that passes rows on as they are needs no rows of its own.
    """
    names = _copies(program)
    if not names:
        return program, {}
    # Heads need no new name: the only rule of a copy is left out.
    rules = tuple(_renamed(rule, names) for rule in program.rules if rule.head not in names)
    operators = tuple(_operator(operator, names) for operator in program.operators)
    return replace(program, rules=rules, operators=operators), names


def with_sources(program: Program) -> tuple[Program, dict[str, str]]:
    """The program with a relation of its own for what is inserted into a derived one, and
    the names of those relations."""
    # What was inserted can be retracted; what is derived stays while its rule says so. In one
    # relation a retraction would take out rows that still follow, so what comes from outside has
    # a relation of its own, and a rule copies it.
    derived = {rule.head for rule in program.rules}
    arities = {rule.head: len(rule.terms) for rule in program.rules}
    mixed = sorted(program.inputs & derived)
    sources = {name: _GIVEN + name for name in mixed}
    copies = tuple(copied(name, sources[name], arities[name]) for name in mixed)
    inputs = program.inputs - derived | frozenset(sources.values())
    return replace(program, rules=program.rules + copies, inputs=inputs), sources


def substituted(literal: Literal, values: Mapping[str, Term]) -> Literal:
    """A scan, comparison or call with terms in the place of variables."""

    def term(found: Term) -> Term:
        return with_terms(found, lambda variable: values.get(variable.name, variable))

    match literal:
        case Scan(_, terms) | Absent(_, terms):
            return replace(literal, terms=tuple(map(term, terms)))
        case Compare(_, left, right):
            return replace(literal, left=term(left), right=term(right))
        case Call(_, arguments, result):
            changed = None if result is None else term(result)
            return replace(literal, arguments=tuple(map(term, arguments)), result=changed)
    raise TypeError(literal)


def copied(head: str, body: str, arity: int) -> Rule:
    """The rule by which a relation has the rows of another."""
    terms = tuple(Variable(f"X{number}") for number in range(arity))
    return Rule(head, terms, (Scan(body, terms),))


def _copies(program: Program) -> dict[str, str]:
    """Relations that are another by their only rule, and that other."""
    # Only who has rows from nowhere else is a copy: not inputs, results of operators, nor the
    # clock, which the engine fills.
    heads = Counter(rule.head for rule in program.rules)
    results = {operator.result for operator in program.operators}
    names = {
        rule.head: scan.relation
        for rule in program.rules
        if heads[rule.head] == 1
        and rule.head not in program.inputs | results | {CLOCK}
        and (scan := _passed_on(rule)) is not None
    }
    # A circle (`p :- q. q :- p.`) is empty, but who reads it must find a relation: it keeps its
    # rules.
    return {name: end for name, end in _ends(names).items() if end is not None}


def _ends(names: Mapping[str, str]) -> dict[str, str | None]:
    """What each copies in the end of its chain; None for a circle, which is empty."""
    ends: dict[str, str | None] = {}
    for name in names:
        # A chain is walked once and its end noted for all of it, so long chains stay linear.
        chain: dict[str, None] = {}
        while name in names and name not in ends and name not in chain:
            chain[name] = None
            name = names[name]
        end = None if name in chain else ends.get(name, name)
        ends.update(dict.fromkeys(chain, end))
    return {name: ends[name] for name in names}


def _passed_on(rule: Rule) -> Scan | None:
    if len(rule.body) != 1 or rule.until is not None:
        return None
    (literal,) = rule.body
    if not isinstance(literal, Scan) or literal.terms != rule.terms:
        return None
    named = {term.name for term in rule.terms if isinstance(term, Variable)}
    return literal if len(named) == len(rule.terms) else None


def _renamed(rule: Rule, names: Mapping[str, str]) -> Rule:
    return replace(rule, body=tuple(_literal(literal, names) for literal in rule.body))


def _literal(literal: Literal, names: Mapping[str, str]) -> Literal:
    if isinstance(literal, Scan | Absent | Holds) and literal.relation in names:
        return replace(literal, relation=names[literal.relation])
    return literal


def _operator(operator: Operator, names: Mapping[str, str]) -> Operator:
    if isinstance(operator, Aggregate):
        groups = names.get(operator.groups, operator.groups)
        elements = names.get(operator.elements, operator.elements)
        return replace(operator, groups=groups, elements=elements)
    return replace(operator, timed=names.get(operator.timed, operator.timed))


Vertex = TypeVar("Vertex", bound=Hashable)


def reached(
    starts: Iterable[Vertex], following: Mapping[Vertex, Iterable[Vertex]]
) -> frozenset[Vertex]:
    """The nodes to which a path leads from one of `starts`, these among them."""
    found = set(starts)
    waiting = list(found)
    while waiting:
        new = set(following.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return frozenset(found)


class StratificationError(ReasoningError):
    """A relation depends on its own absence or aggregate; `loop` names the relations."""

    def __init__(self, loop: tuple[str, ...]) -> None:
        super().__init__("a loop through negation: " + " -> ".join(loop))
        self.loop = loop


class NestingError(ReasoningError):
    """A rule may nest terms deeper and deeper, for which the engine is not made."""


def components(program: Program) -> tuple[frozenset[str], ...]:
    """Relations that depend on one another, each after those it depends on.

    Raises `StratificationError`, and `NestingError` for a rule that builds terms of what it
    derives: Python's own recursion over them would end the process.
    """
    edges, strict = _edges(program)
    found = tuple(strong(edges))
    for component in found:
        for head, body in strict:
            if head in component and body in component:
                raise StratificationError(_path(edges, body, head))
    own = {relation: component for component in found for relation in component}
    for rule in program.rules:
        if builds_terms(rule) and any(
            isinstance(literal, Scan) and own[literal.relation] is own[rule.head]
            for literal in rule.looks.values()
        ):
            raise NestingError(f"rule {rule.name} may nest terms deeper and deeper")
    return found


def builds_terms(rule: Rule) -> bool:
    """Whether a rule puts values of its variables into functions or tuples."""
    built = [*rule.terms]
    for literal in rule.body:
        if isinstance(literal, Compare):
            built += [literal.left, literal.right]
    return any(isinstance(term, Compound) and variables(term) for term in built)


def has_functions(rule: Rule) -> bool:
    """Whether a rule may say functions of values that its body has none of."""
    said = [*rule.terms]
    for literal in rule.body:
        if isinstance(literal, Call):
            return True
        if isinstance(literal, Compare):
            said += [literal.left, literal.right]
    return any(map(_has_function, said))


def _has_function(term: Term) -> bool:
    if isinstance(term, Computed):
        return any(map(_has_function, term.arguments))
    return isinstance(term, Compound) or (
        isinstance(term, Constant) and isinstance(term.value, tuple)
    )


Edges = dict[str, list[str]]


def _edges(program: Program) -> tuple[Edges, list[tuple[str, str]]]:
    """What each relation reads, and the pairs of which the second must be complete first."""
    # Sorted, as everywhere where order could come from a set: the order of components decides
    # that of evaluation and of plans, which must not depend on hash seeds.
    edges: Edges = {name: [] for name in (CLOCK, *sorted(program.inputs))}
    strict: list[tuple[str, str]] = []
    for rule in program.rules:
        reads = edges.setdefault(rule.head, [])
        for literal in rule.looks.values():
            reads.append(literal.relation)
            edges.setdefault(literal.relation, [])
            if not isinstance(literal, Scan):
                strict.append((rule.head, literal.relation))
    for operator in program.operators:
        edges.setdefault(operator.result, []).extend(operator.reads)
        for relation in operator.reads:
            edges.setdefault(relation, [])
            strict.append((operator.result, relation))
    return edges, strict


def strong(edges: Mapping[Vertex, Iterable[Vertex]]) -> Iterator[frozenset[Vertex]]:
    """Strongly connected components, dependencies first (Tarjan, without recursion)."""
    index: dict[Vertex, int] = {}
    low: dict[Vertex, int] = {}
    stack: list[Vertex] = []
    open_: set[Vertex] = set()
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        open_.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    open_.add(target)
                    work.append((target, iter(edges[target])))
                    break
                if target in open_:
                    low[node] = min(low[node], index[target])
            # All that the node leads to is done; if none of it leads further back than the node
            # itself, a component ends here.
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = set()
                    while node not in component:
                        component.add(stack.pop())
                    open_ -= component
                    yield frozenset(component)


def _path(edges: Edges, start: str, end: str) -> tuple[str, ...]:
    """A way along dependencies from one relation to another, and back to the first."""
    # Breadth first: the message shows a shortest loop.
    ways: dict[str, tuple[str, ...]] = {start: (start,)}
    todo = [start]
    for node in todo:
        if node == end:
            break
        for target in edges[node]:
            if target not in ways:
                ways[target] = (*ways[node], target)
                todo.append(target)
    return (*ways[end], start)
