"""Everything there is to say about a request before it runs, and about rules like its."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType

from clingo.ast import AggregateFunction, ASTType, ComparisonOperator

from citywise.reasoning.asp.dependencies import Dependencies
from citywise.reasoning.asp.rules import atom_signatures, body_atoms, head_atoms
from citywise.reasoning.asp.syntax import Node, variables
from citywise.reasoning.errors import Finding, RequestError
from citywise.reasoning.languages.casp.durations import durations
from citywise.reasoning.languages.casp.entailment import inferring
from citywise.reasoning.languages.casp.growth import Ranges, overflows, suspects
from citywise.reasoning.languages.casp.parsing import Reading
from citywise.reasoning.model.carried import fed, last, since, timed
from citywise.reasoning.model.request import Signature
from citywise.reasoning.rdf.knowledge import Background, background, missing

_TRIPLE = (2, 3)
_QUOTED_NAME = re.compile(r'"([a-z][A-Za-z0-9]*)_[A-Za-z][\w-]*"\Z')


class Predicates:
    """The predicates of a text: where they are derived, used, shown and declared.

    `supplied` are those that its knowledge bases are known to supply, `unread` says that some of
    them could not be read.
    """

    def __init__(
        self, reading: Reading, supplied: Collection[Signature], *, unread: bool = False
    ) -> None:
        self._reading = reading
        self._supplied = frozenset(supplied)
        self._unread = unread
        self._request = reading.request
        self._used = self._places(body_atoms)
        facts = {signature: fact.first for signature, fact in reading.facts.items()}
        self._derived = {**self._places(head_atoms), **facts}

    def findings(self) -> Iterator[Finding]:
        """All there is to say about the predicates."""
        yield from self._unknown()
        yield from self._unused()
        yield from self._check_shown()
        yield from self._unread_times()
        yield from self._declared()
        yield from self._names()

    # -- where atoms come from ------------------------------------------------------

    @cached_property
    def _outside_predicates(self) -> frozenset[Signature]:
        """Predicates that come from outside because the text says so."""
        ours = {*fed(self._request), *timed(self._request)}
        declared = {
            Signature(str(s.origin.name), int(s.origin.arity))
            for s in self._reading.rules
            if s.kind == ASTType.Defined
        }
        external = {
            signature
            for s in self._reading.rules
            if s.kind == ASTType.External
            for signature in atom_signatures(s.one("atom"))
        }
        return frozenset({*ours, *declared, *external, *self._request.inputs, *self._supplied})

    def _is_supplied(self, signature: Signature) -> bool:
        """Whether a rule derives it, or data can supply it."""
        return (
            signature in self._derived
            or signature in self._outside_predicates
            or (signature.arity in _TRIPLE and self._is_visible(signature.name))
        )

    def _is_visible(self, name: str) -> bool:
        """Whether triples of streams, or of knowledge bases that could not be read, may reach the
        rules under this name."""
        if self._prefix(name) is None or not (self._request.streams or self._unread):
            return False
        inputs = self._request.inputs
        return not inputs or any(s.name == name for s in inputs)

    def _prefix(self, name: str) -> str | None:
        """The declared prefix of a predicate's name."""
        fitting = [p for p in self._request.prefixes if name.startswith(f"{p}_")]
        return max(fitting, key=len, default=None)

    @cached_property
    def _known_predicates(self) -> frozenset[Signature]:
        return frozenset(self._derived) | self._outside_predicates

    # -- findings -------------------------------------------------------------------

    def _unknown(self) -> Iterator[Finding]:
        for signature, index in {**self._remembered(), **self._used}.items():
            if self._is_supplied(signature):
                continue
            hint = self._remembering(signature) or self._near(signature)
            if hint is None and not self._says_where_data_come_from:
                continue  # Its streams may well deliver atoms of any predicate.
            yield self._warning(index, "unknown-predicate", self._why_unknown(signature, hint))

    def _remembered(self) -> dict[Signature, int]:
        """The predicates of `#held` and `#last`, and where they stand."""
        directives = self._reading.directives
        held = {signature: statement.start for signature, statement in directives.held.items()}
        return {s: statement.start for s, (_age, statement) in directives.last.items()} | held

    def _unread_times(self) -> Iterator[Finding]:
        """`#held` and `#last` whose times nobody looks at."""
        directives = self._reading.directives
        made = {since(s): ("#held", s) for s in directives.held}
        made |= {last(s): ("#last", s) for s in directives.last}
        request = self._request
        read = {*self._used, *request.shows, *request.feedback, *self._remembered()}
        for signature, (keyword, of) in made.items():
            if signature not in read:
                message = f"`{keyword} {of}`: no rule looks at `{signature}`; remove the line"
                yield self._declaration(keyword, of, "unused-predicate", message)

    @property
    def _says_where_data_come_from(self) -> bool:
        request = self._request
        return bool(request.inputs or request.prefixes or not request.streams)

    def _why_unknown(self, signature: Signature, hint: str | None) -> str:
        said = f"nothing derives `{signature}`"
        if directive := self._remembering(signature):
            return f"{said}; declare `{directive}`"
        prefix = self._prefix(signature.name)
        if hint is not None:
            return f"{said}; did you mean `{hint}`?"
        if prefix is not None and signature.arity not in _TRIPLE:
            return f"{said}, and a triple gives 2 arguments, or 3 with its time"
        if prefix is not None and not self._request.streams:
            bases = "no knowledge base has a fact that fits" if self._request.knowledge else ""
            return f"{said}; there is no stream{bases and f', and {bases}'}"
        if prefix is not None:
            return f"{said}, and it is not among the `#input` predicates; add `#input {signature}.`"
        cure = f"if a stream or knowledge base supplies it, declare `#input {signature}.`"
        if not self._request.streams:
            cure = f"give facts of it, or declare `#defined {signature}.` if there may be none"
        if signature.arity in _TRIPLE and "_" in signature.name.strip("_"):
            first = signature.name.split("_")[0]
            cure += f" (or `#prefix {first} : <…>.`, if it is a property of RDF)"
        return f"{said}; {cure}"

    def _remembering(self, signature: Signature) -> str | None:
        """The directive that would make a predicate of times."""
        sign, name = ("-", signature.name[1:]) if signature.name[0] == "-" else ("", signature.name)
        word, _, plain = name.partition("_")
        of = Signature(sign + plain, signature.arity - 1)
        if word not in ("since", "last") or not self._is_supplied(of):
            return None
        return f"#held {of}." if word == "since" else f"#last {of} 1d."

    def _near(self, wanted: Signature) -> str | None:
        """What was probably meant: another arity of the name, or a name spelt almost so."""
        other = sorted(s for s in self._known_predicates if s.name == wanted.name and s != wanted)
        if other:
            return str(other[0])
        names = {s.name for s in self._known_predicates if not _is_part(s.name, wanted.name)}
        near = difflib.get_close_matches(wanted.name, names, 1, cutoff=0.8)
        arities = sorted(s for s in self._known_predicates if near and s.name == near[0])
        return str(min(arities, key=lambda s: abs(s.arity - wanted.arity))) if arities else None

    def _unused(self) -> Iterator[Finding]:
        request = self._request
        if not (request.shows or request.shows_terms):
            return
        for signature, index in self._derived.items():
            seen = (self._used, request.shows, request.feedback, request.held, request.last)
            if not any(signature in where for where in seen):
                yield self._warning(
                    index,
                    "unused-predicate",
                    f"`{signature}` is derived but neither used nor shown; remove its rules or "
                    f"add `#show {signature}.`",
                )

    def _check_shown(self) -> Iterator[Finding]:
        for signature in sorted(self._request.shows):
            if self._is_supplied(signature) or signature in self._used:
                continue
            hint = self._near(signature)
            cure = f"did you mean `{hint}`?" if hint else "no rule has it as its head"
            message = f"`#show {signature}` shows nothing; {cure}"
            yield self._declaration("#show", signature, "show-nothing", message)

    def _declared(self) -> Iterator[Finding]:
        mentioned = {*self._used, *self._derived, *self._request.shows}
        names = {s.name for s in mentioned}
        for signature in sorted(self._request.inputs):
            if signature not in mentioned:
                hint = next((str(s) for s in sorted(mentioned) if s.name == signature.name), None)
                cure = f"the rules use `{hint}`" if hint else "no rule uses it"
                yield self._declaration(
                    "#input", signature, "unused-input", f"`#input {signature}`: {cure}"
                )
        for name in sorted(self._request.scales):
            if name not in names:
                yield self._declaration(
                    "#scale", name, "unused-scale", f"`#scale {name}`: no rule uses `{name}`"
                )

    def _names(self) -> Iterator[Finding]:
        """Strings for resources whose prefix is not declared, as arguments of properties."""
        if not self._request.prefixes:
            return
        for atom in self._atoms():
            symbol = atom.one("symbol")
            if symbol.kind != ASTType.Function or self._prefix(symbol.name) is None:
                continue
            for argument in symbol.many("arguments"):
                match = _QUOTED_NAME.match(str(argument.origin))
                if match and match.group(1) not in self._request.prefixes:
                    yield self._warning(
                        self._index(argument),
                        "undeclared-prefix",
                        f"{argument} reads like a resource, but no prefix `{match.group(1)}` is "
                        f"declared; add `#prefix {match.group(1)} : <…>.`",
                    )

    def _atoms(self) -> Iterator[Node]:
        for statement in self._reading.rules:
            yield from head_atoms(statement)
            yield from body_atoms(statement)

    # -- places ---------------------------------------------------------------------

    def _places(self, atoms: Callable[[Node], Iterator[Node]]) -> dict[Signature, int]:
        """The index of the first atom of each predicate."""
        found: dict[Signature, int] = {}
        for statement in self._reading.rules:
            for atom in atoms(statement):
                for signature in atom_signatures(atom):
                    if signature not in found:
                        found[signature] = self._index(atom.one("symbol"))
        return found

    def _index(self, node: Node) -> int:
        return self._reading.source.index(node.line, node.column)

    def _warning(self, index: int, code: str, message: str) -> Finding:
        return Finding(self._reading.source.location(index), "warning", code, message)

    def _declaration(self, keyword: str, what: object, code: str, message: str) -> Finding:
        statement = self._reading.directives.places[keyword, str(what)]
        location = self._reading.source.location(statement.start)
        return Finding(location, "warning", code, message)


