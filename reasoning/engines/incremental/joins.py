"""In which order the literals of a rule are met, when some variables have values already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reasoning.engines.incremental.program import (
    Absent,
    Between,
    Call,
    Compare,
    Holds,
    Literal,
    Rule,
    Scan,
)
from reasoning.engines.incremental.terms import (
    Compound,
    Computed,
    Constant,
    Term,
    Variable,
    variables,
)
from reasoning.errors import ReasoningError


class SafetyError(ReasoningError):
    """A variable of a rule gets no value."""


def normal(rule: Rule) -> Rule:
    """The rule with arithmetic in scans taken out of them, into comparisons."""
    body: list[Literal] = []
    for number, literal in enumerate(rule.body):
        if isinstance(literal, Scan):
            terms, arithmetic = flat(literal.terms, f"#{number}.")
            body += [Scan(literal.relation, terms), *arithmetic]
        else:
            body.append(literal)
    return Rule(rule.head, rule.terms, tuple(body), rule.name, rule.until)


def gives_once(rule: Rule) -> bool:
    """Whether a rule joins rows, and the head's row says which."""
    scans = [literal for literal in rule.body if isinstance(literal, Scan)]
    terms = [*rule.terms, *(term for scan in scans for term in scan.terms)]
    return (
        len(scans) > 1
        and rule.until is None
        and all(isinstance(literal, Scan | Compare) for literal in rule.body)
        and all(isinstance(term, Variable | Constant) for term in terms)
        and not any(isinstance(term, Variable) for term in {*terms} - {*rule.terms})
    )


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
    left = list(body)
    known = bound
    while left:
        ranks = [_rank(literal, known) for literal in left]
        best = min(ranks)
        if best >= _UNSAFE:
            raise SafetyError(_unsafe(rule, left, known))
        literal = left.pop(ranks.index(best))
        yield literal, known
        known |= _bound_by(literal)
    missing = sorted(_head_variables(rule) - known)
    if missing:
        raise SafetyError(f"rule {rule.name}: nothing gives {', '.join(missing)} a value")


_UNSAFE = 1000.0


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
