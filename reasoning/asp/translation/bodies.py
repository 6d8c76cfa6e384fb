"""Bodies of C-ASP's rules as literals of the incremental engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TypeAlias

from clingo.ast import ASTType, ComparisonOperator, Sign

from citywise.reasoning.asp.rules import atom_signatures
from citywise.reasoning.asp.syntax import Node, Terms, variables
from citywise.reasoning.errors import ReasoningError
from citywise.reasoning.model.joins import Patterns, is_known, matchable, variables_of
from citywise.reasoning.model.rules import (
    OPPOSITE,
    Absent,
    Between,
    Comparator,
    Compare,
    Holds,
    Literal,
    Operator,
    Rule,
    Scan,
)
from citywise.reasoning.model.values import Compound, Computed, Constant, Term, Value, Variable
from citywise.reasoning.model.values import variables as variables_in


def binding(needed: frozenset[str], available: Iterable[Literal]) -> tuple[Literal, ...] | None:
    """A smallest part of a body that gives variables values; None if nothing gives them.

    Literals that bring other variables are left out first.
    """
    used = grounded(literal for literal in available if _binds(literal))
    if not needed <= names(used):
        return None
    # Fewer literals mean fewer joins to keep the groups up to date, and fewer groups with
    # variables nobody asks about. Smallest here means that none can be left out; the least of all
    # would take exponential time.
    for literal in sorted(used, key=lambda each: -len(names([each]) - needed)):
        rest = grounded(each for each in used if each is not literal)
        if needed <= names(rest):
            used = rest
    return tuple(used)


def grounded(literals: Iterable[Literal]) -> list[Literal]:
    """The literals, as far as they give each other's variables values."""
    # Round by round, since a literal may get its values from one written after it.
    left, used, known = list(literals), list[Literal](), frozenset[str]()
    while True:
        ready = [literal for literal in left if _is_ready(literal, known)]
        if not ready:
            return used
        used += ready
        known |= names(ready)
        taken = frozenset(ready)
        left = [literal for literal in left if literal not in taken]


def names(literals: Sequence[Literal]) -> frozenset[str]:
    """Names of the variables in literals."""
    return frozenset().union(*map(variables_of, literals))


def names_of(terms: Iterable[Term]) -> frozenset[str]:
    """Names of the variables in terms."""
    return frozenset().union(*map(variables_in, terms))


def _binds(literal: Literal) -> bool:
    if isinstance(literal, Compare):
        return literal.comparator == "="
    return isinstance(literal, Scan | Between)


def _is_ready(literal: Literal, known: frozenset[str]) -> bool:
    match literal:
        case Scan(_, terms):
            return all(matchable(term, known) for term in terms)
        case Compare("=", left, right):
            return (is_known(left, known) and matchable(right, known)) or (
                is_known(right, known) and matchable(left, known)
            )
        case Between(term, low, high):
            return is_known(low, known) and is_known(high, known) and matchable(term, known)
    return names([literal]) <= known


COMPARATORS: dict[int, Comparator] = {
    int(ComparisonOperator.Equal): "=",
    int(ComparisonOperator.NotEqual): "!=",
    int(ComparisonOperator.LessThan): "<",
    int(ComparisonOperator.LessEqual): "<=",
    int(ComparisonOperator.GreaterThan): ">",
    int(ComparisonOperator.GreaterEqual): ">=",
}
AtomLiteral: TypeAlias = Scan | Absent | Holds
ANONYMOUS = "_"


class UnsupportedError(ReasoningError):
    """A statement is not in the fragment; the message names it and says why."""


class Draft:
    """What a statement becomes: rules, operators, and relations of its own.

    `shared` are rules that several statements may need, by the relation they derive.
    """

    def __init__(self, name: str, constants: Mapping[str, Value]) -> None:
        self.name = name
        self.rules: list[Rule] = []
        self.operators: list[Operator] = []
        self.shared: dict[str, Rule] = {}
        self.constants = constants
        self._numbers = count(1)

    def relation(self, kind: str) -> str:
        """A relation of the statement's own, which no predicate is called."""
        # `#` and the spaces are in no predicate's name; the statement's name makes it readable in
        # messages and unlike any other statement's.
        return f"#{kind} {self.name} {next(self._numbers)}"

    def rule(self, head: str, terms: tuple[Term, ...], body: tuple[Literal, ...]) -> None:
        """Add a rule."""
        # The engine knows fewer ways than clingo to give variables values: some rules that are
        # safe are left to the solver here.
        unsafe = names_of(terms).union(names(body)) - names(grounded(body))
        if unsafe:
            raise UnsupportedError(unbound(unsafe))
        self.rules.append(Rule(head, terms, body, self.name))