def _is_part(one: str, other: str) -> bool:
    """Whether a name is another with words added, as `agenda` and `new_agenda`: no slip."""
    words, others = set(one.split("_")), set(other.split("_"))
    return words < others or others < words


def check_reading(
    reading: Reading,
    *,
    partitioned: bool = False,
    given: Mapping[Signature, int] = MappingProxyType({}),
    ranges: Ranges = MappingProxyType({}),
    dependencies: Dependencies | None = None,
    refined: Callable[[list[Finding]], Iterable[Finding]] = iter,
) -> list[Finding]:
    """All findings about a text that was read; warnings only if all was read.

    Parameters
    ----------
    partitioned:
        Demand what partitioning needs: negation must be stratified.
    given:
        The numbers of facts that whoever runs the text gives it, where they are known.
    ranges:
        Between what the numbers in those facts are, where that is known.
    dependencies:
        What depends on what in the text; default: as its rules read in C-ASP.
    refined:
        What a language with more in its rules makes of the findings about what C-ASP sees.
    """
    found = [Finding.of(fault) for fault in reading.faults]
    knowledge, unreadable = _knowledge(reading)
    found += unreadable
    found += _repeated_labels(reading)
    if reading.is_whole:
        found += Predicates(reading, knowledge.supplied, unread=bool(unreadable)).findings()
        found += comparisons(reading)
        found += durations(reading)
        dependencies = dependencies or Dependencies(reading.rules)
        found += suspects(reading, dependencies, {**given, **knowledge.counts})
        found += overflows(reading, ranges)
        found = list(refined(found))
        if partitioned:
            found += _unstratified(reading, dependencies)
    return sorted(
        set(found), key=lambda f: (f.location.file, f.location.line, f.location.column, f.code)
    )


