"""Rules of C-ASP as rules of the incremental engine; aggregates and conditional literals in their
bodies become operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from clingo import ast
from clingo.ast import AST, AggregateFunction, ASTType, ComparisonOperator, Sign

from citywise.reasoning.asp.rules import AspRule
from citywise.reasoning.asp.syntax import ForeignTermError, Node, copy
from citywise.reasoning.asp.translation.bodies import (
    COMPARATORS,
    Draft,
    Reader,
    Scope,
    UnsupportedError,
    binding,
    grounded,
    named,
    names,
    names_of,
    predicate,
    unbound,
)
from citywise.reasoning.model.rules import (
    FALSE,
    OPPOSITE,
    Absent,
    Aggregate,
    Comparator,
    Compare,
    Function,
    Literal,
    Rule,
    Scan,
)
from citywise.reasoning.model.values import Compound, Computed, Constant, Term, Value, Variable

_FUNCTIONS: dict[int, Function] = {
    int(AggregateFunction.Count): "count",
    int(AggregateFunction.Sum): "sum",
    int(AggregateFunction.SumPlus): "sum+",
    int(AggregateFunction.Min): "min",
    int(AggregateFunction.Max): "max",
}
_SUMS = ("sum", "sum+")
_OPPOSITE = {
    Sign.NoSign: Sign.Negation,
    Sign.Negation: Sign.NoSign,
    Sign.DoubleNegation: Sign.Negation,
}
_COMPUTING = (ASTType.Interval, ASTType.BinaryOperation, ASTType.UnaryOperation)
ONE = "#one"
"""The relation of one row, without arguments."""


class Part(ABC):
    """A part of a body with variables of its own; `needs` are those that the rest gives."""

    needs: frozenset[str]

    @abstractmethod
    def build(self, given: tuple[Literal, ...], scope: Scope) -> None:
        """Add to a scope what stands for the part; `given` gives `needs` their values."""


class AggregatePart(Part):
    """`l < #sum { W,X : p(W,X) } < u`, or a set of literals with bounds."""

    def __init__(
        self, draft: Draft, reader: Reader, literal: Node, outside: frozenset[str]
    ) -> None:
        self._draft = draft
        self._reader = reader
        self._sign = Sign(literal.origin.sign)
        self._node = literal.one("atom")
        # Variables that occur only within are local, a value of theirs is an element; those that
        # the rest names as well make the groups. Without bounds no group is needed.
        inside = named(*self._node.many("elements")) if self.guards else frozenset()
        self.needs = inside & outside

    @property
    def guards(self) -> tuple[tuple[bool, Node], ...]:
        """The guards, and whether each stands on the left."""
        left, right = self._node.many("left_guard"), self._node.many("right_guard")
        return (*((True, guard) for guard in left), *((False, guard) for guard in right))

    def build(self, given: tuple[Literal, ...], scope: Scope) -> None:
        """See `Part`."""
        if not self.guards:
            # Without bounds an aggregate is true, whatever is in it.
            scope.never |= self._sign == Sign.Negation
            return
        groups, order = self._groups(given)
        elements, result = self._draft.relation("elements"), self._draft.relation("value")
        # All elements go to one relation: ASP's aggregates are over a set of tuples, to which
        # several elements may add the same one.
        for element in self._node.many("elements"):
            self._element(element, elements, Scan(groups, order))
        self._draft.operators.append(Aggregate(result, groups, elements, self._function))
        value = self._named_value or Variable(self._reader.fresh())
        scope.literals.append(Scan(result, (*order, value)))
        for is_left, guard in self.guards:
            self._guard(guard, value, scope, is_left=is_left)

    @property
    def _named_value(self) -> Variable | None:
        """The variable that is the value: `N` of `N = #count { … }`."""
        # Sums are compared in 64 bits and given in 32 (`_assigned`), so the value of a sum cannot
        # simply take the variable's name.
        if self._sign == Sign.Negation or self._function in _SUMS:
            return None
        for _is_left, guard in self.guards:
            term = guard.one("term")
            if COMPARATORS[int(guard.origin.comparison)] == "=" and named(term) == {term.name}:
                return Variable(term.name)
        return None

    @property
    def _function(self) -> Function:
        if self._node.kind == ASTType.Aggregate:
            return "count"
        return _FUNCTIONS[int(self._node.origin.function)]

    def _groups(self, given: tuple[Literal, ...]) -> tuple[str, tuple[Term, ...]]:
        """The relation of the groups, and what its rows hold."""
        if not self.needs:
            # Nothing to group by is one group, which is always there: a count of nothing is 0.
            self._draft.shared[ONE] = Rule(ONE, ())
            return ONE, ()
        # A relation whose rows are the groups as they stand needs no copy of itself.
        if len(given) == 1 and isinstance(given[0], Scan) and self._is_whole(given[0]):
            return given[0].relation, given[0].terms
        order = tuple(map(Variable, sorted(self.needs)))
        name = self._draft.relation("groups")
        self._draft.rule(name, order, given)
        return name, order

    def _is_whole(self, scan: Scan) -> bool:
        """Whether the rows of a relation are groups as they are."""
        found = [term.name for term in scan.terms if isinstance(term, Variable)]
        return len(found) == len(scan.terms) == len(self.needs) and set(found) == self.needs

    def _element(self, element: Node, elements: str, groups: Scan) -> None:
        scope = Scope(self._draft, self._reader)
        if element.kind == ASTType.ConditionalLiteral:
            what = _literal_tuple(element.one("literal"), scope)
        else:
            what = Compound("", tuple(map(scope.term, element.many("terms"))))
        for condition in element.many("condition"):
            scope.literal(condition)
        if not scope.never:
            self._draft.rule(elements, (*groups.terms, what), self._within(groups, scope))

    def _within(self, groups: Scan, scope: Scope) -> tuple[Literal, ...]:
        """The body of an element's rule: its condition, with the groups if it needs them.

        Joined with the groups, whose horizons each new row may put off, all their elements
        would be met again and again.
        """
        found = grounded(scope.literals)
        if len(found) == len(scope.literals) and self.needs <= names(found):
            return tuple(scope.literals)
        return (groups, *scope.literals)

    def _guard(self, guard: Node, value: Variable, scope: Scope, *, is_left: bool) -> None:
        # `not` before an aggregate with one guard is the opposite comparison; one with two has
        # been made two rules before (`rules._alternatives`).
        comparator: Comparator = COMPARATORS[int(guard.origin.comparison)]
        if self._sign == Sign.Negation:
            comparator = OPPOSITE[comparator]
        term = scope.term(guard.one("term"))
        if comparator == "=" and term == value:
            return
        if comparator == "=":
            scope.equate(self._assigned(value, term, scope), term)
        else:
            sides = (term, value) if is_left else (value, term)
            scope.literals.append(Compare(comparator, *sides))

    def _assigned(self, value: Variable, term: Term, scope: Scope) -> Term:
        """What an equation gives a variable: clingo compares sums of 64 bits, and gives a
        variable that has no other value the last 32 of them."""
        if self._function not in _SUMS or not isinstance(term, Variable):
            return value
        if term.name in names(grounded(scope.literals)):
            return value
        last = Variable(self._reader.fresh())
        scope.literals.append(Compare("=", last, Computed("+", (value, Constant(0)))))
        return last


def _literal_tuple(literal: Node, scope: Scope) -> Term:
    """What tells a literal of a set from the others."""
    found = scope.literal(literal)
    if found is None:
        raise UnsupportedError(f"counts `{literal}`, which is no atom")
    # Sign and relation belong to it: `p(1)`, `not p(1)` and `q(1)` in one set are three.
    sign = Constant(int(literal.origin.sign))
    return Compound("", (sign, Constant(f'"{found.relation}"'), *found.terms))


class ConditionalPart(Part):
    """`p(X) : q(X)`: there is no `q(X)` without `p(X)`."""

    def __init__(self, draft: Draft, reader: Reader, node: Node, outside: frozenset[str]) -> None:
        self._draft = draft
        self._reader = reader
        self._literal = node.one("literal")
        self._shared = named(node) & outside
        self._condition = Scope(draft, reader)
        for part in node.many("condition"):
            self._condition.literal(part)
        self._named = named(*node.many("condition")) | self._shared
        self.needs = self._shared - names(grounded(self._condition.literals))

    def build(self, given: tuple[Literal, ...], scope: Scope) -> None:
        """See `Part`."""
        condition = (*given, *self._condition.literals)
        refuted = self._refuted(condition)
        if self._condition.never or refuted is None:
            return
        violated = self._draft.relation("violated")
        order = tuple(map(Variable, sorted(self._shared)))
        self._draft.rule(violated, order, (*condition, *refuted))
        scope.literals.append(Absent(violated, order))

    def _refuted(self, condition: tuple[Literal, ...]) -> Sequence[Literal] | None:
        """What says that the literal does not hold; None if it always does."""
        scope = Scope(self._draft, self._reader)
        if _is_plain(self._literal) and named(self._literal) <= self._named:
            # A literal that is ground then can be turned round. Where it may stand for several
            # (an interval, local variables, a chain), that there is none must be said of all of
            # them, by a relation of its own.
            scope.literal(self._literal, _OPPOSITE[Sign(self._literal.origin.sign)])
            return None if scope.never else scope.literals
        scope.literal(self._literal)
        satisfied = self._draft.relation("satisfied")
        order = tuple(map(Variable, sorted(self._named)))
        self._draft.rule(satisfied, order, (*condition, *scope.literals))
        return [Absent(satisfied, order)]


def _is_plain(literal: Node) -> bool:
    """Whether a literal is one ground literal for all values of its variables."""
    atom = literal.one("atom")
    is_chain = atom.kind == ASTType.Comparison and len(atom.many("guards")) > 1
    return not is_chain and not any(
        node.kind in _COMPUTING for node in atom.walk() if node is not atom
    )


MAX_INSTANCES = 200
"""Rules that the pools of one statement may stand for here."""
_AGGREGATES = (ASTType.BodyAggregate, ASTType.Aggregate)
_REFUSED = {Sign.NoSign: Sign.Negation, Sign.Negation: Sign.NoSign}


def draft(rule: AspRule, constants: Mapping[str, Value], is_lower: Callable[[str], bool]) -> Draft:
    """A rule translated; `is_lower` tells relations that do not depend on its head.

    Raises `UnsupportedError`, whose message begins with what the rule does.
    """
    found = Draft(rule.name, constants)
    try:
        for tree in _instances(rule.tree):
            _Instance(found, tree, is_lower).translate()
    except ForeignTermError as error:
        raise UnsupportedError(f"holds {error.what}: `{error.node}`") from None
    return found


class _Instance:
    """A rule without pools."""

    def __init__(self, draft: Draft, tree: Node, is_lower: Callable[[str], bool]) -> None:
        self._draft = draft
        self._head = tree.one("head")
        self._body = tree.many("body")
        self._reader = Reader(draft.constants)
        self._scope = Scope(draft, self._reader)
        self._is_lower = is_lower
        self._grouped: list[tuple[frozenset[str], tuple[Literal, ...]]] = []
        """What the aggregates need, and which literals give it."""

    def translate(self) -> None:
        """Add the rule, and what it needs, to the draft."""
        # Aggregates and conditions wait: which of their variables are shared, and what gives
        # these values, can be told when the other literals are there.
        later = []
        for part in self._body:
            if part.kind == ASTType.Literal and part.one("atom").kind not in _AGGREGATES:
                self._scope.literal(part)
            else:
                later.append(self._part(part))
        head, arguments = self._derived()
        terms = tuple(map(self._scope.term, arguments))
        self._complete(later)
        if not self._scope.never and head is not None:
            self._leave_out_what_groups_say(terms)
            self._draft.rule(head, terms, tuple(self._scope.literals))

    def _derived(self) -> tuple[str | None, tuple[Node, ...]]:
        """The relation of the head, None where it is true, and its arguments."""
        atom = self._head.one("atom")
        if atom.kind == ASTType.BooleanConstant:
            return (None if atom.origin.value else FALSE), ()
        return predicate(atom)

    def _part(self, part: Node) -> Part:
        if part.kind == ASTType.ConditionalLiteral:
            return ConditionalPart(self._draft, self._reader, part, self._outside)
        if part.kind != ASTType.Literal:
            raise UnsupportedError(f"holds `{part}`")
        return AggregatePart(self._draft, self._reader, part, self._outside)

    @property
    def _outside(self) -> frozenset[str]:
        """Variables that occur outside of aggregates and conditional literals."""
        found = named(self._head)
        for part in self._body:
            if part.kind != ASTType.Literal:
                continue
            atom = part.one("atom")
            if atom.kind in _AGGREGATES:
                found |= named(*atom.many("left_guard"), *atom.many("right_guard"))
            else:
                found |= named(atom)
        return found

    def _complete(self, parts: list[Part]) -> None:
        """Translate parts, each when the rest of the body gives it what it needs."""
        while parts:
            # In rounds: the value of one aggregate may be what the next one is grouped by.
            # `given` is asked of all before any is built, so that the order of writing decides
            # nothing.
            ready = [(part, self._binding_literals(part)) for part in parts]
            for part, given in ready:
                if given is not None:
                    part.build(given, self._scope)
                    if isinstance(part, AggregatePart) and part.guards:
                        self._grouped.append((part.needs, given))
            parts = [part for part, given in ready if given is None]
            if parts and all(given is None for _part, given in ready):
                raise UnsupportedError(self._why_not(parts[0].needs))

    def _why_not(self, needed: frozenset[str]) -> str:
        unsafe = needed - names(grounded(self._scope.literals))
        if unsafe:
            return unbound(unsafe)
        wanted = ", ".join(sorted(needed))
        return f"aggregates for values of {wanted} that only its own recursion gives"

    def _leave_out_what_groups_say(self, head: tuple[Term, ...]) -> None:
        """An aggregate has values for its groups alone: what gives the groups, and says
        nothing else, need not be joined with them once more."""
        for needs, given in self._grouped:
            others = [x for x in self._scope.literals if not any(x is y for y in given)]
            used = names(others) | names_of(head)
            # Literals are compared by identity: the same literal written twice must not lose
            # both.
            if not (names(given) - needs) & used:
                self._scope.literals = others

    def _binding_literals(self, part: Part) -> tuple[Literal, ...] | None:
        return binding(part.needs, filter(self._is_complete, self._scope.literals))

    def _is_complete(self, literal: Literal) -> bool:
        """Whether a literal does not depend on the rule's head."""
        return not isinstance(literal, Scan) or self._is_lower(literal.relation)