class Reader(Terms):
    """Reads the terms of a rule; an interval is a variable with a range in `ranges`."""

    def __init__(self, constants: Mapping[str, Value]) -> None:
        super().__init__(constants)
        self.ranges: list[Between] = []
        self._numbers = count(1)

    def fresh(self) -> str:
        """A name that no variable of the rule begins with."""
        return f"#{next(self._numbers)}."

    def read(self, node: Node) -> Term:
        """See `Terms`."""
        if node.kind != ASTType.Interval:
            return super().read(node)
        # `p(1..N)` is `p(X)` with X from 1 to N. The ranges are collected, for terms are read in
        # the midst of literals, and `Scope.term` adds them to the body.
        low, high = map(self.read, node.children)
        within = Variable(self.fresh())
        self.ranges.append(Between(within, low, high))
        return within


class Scope:
    """A body that is being put together: a rule's, or a condition's within one."""

    def __init__(self, draft: Draft, reader: Reader) -> None:
        self.literals: list[Literal] = []
        self.never = False
        """Whether it holds `#false`."""
        self._draft = draft
        self._reader = reader
        self._patterns = Patterns(reader.fresh())

    def term(self, node: Node) -> Term:
        """A term whose variables have their values elsewhere."""
        found = self._reader.read(node)
        if _has_no_value(found):
            raise UnsupportedError(f"computes what has no value: `{node}`")
        self.literals += self._reader.ranges
        self._reader.ranges.clear()
        return found

    def pattern(self, node: Node) -> Term:
        """A term that may give its variables their values."""
        found = self._patterns.match(self.term(node))
        self._take_compares()
        return found

    def equate(self, pattern: Term, term: Term) -> None:
        """A pattern equals a term; either may give the other's variables their values."""
        self._patterns.equate(pattern, term)
        self._take_compares()

    def literal(self, node: Node, sign: Sign | None = None) -> AtomLiteral | None:
        """Add a literal, with another sign if one is given; an atom's is returned."""
        sign = Sign(node.origin.sign) if sign is None else sign
        atom = node.one("atom")
        if atom.kind == ASTType.SymbolicAtom:
            return self._atom(atom, sign)
        if atom.kind == ASTType.Comparison:
            self._comparison(atom, sign)
        elif atom.kind == ASTType.BooleanConstant:
            self.never |= bool(atom.origin.value) == (sign == Sign.Negation)
        else:
            raise UnsupportedError(f"holds `{atom}`")
        return None

    def _take_compares(self) -> None:
        self.literals += self._patterns.compares
        self._patterns.compares.clear()

    def _atom(self, atom: Node, sign: Sign) -> AtomLiteral:
        relation, arguments = predicate(atom)
        found: AtomLiteral
        if sign == Sign.NoSign:
            found = Scan(relation, tuple(map(self.pattern, arguments)))
        elif ANONYMOUS in variables(atom):
            found = self._projected(relation, arguments, sign)
        else:
            found = signed(relation, tuple(map(self.term, arguments)), sign)
        self.literals.append(found)
        return found

    def _projected(self, relation: str, arguments: tuple[Node, ...], sign: Sign) -> AtomLiteral:
        """`not p(X,_)` says that there is no `p(X,Y)` for any `Y`."""
        # A negated literal must be ground. Its projection is a relation without what `_` stands
        # for, named by its shape, so that all statements with that shape share it.
        projection = Projection()
        patterns = tuple(map(projection.pattern, arguments))
        name = f"#projection {relation}({','.join(map(_shape, patterns))})"
        kept = tuple(Variable(f"k{n}") for n in range(len(projection.kept)))
        self._draft.shared[name] = Rule(name, kept, (Scan(relation, patterns),), self._draft.name)
        return signed(name, tuple(map(self.term, projection.kept)), sign)

    def _comparison(self, node: Node, sign: Sign) -> None:
        """A chain such as `1 < X < Y`; a negated one has but one comparison here."""
        nodes = [node.one("term"), *(guard.one("term") for guard in node.many("guards"))]
        signs = [COMPARATORS[int(g.origin.comparison)] for g in node.many("guards")]
        if sign == Sign.Negation:
            if len(signs) > 1:
                raise UnsupportedError(f"negates several comparisons at once: `not {node}`")
            signs = [OPPOSITE[signs[0]]]
        # The commonest use of an interval; as any other it would be a range for a new variable
        # and a comparison with that.
        if signs == ["="] and self._range(*nodes):
            return
        terms = list(map(self.term, nodes))
        for number, comparator in enumerate(signs):
            self._compare(comparator, terms[number], terms[number + 1])

    def _range(self, left: Node, right: Node) -> bool:
        """`X = 1..3`, which needs no second variable."""
        if right.kind != ASTType.Interval:
            return False
        low, high = map(self.term, right.children)
        self.literals.append(Between(self.pattern(left), low, high))
        return True

    def _compare(self, comparator: Comparator, left: Term, right: Term) -> None:
        if comparator == "=":
            # Of an equation one side must be a pattern without arithmetic, against which the
            # other is solved; where both compute, the right one gets a variable for what it
            # computes.
            pattern = self._patterns.match(right) if _is_computed(left) else right
            if _is_computed(pattern):
                self.equate(left, pattern)
            else:
                self.equate(pattern, left)
        else:
            self.literals.append(Compare(comparator, left, right))