def _repeated_labels(reading: Reading) -> Iterator[Finding]:
    lines: dict[str, int] = {}
    for statement in reading.statements:
        if statement.label is None:
            continue
        location = reading.source.location(statement.label_start)
        first = lines.get(statement.label)
        lines.setdefault(statement.label, location.line)
        if first is not None:
            message = (
                f"line {first} has a rule {statement.label} too; messages cannot tell them apart"
            )
            yield Finding(location, "warning", "repeated-label", message)


def _knowledge(reading: Reading) -> tuple[Background, list[Finding]]:
    """What the knowledge bases supply, and what is wrong with their files.

    A value that rules would compare wrongly is among the latter: a decimal without `#scale`.
    """
    missing = list(_missing_files(reading))
    if missing or not reading.request.knowledge or not reading.is_whole:
        return Background(), missing
    try:
        return background(inferring(reading.request)), []
    except RequestError as fault:
        return Background(), [Finding.of(fault)]


def _missing_files(reading: Reading) -> Iterator[Finding]:
    for knowledge in reading.request.knowledge:
        if message := missing(knowledge):
            statement = reading.directives.places["#from", knowledge.path]
            location = reading.source.location(statement.start)
            yield Finding(location, "error", "knowledge", message)


def _unstratified(reading: Reading, dependencies: Dependencies) -> Iterator[Finding]:
    cycle = dependencies.negative_cycle()
    if cycle is None:
        return
    steps = " -> ".join([str(cycle[0].head), *map(str, cycle)])
    lines = ", ".join(str(line) for line in dict.fromkeys(step.line for step in cycle))
    yield Finding(
        reading.source.location(reading.source.index(cycle[0].line, 1)),
        "error",
        "unstratified",
        f"{steps} (lines {lines}): a predicate depends on its own absence, which cannot be "
        "partitioned; break the cycle or run the request as a whole",
    )


