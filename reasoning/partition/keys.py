"""Keys: the arguments by which the facts of a unit can be dealt out with the same answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from itertools import combinations, islice

import clingo
from clingo.ast import ASTType

from citywise.reasoning.asp.rules import AspRule, Statements, atom_signatures, atoms, derived
from citywise.reasoning.asp.syntax import Node
from citywise.reasoning.model.carried import is_ours
from citywise.reasoning.model.request import Signature
from citywise.reasoning.partition.plan import Follow, Key, Partition, Reason, Share, share_name


def tuple_of(rule: AspRule) -> Sequence[Node]:
    """What a preference counts: weight, priority and terms."""
    tree = rule.tree
    return (tree.one("weight"), tree.one("priority"), *tree.many("terms"))


def may_count_together(one: AspRule, other: AspRule, constants: Collection[str]) -> bool:
    """Whether tuples of two preferences may be equal; `constants` may mean other values."""
    left, right = tuple_of(one), tuple_of(other)
    return len(left) == len(right) and all(
        _may_be_equal(a, b, constants) for a, b in zip(left, right, strict=True)
    )


def _may_be_equal(one: Node, other: Node, constants: Collection[str]) -> bool:
    """Whether two terms may have a value in common: two different constants have none."""
    if ASTType.SymbolicTerm != one.kind or one.kind != other.kind:
        return True
    texts = {str(one), str(other)}
    return len(texts) == 1 or any(name in text for name in constants for text in texts)


_CONDITIONS = files(__package__).joinpath("keys.lp")
_UNSTABLE = (ASTType.Interval, ASTType.Pool)
_CONFLICTS = 20_000
"""Bound on the search for the best key; the best so far is taken."""
_MOST = 3
_LARGEST = 1_000
"""Occurrences of atoms; more would take seconds, before the first window."""
_EXPLAINED = 12
_MINIMISED = 20


@dataclass(frozen=True)
class KeyQuestion:
    """What is known beyond the partition: see `reasoning.partition.sound.plan`."""

    present: frozenset[Signature]
    feedback: Mapping[Signature, Signature]
    weights: Mapping[Signature, int]
    shows: frozenset[Signature]
    guessed: frozenset[Signature]
    clock: frozenset[Signature] = frozenset()


def find_keys(
    partition: Partition, question: KeyQuestion, statements: Statements
) -> tuple[tuple[Key, ...], list[Reason]]:
    """Keys, first the one that gives least to all buckets; and why it is so."""
    for rule in partition.rules:
        if rule.kind == "preference" and not statements.has_fixed_priority(rule):
            text = f"{rule.cited} has a priority that is known only when it is ground"
            return (), [Reason(text, (rule,))]
    encoding = _Encoding(partition, question, statements)
    if encoding.size > _LARGEST:
        return (), [Reason(f"its rules hold more than {_LARGEST:,} atoms: no key is looked for")]
    if not encoding.could_be_split:
        return (), [Reason("it reads nothing that could be split")]
    found = tuple(encoding.solve())
    if not found:
        return (), encoding.refusals()
    return found, list(_alternatives(found[1:]))


def _alternatives(keys: Iterable[Key]) -> Iterator[Reason]:
    for key in keys:
        positions = sorted(key.positions.items())
        split = ", ".join(f"{s} by argument {i}" for s, i in positions if not is_ours(s))
        yield Reason(f"its facts can also be split otherwise: {split}")


@dataclass(frozen=True)
class _Occurrence:
    number: int
    rule: int
    side: str
    """`head` or `body`."""
    plain: bool
    signature: Signature
    terms: tuple[str | None, ...]
    """Its arguments as text; None for one that does not say the same wherever it stands."""
    literal: int
    """The place in the body of one that is plain."""


class _Encoding:
    """A partition as facts for keys.lp, and clingo's answers as keys."""

    def __init__(self, partition: Partition, question: KeyQuestion, statements: Statements) -> None:
        self._partition = partition
        self._question = question
        self._statements = statements
        self._rules = partition.rules
        self._occurrences = list(self._all_occurrences())
        self._predicates = sorted(
            {o.signature for o in self._occurrences} | partition.inputs | partition.shows
        )
        self._derived = frozenset[Signature]().union(*(rule.head for rule in self._rules))
        self._data = {
            s for s in self._predicates if s not in self._derived or s in question.present
        }

    @property
    def size(self) -> int:
        """How many atoms the rules hold."""
        return len(self._occurrences)

    @property
    def could_be_split(self) -> bool:
        """Whether rules read facts that have arguments."""
        read = {o.signature for o in self._occurrences if o.side == "body"}
        return any(signature.arity and signature in self._data for signature in read)

    def solve(self) -> Iterator[Key]:
        """Keys that differ in how they split facts: first the one that gives least to all,
        then those that derive least in several buckets."""
        control = self._control(["--opt-mode=opt", "--solve-limit", f"{_CONFLICTS},100000"])
        for number in range(_MOST):
            best: list[clingo.Symbol] = []
            with control.solve(self._all_active(), yield_=True) as handle:
                for model in handle:
                    best = list(model.symbols(shown=True))
            if not best:
                return
            key = self._key(best)
            yield key
            self._exclude(control, key, number)

    def _exclude(self, control: clingo.Control, key: Key, number: int) -> None:
        """Look for keys that split something in a way that this one does not."""
        old = (f"old({number},{self._place[s]},{i})." for s, i in key.positions.items())
        part = f"old_{number}"
        control.add(part, [], " ".join(old))
        if number == 0:
            control.ground([("apart", [])])
        control.ground([(part, []), ("further", [clingo.Number(number)])])

    def refusals(self) -> list[Reason]:
        """For arguments by which facts could be split: rules that together forbid it."""
        control = self._control(["--opt-mode=ignore"])
        said = (
            Reason(f"{signature} cannot be split by argument {argument}", rules, listed=True)
            for place, signature in enumerate(self._predicates)
            for argument in range(1, signature.arity + 1 if signature in self._data else 1)
            if (rules := self._forbidding(control, place, argument))
        )
        found = list(islice(said, _EXPLAINED + 1))
        more = [Reason("… and so on for other arguments")] if len(found) > _EXPLAINED else []
        return [Reason("its facts are not split"), *found[:_EXPLAINED], *more]

    def _forbidding(
        self, control: clingo.Control, place: int, argument: int
    ) -> tuple[AspRule, ...]:
        """Rules that do not go together with a key: none of them is superfluous, if they are
        few."""
        wanted = control.symbolic_atoms[clingo.parse_term(f"class({place},key({argument}))")]
        assert wanted is not None
        active = {
            atom.literal: atom.symbol.arguments[0].number
            for atom in control.symbolic_atoms.by_signature("active", 1)
        }
        kept = _core(control, [wanted.literal, *active])
        for literal in tuple(kept) if len(kept) <= _MINIMISED else ():
            fewer = [other for other in kept if other != literal]
            if literal in active and control.solve(fewer).unsatisfiable:
                kept = fewer
        rules = sorted(active[literal] for literal in kept if literal in active)
        return tuple(self._rules[rule] for rule in rules)

    # -- facts ----------------------------------------------------------------------

    def _control(self, options: Sequence[str]) -> clingo.Control:
        control = clingo.Control([*options, "--warn=none"])
        control.add("base", [], _CONDITIONS.read_text(encoding="utf-8"))
        control.add("base", [], "".join(f"{fact}.\n" for fact in self._facts()))
        control.ground([("base", [])])
        return control

    def _all_active(self) -> list[tuple[clingo.Symbol, bool]]:
        numbers = map(clingo.Number, range(len(self._rules)))
        return [(clingo.Function("active", [number]), True) for number in numbers]

    @cached_property
    def _place(self) -> Mapping[Signature, int]:
        return {signature: place for place, signature in enumerate(self._predicates)}

    def _facts(self) -> Iterator[str]:
        yield from self._predicate_facts()
        for number, rule in enumerate(self._rules):
            kind = "guess" if rule.kind in ("choice", "disjunction") else rule.kind
            yield f"rule({number},{kind})"
        for o in self._occurrences:
            yield f"{o.side}({o.rule},{o.number})"
            yield f"of({o.number},{self._place[o.signature]})"
            if o.plain:
                yield f"plain({o.rule},{o.number})"
            for argument, term in enumerate(o.terms, 1):
                if term is not None:
                    yield f"term({o.number},{argument},{_value(o.rule, term)})"
        yield from self._preference_facts()

    def _predicate_facts(self) -> Iterator[str]:
        question = self._question
        marks = {
            "derived": self._derived,
            "data": self._data,
            "copied": set(filter(self._can_be_copied, self._data)),
            "guessed": question.guessed,
            "shown": question.shows,
            "clock": question.clock,
        }
        for signature, place in self._place.items():
            yield f"pred({place})"
            yield f"weight({place},{max(1, question.weights.get(signature, 1))})"
            if signature.arity:
                yield f"arg({place},1..{signature.arity})"
            yield from (f"{mark}({place})" for mark, those in marks.items() if signature in those)
            source = question.feedback.get(signature)
            if source is not None and source in self._place:
                yield f"feeds({self._place[source]},{place})"

    def _can_be_copied(self, signature: Signature) -> bool:
        """Whether its atoms are facts only, and the names of their copies are free."""
        names = {share_name(signature, place) for place in range(1, signature.arity + 1)}
        negative = signature.name.startswith("-")
        told = signature in self._derived or signature in self._question.clock
        return not (told or negative or names & self._names)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(signature.name for signature in self._predicates)

    def _preference_facts(self) -> Iterator[str]:
        wishes = [(n, r) for n, r in enumerate(self._rules) if r.kind == "preference"]
        for number, rule in wishes:
            for index, term in enumerate(tuple_of(rule)):
                if (text := _stable(term)) is not None:
                    yield f"tuple({number},{index},{_value(number, text)})"
        for (one, left), (other, right) in combinations(wishes, 2):
            if may_count_together(left, right, self._statements.constants):
                yield f"rivals({one},{other})"
                yield f"rivals({other},{one})"

    def _all_occurrences(self) -> Iterator[_Occurrence]:
        number = 0
        for place, rule in enumerate(self._rules):
            plain = {id(atom): literal for literal, atom in _plain(rule.tree)}
            heads = list(derived(rule.tree))
            known = {id(atom) for atom in heads}
            others = [a for a in atoms(rule.tree) if id(a) not in known]
            for side, found in (("head", heads), ("body", others)):
                for atom in found:
                    literal = plain.get(id(atom), -1)
                    for signature, terms in _arguments(atom, number, literal >= 0):
                        yield _Occurrence(
                            number, place, side, literal >= 0, signature, terms, literal
                        )
                        number += 1

    # -- answers --------------------------------------------------------------------

    def _key(self, model: Iterable[clingo.Symbol]) -> Key:
        positions: dict[Signature, int] = {}
        following: dict[Signature, Follow] = {}
        spread: set[Signature] = set()
        whole: set[Signature] = set()
        once: set[str] = set()
        shares: dict[str, Share] = {}
        for symbol in model:
            if symbol.name == "share":
                rule, which, argument = (a.number for a in symbol.arguments)
                read = self._occurrences[which]
                share = Share(read.literal, read.signature, argument)
                shares[self._rules[rule].name] = share
                continue
            number, what = symbol.arguments
            if symbol.name == "place":
                if what.name == "once":
                    once.add(self._rules[number.number].name)
                continue
            signature = self._predicates[number.number]
            if what.name == "key":
                positions[signature] = what.arguments[0].number
            elif what.name == "follow":
                argument, leader, there = (a.number for a in what.arguments)
                following[signature] = Follow(argument, self._predicates[leader], there)
            else:
                (spread if what.name == "spread" else whole).add(signature)
        return Key(
            positions, following, frozenset(spread), frozenset(whole), frozenset(once), shares
        )


