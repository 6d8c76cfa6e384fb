"""C-ASP's rules as programs of the incremental engine: the stratified fragment.

What is in the fragment and what is not is told in docs/engines.md; what is not goes to
the solver, alone (`split`) or with the whole program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from citywise.reasoning.asp.dependencies import Dependencies, literals
from citywise.reasoning.asp.rules import (
    AspRule,
    Labels,
    StatementKind,
    Statements,
    atom_signatures,
    read,
)
from citywise.reasoning.asp.syntax import Node, constants
from citywise.reasoning.asp.translation.bodies import Draft, UnsupportedError
from citywise.reasoning.asp.translation.rules import draft
from citywise.reasoning.model import values
from citywise.reasoning.model.engine import AspProgram, Atoms
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import FALSE, Scan, builds_terms
from citywise.reasoning.model.rules import Program as Rules
from citywise.reasoning.model.rules import Rule as EngineRule
from citywise.reasoning.model.values import Row, Value, Variable

_WHY: dict[StatementKind, str] = {
    "choice": "is a choice",
    "disjunction": "is a disjunction, or has a condition in its head",
    "preference": "is a preference among answers",
    "show": "shows terms",
    "other": "speaks of the whole program",
}


_BOOLEANS = frozenset({"true", "false"})


@dataclass(frozen=True)
class Translated:
    """Rules as the incremental engine evaluates them.

    Relations are named as predicates are written: `p/2`, `-p/1`.
    """

    program: Rules
    shows: tuple[Signature, ...]
    """Predicates whose rows are printed, sorted."""
    facts: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    """Rows that the rules state plainly: to be inserted once, without horizon."""
    constants: Mapping[str, Value] = field(default_factory=dict)
    """What `#const` has names stand for, in facts too."""

    def rows(self, atoms: Iterable[str]) -> Mapping[str, list[Row]]:
        """Ground atoms by relation, names that `#const` defines replaced."""
        return self._replaced(values.parsed_many(atoms))

    def rows_of(self, atoms: Atoms) -> Mapping[str, list[Row]]:
        """The same of atoms some of which are rows."""
        if not atoms.texts:
            return self._replaced(atoms.rows)
        found = values.parsed_many(atoms.texts)
        for name, rows in atoms.rows.items():
            found[name] = [*found.get(name, ()), *rows]
        return self._replaced(found)

    def plain(self, rows: list[Row]) -> list[Row]:
        """Rows of numbers, strings and booleans, names that `#const` defines replaced."""
        if self.constants.keys().isdisjoint(_BOOLEANS):
            return rows
        return values.replaced_all(rows, self.constants)

    def _replaced(self, found: Mapping[str, list[Row]]) -> Mapping[str, list[Row]]:
        if not self.constants:
            return found
        return {name: values.replaced_all(rows, self.constants) for name, rows in found.items()}


@dataclass(frozen=True)
class Split:
    """A program cut in two: what the incremental engine evaluates, and what reads it."""

    bottom: Translated | None
    """None: nothing can be evaluated apart. It is given all facts there are."""
    top: AspProgram
    """Evaluated over the facts of `interface`, as `bottom` has them, and nothing else (over
    all facts if there is no bottom); it shows what is shown of the predicates it derives."""
    interface: tuple[Signature, ...]
    reasons: tuple[str, ...]
    """Why statements are not in the fragment, one a statement; empty: all of them are."""


def translate(
    what: AspProgram, supplied: frozenset[Signature], labels: Labels | None = None
) -> Translated:
    """The rules of a program whose facts are of the predicates `supplied`.

    Raises `UnsupportedError` for the first statement that is not in the fragment.
    """
    division = _Division(what, supplied, labels)
    if division.reasons:
        raise UnsupportedError(division.reasons[0])
    return division.bottom()


def split(what: AspProgram, supplied: frozenset[Signature], labels: Labels | None = None) -> Split:
    """Cut a program at its largest part that is in the fragment and reads nothing outside
    it (the splitting set theorem: Lifschitz and Turner, 1994)."""
    division = _Division(what, supplied, labels)
    if not division.has_bottom:
        return Split(None, what, (), division.reasons)
    return Split(division.bottom(), division.top(), division.interface, division.reasons)


class _Division:
    """A program's statements, below and above."""

    def __init__(
        self, what: AspProgram, supplied: frozenset[Signature], labels: Labels | None
    ) -> None:
        self._what = what
        self._supplied = supplied
        self._statements: Statements = read(what.rules, labels)
        self._constants = constants(self._statements.definitions)
        self._dependencies = Dependencies([rule.tree for rule in self._statements.rules])
        self._drafts: dict[str, Draft] = {}
        """Translations of the rules that have one, by their names."""
        self.reasons = tuple(self._why_not())
        self._above = frozenset(self._closed(r for r in self._rules if r.name not in self._drafts))

    @property
    def _rules(self) -> tuple[AspRule, ...]:
        return self._statements.rules

    @property
    def has_bottom(self) -> bool:
        """Whether there is something to evaluate below."""
        # Statements on the whole program, and constants whose value clingo alone can tell, leave
        # nothing that could be said to be below.
        whole = any(rule.kind == "other" for rule in self._rules) or len(self._constants) < len(
            self._statements.constants
        )
        return not whole and (not self._above or any(self._is_below(r) for r in self._rules))

    # -- what is above ------------------------------------------------------------------

    def _why_not(self) -> Iterator[str]:
        for name in sorted(self._statements.constants - self._constants.keys()):
            yield f"`#const {name}` has no value"
        for rule in self._rules:
            try:
                self._drafts[rule.name] = self._draft(rule)
            except UnsupportedError as error:
                yield f"{rule.cited} {error}"

    def _draft(self, rule: AspRule) -> Draft:
        if rule.kind not in ("normal", "constraint"):
            raise UnsupportedError(_WHY[rule.kind])
        for head in rule.head:
            for part in rule.tree.many("body"):
                for signature in _strictly_read(part):
                    if self._dependencies.together(head, signature):
                        raise UnsupportedError(_loop(head, signature))
        # What depends on the head in turn is not complete when the rule is met: an aggregate must
        # not take its groups from it.
        together = {
            str(signature)
            for signature in rule.body
            if any(self._dependencies.together(head, signature) for head in rule.head)
        }
        made = draft(rule, self._constants, lambda relation: relation not in together)
        heads = {str(signature) for signature in rule.head}
        # Recursion that builds terms may have no end, and Python's own recursion over them would
        # end the process before a limit does.
        if together and any(r.head in heads and builds_terms(r) for r in made.rules):
            raise UnsupportedError("may nest terms deeper and deeper")
        return made

    def _closed(self, rules: Iterable[AspRule]) -> Iterator[str]:
        """Names of rules, and of all that read what they derive."""
        # Other rules that derive the same predicate may stay below: what they derive is facts
        # above. Only readers must follow (the splitting set theorem).
        waiting = list(rules)
        found = {rule.name for rule in waiting}
        while waiting:
            derived = waiting.pop().head
            for other in self._rules:
                if other.name not in found and derived & other.body:
                    found.add(other.name)
                    waiting.append(other)
        yield from found

    def _is_below(self, rule: AspRule) -> bool:
        return rule.name not in self._above

    # -- predicates ---------------------------------------------------------------------

    @cached_property
    def _derived_above(self) -> frozenset[Signature]:
        return frozenset[Signature]().union(
            *(rule.head for rule in self._rules if not self._is_below(rule))
        )

    @cached_property
    def _here(self) -> frozenset[Signature]:
        """All predicates that the rules mention or facts supply."""
        return self._statements.predicates | self._supplied

    @cached_property
    def _known_below(self) -> frozenset[Signature]:
        """Predicates of which there may be atoms below."""
        derived = (rule.head for rule in self._rules if self._is_below(rule))
        return self._supplied | self._statements.known | frozenset[Signature]().union(*derived)

    @cached_property
    def interface(self) -> tuple[Signature, ...]:
        """Predicates whose atoms are facts above."""
        above = [rule.head | rule.body for rule in self._rules if not self._is_below(rule)]
        mentioned = frozenset[Signature]().union(*above)
        # The solver must see `-p` too where it only mentions `p`: the two exclude each other.
        opposed = frozenset(map(_opposite, mentioned))
        return tuple(sorted((mentioned | opposed) & self._known_below))

    # -- the two parts ------------------------------------------------------------------

    def bottom(self) -> Translated:
        """What is below, for the incremental engine."""
        drafts = [self._drafts[rule.name] for rule in self._rules if self._is_below(rule)]
        # Several statements may have asked for the same rule; one of them is enough.
        shared = {name: rule for d in drafts for name, rule in d.shared.items()}
        rules = (*(r for d in drafts for r in d.rules), *shared.values(), *self._exclusions())
        shows = self._shows & (self._known_below - self._derived_above)
        program = Rules(
            rules,
            tuple(operator for d in drafts for operator in d.operators),
            frozenset(map(str, self._inputs)),
            self._what.name,
            frozenset(map(str, (*shows, *self.interface))),
        )
        return Translated(program, tuple(sorted(shows)), self._facts(), self._constants)

    @property
    def _inputs(self) -> frozenset[Signature]:
        """Predicates of which there are facts, and those that nothing derives."""
        derived = frozenset[Signature]().union(*(rule.head for rule in self._rules))
        return self._here - derived | self._supplied | self._statements.known

    @property
    def _shows(self) -> frozenset[Signature]:
        return self._here if self._statements.shows is None else self._statements.shows

    def _facts(self) -> dict[str, tuple[Row, ...]]:
        # Plain facts are data, not rules: inserted once, they cost no generated function each.
        atoms = [line[:-1] for line in self._statements.facts.split("\n")[:-1]]
        plain = Translated(Rules(()), (), {}, self._constants)
        return {relation: tuple(rows) for relation, rows in plain.rows(atoms).items()}

    def _exclusions(self) -> Iterator[EngineRule]:
        """What classical negation says: no atom and its opposite hold together."""
        for one in sorted(self._known_below):
            other = _opposite(one)
            # Each pair once, and only where both may have atoms: else the constraint can never be
            # violated.
            if not one.name.startswith("-") and other in self._known_below:
                row = tuple(Variable(f"X{n}") for n in range(one.arity))
                body = (Scan(str(one), row), Scan(str(other), row))
                yield EngineRule(FALSE, (), body, f"{one} and {other}")

    def top(self) -> AspProgram:
        """What is above, for the solver."""
        rules = "".join(rule.text for rule in self._rules if not self._is_below(rule))
        shows = sorted(self._shows & self._derived_above)
        shown = "".join(f"#show {signature}.\n" for signature in shows)
        text = f"{self._statements.common}{rules}#show.\n{shown}"
        return AspProgram(self._what.name, text, self._what.priorities)


def _opposite(signature: Signature) -> Signature:
    name = signature.name
    return Signature(name[1:] if name.startswith("-") else f"-{name}", signature.arity)


def _strictly_read(part: Node) -> Iterator[Signature]:
    """Predicates that must be complete before a part of a body can be evaluated."""
    plain = [part.one("literal")] if "literal" in part.parts else [part]
    for atom, negative in literals([part]):
        # Within an aggregate or a condition any literal counts, whatever its sign: the whole set
        # must be known.
        if negative or plain[0] is not part:
            yield from atom_signatures(atom)


def _loop(head: Signature, signature: Signature) -> str:
    if head == signature:
        return f"derives `{head}` from its own absence or aggregate"
    return f"derives `{head}` from an absence or aggregate of `{signature}`, which depends on it"


__all__ = ["Split", "Translated", "UnsupportedError", "split", "translate"]