# -- statements that stand for several ---------------------------------------------------


def _instances(tree: Node) -> Iterator[Node]:
    """The rules that a statement stands for, their heads atoms or truth values."""
    # `unpool` copies the whole tree, and most rules have no pools.
    has_pools = any(node.kind == ASTType.Pool for node in tree.walk())
    written = tree.origin.unpool() if has_pools else [tree.origin]
    if len(written) > MAX_INSTANCES:
        raise UnsupportedError(f"stands for more than {MAX_INSTANCES} rules by its pools")
    for rule in written:
        plain = _with_atom(rule)
        bodies = list(product(*map(_alternatives, plain.body)))
        # Unchanged: the tree at hand is kept, which is already read and knows its positions.
        if len(bodies) == 1 and plain is tree.origin:
            yield tree
        else:
            yield from (copy(plain.update(body=sum(body, ()))) for body in bodies)


def _with_atom(rule: AST) -> AST:
    """A rule whose head is a comparison, or behind `not`, as the constraint that it is."""
    head = rule.head
    if head.ast_type != ASTType.Literal:
        raise UnsupportedError(f"derives `{head}`")
    kind = head.atom.ast_type
    if head.sign == Sign.NoSign and kind in (ASTType.SymbolicAtom, ASTType.BooleanConstant):
        return rule
    # `X > 1 :- b.` and `not p :- b.` derive nothing; they forbid the body while the head does not
    # hold.
    refused = head.update(sign=_REFUSED.get(Sign(head.sign), Sign.Negation))
    false = ast.Literal(head.location, Sign.NoSign, ast.BooleanConstant(0))
    return rule.update(head=false, body=[*rule.body, refused])


