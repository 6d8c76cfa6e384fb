"""Bodies of rules made ready for joining: patterns for arithmetic (`p(X+1)` gives X a value, as it
does in clingo), and the order in which literals are met."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count

from citywise.reasoning.errors import ReasoningError
from citywise.reasoning.model.rules import (
    Absent,
    Between,
    Call,
    Compare,
    Holds,
    Literal,
    Rule,
    Scan,
)
from citywise.reasoning.model.values import (
    Compound,
    Computed,
    Constant,
    Term,
    Value,
    Variable,
    variables,
)


def matched(terms: Iterable[Term], prefix: str) -> tuple[tuple[Term, ...], tuple[Compare, ...]]:
    """Terms to be matched with a row, and what relates their variables to those of `terms`.

    Arithmetic becomes a variable of its own, whose name begins with `prefix`. Where it is
    linear in one variable, a comparison the other way round gives that variable its value.
    """
    patterns = Patterns(prefix)
    found = tuple(map(patterns.match, terms))
    return found, tuple(patterns.compares)


class Patterns:
    """Makes patterns; `compares` are the comparisons that belong to them."""

    def __init__(self, prefix: str) -> None:
        self.compares: list[Compare] = []
        self._prefix = prefix
        self._numbers = count()

    def match(self, term: Term) -> Term:
        """A pattern for the values of a term."""
        if isinstance(term, Computed):
            whole = Variable(f"{self._prefix}{next(self._numbers)}")
            self.equate(whole, term)
            return whole
        if isinstance(term, Compound):
            return Compound(term.name, tuple(map(self.match, term.arguments)))
        return term

    def equate(self, pattern: Term, term: Term) -> None:
        """Compare a pattern, which knows no arithmetic, with a term, each giving the other
        its values."""
        if not isinstance(term, Computed):
            self.compares.append(Compare("=", pattern, self.match(term)))
            return
        if term.operation == "neg" and not isinstance(term.arguments[0], Computed):
            # `-` undoes itself, of numbers and of functions alike, so the comparison the other
            # way round need not know which of them the value is.
            inner = self.match(term.arguments[0])
            self.compares.append(Compare("=", pattern, Computed("neg", (inner,))))
            self.compares.append(Compare("=", inner, Computed("neg", (pattern,))))
            return
        # `--X` goes sign by sign: `_linear` would take X for a number, and it may be a function.
        if term.operation == "neg" and _is_negation(term):
            inner = self.match(term.arguments[0])
            self.equate(pattern, Computed("neg", (inner,)))
            return
        # The first comparison says what must hold, the second gives the variable its value. Both
        # are needed: the second divides, which rounds, and only the first refuses what came out
        # near.
        self.compares.append(Compare("=", pattern, term))
        if (line := _linear(term)) is not None:
            name, factor, offset = line
            self.compares.append(Compare("=", Variable(name), _solution(pattern, factor, offset)))


def _is_negation(term: Term) -> bool:
    """Whether a term is a variable or a function, however often negated."""
    while isinstance(term, Computed) and term.operation == "neg":
        term = term.arguments[0]
    return not isinstance(term, Computed)


def _solution(whole: Term, factor: int, offset: int) -> Term:
    """The `X` of `whole = factor * X + offset`, if it has one."""
    if factor == -1:
        return Computed("-", (Constant(offset), whole))
    rest = Computed("-", (whole, Constant(offset)))
    return rest if factor == 1 else Computed("/", (rest, Constant(factor)))


def _linear(term: Term) -> tuple[str, int, int] | None:
    """Variable, factor (not 0) and offset of a term that is linear in one variable."""
    if isinstance(term, Variable):
        return term.name, 1, 0
    if not isinstance(term, Computed):
        return None
    if term.operation == "neg":
        inner = _linear(term.arguments[0])
        return None if inner is None else (inner[0], -inner[1], -inner[2])
    if term.operation not in ("+", "-", "*"):
        return None
    left, right = term.arguments
    if (number := _number(right)) is not None and (inner := _linear(left)) is not None:
        return _combined(term.operation, inner, number)
    if (number := _number(left)) is not None and (inner := _linear(right)) is not None:
        if term.operation == "-":
            return inner[0], -inner[1], number - inner[2]
        return _combined(term.operation, inner, number)
    return None


def _combined(
    operation: str, line: tuple[str, int, int], number: int
) -> tuple[str, int, int] | None:
    name, factor, offset = line
    if operation == "*":
        # `0*X` says nothing of X.
        return (name, factor * number, offset * number) if number else None
    return name, factor, offset + (number if operation == "+" else -number)


def _number(term: Term) -> int | None:
    value: Value | None = term.value if isinstance(term, Constant) else None
    return value if isinstance(value, int) else None


class SafetyError(ReasoningError):
    """A variable of a rule gets no value."""


def normal(rule: Rule) -> Rule:
    """The rule with arithmetic in scans taken out of them, into comparisons, and each literal
    once."""
    body: list[Literal] = []
    # A literal that is written twice would be joined twice. `#` and the number keep the new
    # variables apart from the rule's and from those of other scans.
    for number, literal in enumerate(dict.fromkeys(rule.body)):
        if isinstance(literal, Scan):
            terms, arithmetic = flat(literal.terms, f"#{number}.")
            body += [Scan(literal.relation, terms), *arithmetic]
        else:
            body.append(literal)
    return Rule(rule.head, rule.terms, tuple(body), rule.name, rule.until)


def gives_once(rule: Rule) -> bool:
    """Whether a rule joins rows, and the head's row says which."""
    # With every variable of the body in the head, two instances cannot give the same row, so rows
    # can be kept without asking whether they are known. Rules of one scan pass rows on in batches
    # instead (`generated.copying`).
    scans = [literal for literal in rule.body if isinstance(literal, Scan)]
    terms = [*rule.terms, *(term for scan in scans for term in scan.terms)]
    return (
        len(scans) > 1
        and rule.until is None
        and all(isinstance(literal, Scan | Compare) for literal in rule.body)
        and all(isinstance(term, Variable | Constant) for term in terms)
        and not any(isinstance(term, Variable) for term in {*terms} - {*rule.terms})
    )