class Projection:
    """Atoms without what `_` stands for: patterns, and the terms that are `kept`."""

    def __init__(self) -> None:
        self.kept: list[Node] = []
        self._anonymous = 0

    def pattern(self, node: Node) -> Term:
        """A term with a variable for each largest part without `_`, `k0`, `k1`, …"""
        if ANONYMOUS not in variables(node):
            self.kept.append(node)
            return Variable(f"k{len(self.kept) - 1}")
        if node.kind == ASTType.Variable:
            self._anonymous += 1
            return Variable(f"_{self._anonymous}")
        if node.kind != ASTType.Function:
            raise UnsupportedError(f"computes with `_`: `{node}`")
        return Compound(node.name, tuple(map(self.pattern, node.children)))


def predicate(atom: Node) -> tuple[str, tuple[Node, ...]]:
    """An atom's relation and its arguments."""
    symbol = atom.one("symbol")
    while symbol.kind == ASTType.UnaryOperation:
        symbol = symbol.one("argument")
    (signature,) = atom_signatures(atom)
    return str(signature), symbol.many("arguments") if symbol.kind == ASTType.Function else ()


def signed(relation: str, terms: tuple[Term, ...], sign: Sign) -> AtomLiteral:
    """A literal whose variables have their values elsewhere."""
    return Absent(relation, terms) if sign == Sign.Negation else Holds(relation, terms)


def named(*nodes: Node) -> frozenset[str]:
    """Names of variables, `_` aside."""
    return frozenset().union(*map(variables, nodes)) - {ANONYMOUS}


def unbound(unsafe: frozenset[str]) -> str:
    """What a rule does whose variables get no values here."""
    written = sorted(name for name in unsafe if name.strip("_")[:1].isupper())
    return f"leaves {', '.join(written) or 'a term'} without a value"


def _is_computed(term: Term) -> bool:
    if isinstance(term, Compound):
        return any(map(_is_computed, term.arguments))
    return isinstance(term, Computed)


def _has_no_value(term: Term) -> bool:
    """Whether arithmetic fails whatever its variables are: `X/0`, `X+a`."""
    if isinstance(term, Compound):
        return any(map(_has_no_value, term.arguments))
    if not isinstance(term, Computed):
        return False
    if any(map(_has_no_value, term.arguments)):
        return True
    if term.operation in ("/", "\\") and term.arguments[1] == Constant(0):
        return True
    # `-a` of a constant is its classical negation and has a value; other arithmetic over what is
    # no number has none.
    return term.operation != "neg" and not all(map(_may_be_number, term.arguments))


def _may_be_number(term: Term) -> bool:
    if isinstance(term, Constant):
        return isinstance(term.value, int)
    return not isinstance(term, Compound)


def _shape(term: Term) -> str:
    match term:
        case Variable(name):
            return "_" if name.startswith("_") else name
        case Compound(name, arguments):
            return f"{name}({','.join(map(_shape, arguments))})"
    return str(term)