def _alternatives(part: AST) -> list[tuple[AST, ...]]:
    """What a part of a body stands for, where several things make it true: the literals
    of which one must hold for `not 1 < X < 5`.

    As in clingo, the literals of a chain need not all have values, those of bounds must.
    """
    if part.ast_type != ASTType.Literal or part.sign != Sign.Negation:
        return [(part,)]
    atom = part.atom
    if atom.ast_type == ASTType.Comparison and len(atom.guards) > 1:
        terms = [atom.term, *(guard.term for guard in atom.guards)]
        steps = [ast.Comparison(t, [g]) for t, g in zip(terms, atom.guards, strict=False)]
        terms = [interval for term in terms for interval in _intervals(term)]
    elif atom.ast_type in _AGGREGATES and atom.left_guard and atom.right_guard:
        terms = [atom.left_guard.term, atom.right_guard.term]
        steps = [atom.update(right_guard=None), atom.update(left_guard=None)]
    else:
        return [(part,)]
    defined = [_defined(term) for term in terms]
    return [(part.update(atom=step), *defined) for step in steps]


def _intervals(term: AST) -> list[AST]:
    return [node.origin for node in copy(term).walk() if node.kind == ASTType.Interval]


def _defined(term: AST) -> AST:
    """A literal that holds where a term has a value."""
    guard = ast.Guard(int(ComparisonOperator.LessEqual), term)
    return ast.Literal(term.location, Sign.NoSign, ast.Comparison(term, [guard]))