def _core(control: clingo.Control, literals: Sequence[int]) -> list[int]:
    """Those of the literals that cannot hold together; none if they can."""
    with control.solve(literals, yield_=True) as handle:
        return [] if handle.get().satisfiable else handle.core()


def _plain(tree: Node) -> Iterator[tuple[int, Node]]:
    """The atoms of a body that are neither negated nor part of anything larger, and where.

    An alternative of a pool stands in one of several rules only, and puts none in its bucket.
    """
    for literal, part in enumerate(tree.many("body")):
        if part.kind == ASTType.Literal and not part.origin.sign:
            atom = part.one("atom")
            pooled = any(node.kind == ASTType.Pool for node in atom.walk())
            if atom.kind == ASTType.SymbolicAtom and not pooled:
                yield literal, atom


def _arguments(
    atom: Node, number: int, plain: bool
) -> Iterator[tuple[Signature, tuple[str | None, ...]]]:
    """Predicate and arguments of an atom, for each alternative of a pool."""
    symbol = atom.one("symbol")
    while symbol.kind == ASTType.UnaryOperation:
        symbol = symbol.one("argument")
    alternatives = symbol.many("arguments") if symbol.kind == ASTType.Pool else (symbol,)
    for signature, alternative in zip(atom_signatures(atom), alternatives, strict=True):
        terms = []
        for place, argument in enumerate(alternative.many("arguments")):
            anonymous = argument.kind == ASTType.Variable and argument.name == "_"
            fresh = f"_ {number} {place}" if plain else None
            terms.append(fresh if anonymous else _stable(argument))
        yield signature, tuple(terms)


def _stable(term: Node) -> str | None:
    """A term as text, if it has one value under a substitution of its variables."""
    for node in term.walk():
        if node.kind in _UNSTABLE or (node.kind == ASTType.Variable and node.name == "_"):
            return None
    return str(term)


def _value(rule: int, text: str) -> str:
    """What a term says in a rule; the same text says something else in another."""
    return f"t({rule},{clingo.String(text)})"