@dataclass(frozen=True)
class PairJoin:
    """A rule that joins two relations, as places of values: what a row of each must have in
    common, and for each term of the head which of the two has it, and where."""

    scans: tuple[Scan, Scan]
    shared: tuple[tuple[int, int], ...]
    head: tuple[tuple[int, int], ...]


def pair_join(rule: Rule) -> PairJoin | None:
    """The rule as such a join, if it is one, of variables alone."""
    scans = [literal for literal in rule.body if isinstance(literal, Scan)]
    if len(scans) != 2 or len(rule.body) != 2 or rule.until is not None or not rule.terms:
        return None
    left, right = (scan.terms for scan in scans)
    if not all(isinstance(term, Variable) for term in (*rule.terms, *left, *right)):
        return None
    shared = tuple((left.index(term), right.index(term)) for term in left if term in right)
    if not shared or len(set(left)) < len(left) or len(set(right)) < len(right):
        return None
    head = tuple((0, left.index(t)) if t in left else (1, right.index(t)) for t in rule.terms)
    return PairJoin((scans[0], scans[1]), shared, head)


def flat(terms: Iterable[Term], prefix: str) -> tuple[tuple[Term, ...], tuple[Compare, ...]]:
    """Terms that a row can be matched with: arithmetic is compared with variables of their
    own, whose names begin with `prefix`."""
    found: list[Compare] = []
    return tuple(_without_arithmetic(term, prefix, found) for term in terms), tuple(found)


def _without_arithmetic(term: Term, prefix: str, found: list[Compare]) -> Term:
    if isinstance(term, Computed):
        value = Variable(f"{prefix}{len(found)}")
        found.append(Compare("=", value, term))
        return value
    if isinstance(term, Compound):
        inner = tuple(_without_arithmetic(a, prefix, found) for a in term.arguments)
        return Compound(term.name, inner)
    return term


def ordered(
    body: Iterable[Literal], bound: frozenset[str], rule: Rule
) -> Iterator[tuple[Literal, frozenset[str]]]:
    """The literals in the order to meet them, each with the variables that have values then.

    What needs no search comes first, then what has most of its arguments known, constants
    counting less than values of variables. Raises `SafetyError`.
    """
    # Only literals that name a new variable can have another rank now; ranking all of them again
    # after each would be quadratic, and translations make long bodies.
    left = dict(enumerate(body))
    naming = _naming(left)
    known = bound
    ranks = {place: _rank(literal, known) for place, literal in left.items()}
    queue = [(rank, place) for place, rank in ranks.items()]
    heapify(queue)
    while left:
        rank, place = heappop(queue)
        if place not in left or rank != ranks[place]:
            continue  # ranked anew since then
        if rank >= _UNSAFE:
            raise SafetyError(_unsafe(rule, left.values(), known))
        literal = left.pop(place)
        yield literal, known
        # Ranks only fall as variables get values: outdated entries stay in the heap, behind the
        # new ones, and are passed over above.
        new = _bound_by(literal) - known
        known |= new
        for other in {place for name in new for place in naming[name]} & left.keys():
            ranks[other] = _rank(left[other], known)
            heappush(queue, (ranks[other], other))
    missing = sorted(_head_variables(rule) - known)
    if missing:
        raise SafetyError(f"rule {rule.name}: nothing gives {', '.join(missing)} a value")