_ORDER = (
    ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan,
    ComparisonOperator.GreaterEqual,
)
_ARITHMETIC = (ASTType.BinaryOperation, ASTType.UnaryOperation, ASTType.Interval)
_CHOOSING = (AggregateFunction.Min, AggregateFunction.Max)
_NUMERAL = re.compile(r'"\s*[-+]?[0-9]+(?:\.[0-9]+)?\s*"\Z')
_Place = tuple[str, int, int]
"""An argument of a predicate: its name, its arity, and the position."""


def comparisons(reading: Reading) -> Iterator[Finding]:
    """Order comparisons with a text that is a numeral, or with any text of what is a number."""
    computed = [_computed(rule) for rule in reading.rules]
    places = {(name, arity, 1) for name in reading.request.scales for arity in (2, 3)}
    for rule, numbers in zip(reading.rules, computed, strict=True):
        places.update(place for place, name in _arguments(rule) if name in numbers)
    for rule, numbers in zip(reading.rules, computed, strict=True):
        numbers.update(name for place, name in _arguments(rule) if place in places)
        for node in rule.walk():
            if node.kind == ASTType.Comparison:
                for one, other, is_less in _ordered(node):
                    if not _is_text(other):
                        continue
                    if one.kind == ASTType.Variable and one.name in numbers:
                        yield _finding(reading, node, other, is_less)
                    elif _NUMERAL.match(str(other)):
                        yield _finding(reading, node, other)


def _ordered(comparison: Node) -> Iterator[tuple[Node, Node, bool]]:
    """The two sides of each order comparison, both ways round, and whether the first is to be
    less than the second."""
    left = comparison.one("term")
    for guard in comparison.many("guards"):
        right = guard.one("term")
        if guard.origin.comparison in _ORDER:
            is_less = guard.origin.comparison in _ORDER[:2]
            yield left, right, is_less
            yield right, left, not is_less
        left = right


def _is_text(term: Node) -> bool:
    return term.kind == ASTType.SymbolicTerm and str(term).startswith('"')


def _computed(rule: Node) -> set[str]:
    """The variables of a rule with which it computes, or that are what it computes: numbers."""
    signs = {id(atom.one("symbol")) for atom in rule.walk() if atom.kind == ASTType.SymbolicAtom}
    found: set[str] = set()
    for node in rule.walk():
        if node.kind in _ARITHMETIC and id(node) not in signs:
            found.update(variables(node))
        elif node.kind == ASTType.Comparison:
            found.update(_assigned(node))
        elif node.kind == ASTType.BodyAggregate and node.origin.function not in _CHOOSING:
            for guard in (*node.many("left_guard"), *node.many("right_guard")):
                if guard.origin.comparison == ComparisonOperator.Equal:
                    found.update(variables(guard.one("term")))
    return found


def _assigned(comparison: Node) -> Iterator[str]:
    left = comparison.one("term")
    for guard in comparison.many("guards"):
        right = guard.one("term")
        if guard.origin.comparison == ComparisonOperator.Equal:
            for one, other in ((left, right), (right, left)):
                if one.kind == ASTType.Variable and other.kind in _ARITHMETIC:
                    yield one.name
        left = right


def _arguments(rule: Node) -> Iterator[tuple[_Place, str]]:
    """The variables that are arguments of atoms in a rule's body, and where they are."""
    for atom in body_atoms(rule):
        symbol = atom.one("symbol")
        if symbol.kind == ASTType.Function:
            arguments = symbol.many("arguments")
            for position, argument in enumerate(arguments):
                if argument.kind == ASTType.Variable:
                    yield (symbol.name, len(arguments), position), argument.name


def _finding(
    reading: Reading, comparison: Node, text: Node, is_less: bool | None = None
) -> Finding:
    """`is_less`: of a number, whether it is to be less than the text; None: it may be none."""
    shown = str(comparison)
    number = str(text)[1:-1].strip()
    cure = f"write `{number}` without quotes" if number.lstrip("-+").isdigit() else "write a number"
    message = (
        f"`{shown}` compares with a text, and every number is less than every text, whatever its "
        "digits"
    )
    if is_less is not None:
        message += f", so this is {'always' if is_less else 'never'} true"
    index = reading.source.index(text.line, text.column)
    location = reading.source.location(index)
    return Finding(location, "warning", "text-order", f"{message}; {cure}")