def _naming(body: Mapping[int, Literal]) -> Mapping[str, list[int]]:
    """The places of the literals in which each variable stands: whose rank it may change."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for place, literal in body.items():
        for name in variables_of(literal):
            found[name].append(place)
    return found


_UNSAFE = 1000.0


# Ranks follow what it costs to meet a literal. 0–3: a test, without search; functions of Python
# last. 10–40: a scan by the value of a variable, the more arguments known the earlier. 50: a
# range of numbers. 60–90: a scan by constants alone, which narrow less, being the same for every
# row met before. 100: all rows of a relation.
def _rank(literal: Literal, known: frozenset[str]) -> float:
    match literal:
        case Compare(comparator, left, right):
            return 0 if _comparable(comparator, left, right, known) else _UNSAFE
        case Absent(_, terms) | Holds(_, terms):
            return 1 if _all_known(terms, known) else _UNSAFE
        case Between(term, low, high):
            if not _all_known((low, high), known) or not matchable(term, known):
                return _UNSAFE
            return 1 if is_known(term, known) else 50
        case Call(_, arguments, result):
            if not _all_known(arguments, known):
                return _UNSAFE
            return 3 if result is None or matchable(result, known) else _UNSAFE
        case Scan(_, terms):
            if not terms or _all_known(terms, known):
                return 2
            given = [variables(term) for term in terms if is_known(term, known)]
            open_ = 30 * (1 - len(given) / len(terms))
            return (10 if any(given) else 60) + open_ if given else 100
    raise TypeError(literal)


def _comparable(comparator: str, left: Term, right: Term, known: frozenset[str]) -> bool:
    if _all_known((left, right), known):
        return True
    return comparator == "=" and (
        (is_known(left, known) and matchable(right, known))
        or (is_known(right, known) and matchable(left, known))
    )


def is_known(term: Term, known: frozenset[str]) -> bool:
    """Whether all variables of a term have values."""
    return variables(term) <= known


def matchable(term: Term, known: frozenset[str]) -> bool:
    """Whether a value can give the term's variables theirs."""
    if isinstance(term, Computed):
        return is_known(term, known)
    if isinstance(term, Compound):
        return all(matchable(argument, known) for argument in term.arguments)
    return True


def _all_known(terms: Sequence[Term], known: frozenset[str]) -> bool:
    return all(is_known(term, known) for term in terms)


def _bound_by(literal: Literal) -> frozenset[str]:
    match literal:
        case Scan(_, terms):
            return frozenset().union(*map(variables, terms))
        case Between(term, _, _):
            return variables(term)
        case Compare("=", left, right):
            return variables(left) | variables(right)
        case Call(_, _, result) if result is not None:
            return variables(result)
    return frozenset()


def _head_variables(rule: Rule) -> frozenset[str]:
    terms = [*rule.terms, *([rule.until[0]] if rule.until else [])]
    return frozenset().union(*map(variables, terms))


def _unsafe(rule: Rule, left: Iterable[Literal], known: frozenset[str]) -> str:
    names = {name for literal in left for name in variables_of(literal)} - known
    return f"rule {rule.name}: nothing gives {', '.join(sorted(names))} a value"


def variables_of(literal: Literal) -> frozenset[str]:
    """The names of a literal's variables."""
    match literal:
        case Scan(_, terms) | Absent(_, terms) | Holds(_, terms):
            return frozenset().union(*map(variables, terms))
        case Between(term, low, high):
            return variables(term) | variables(low) | variables(high)
        case Compare(_, left, right):
            return variables(left) | variables(right)
        case Call(_, arguments, result):
            return frozenset().union(*map(variables, (*arguments, *([result] if result else []))))
    raise TypeError(literal)
