"""Plain LARS (DESIGN A8): rules over a stream, with windows as operators of their bodies.

The atoms, comparisons and terms are clingo's language, and clingo's own parser reads them
from a copy of the text in which the operators and windows are blanked out, so that its
messages carry the positions of the source; `lars_elements` reads the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clingo import ast as clingo_ast
from clingo.ast import ASTType

from reasoning.atoms import ground
from reasoning.engines.incremental import values
from reasoning.engines.incremental.terms import Constant, Value
from reasoning.errors import ItemError, RequestError
from reasoning.languages import casp, lars_directives
from reasoning.languages.casp import Reading
from reasoning.languages.comparisons import compared
from reasoning.languages.complaints import Complaints
from reasoning.languages.lars_directives import LarsDirectives
from reasoning.languages.lars_elements import WrittenRule
from reasoning.languages.lars_parts import Parts, translate_signs
from reasoning.languages.lars_rules import RuleReader, term_tree
from reasoning.languages.numbers import check_numbers
from reasoning.languages.plain_facts import FactCount, is_plain_fact, separate
from reasoning.languages.rules import inspect
from reasoning.languages.statements import Source, Statement, split, without_comments
from reasoning.languages.syntax import Node, copy
from reasoning.languages.terms import Terms, constants
from reasoning.lars.program import Atom, LarsProgram, Rule
from reasoning.program import Request, Signature, StreamSource

SUFFIX = ".lars"
"""Of files in plain LARS."""
_WHOLE = frozenset(("unsafe", "stream", "number", "knowledge", "timezone", "scale", "input"))
"""Codes of faults that leave a statement readable."""


@dataclass(frozen=True)
class LarsReading(Reading):
    """All that was read from a text: its program, or what is wrong with it.

    `rules` and `request.rules` are the rules without their windows and operators of time:
    what their atoms are, but not what they mean.
    """

    program: LarsProgram
    """As far as it could be read; to be evaluated only if there are no faults."""
    written: tuple[WrittenRule, ...]
    """Its rules as they are written, in the same order."""

    @property
    def is_whole(self) -> bool:
        """Whether all statements could be read, so that what is missing is missing."""
        return _is_whole(self.faults)


def _is_whole(faults: Iterable[RequestError]) -> bool:
    return all(fault.code in _WHOLE for fault in faults)


def parse_file(path: Path) -> LarsProgram:
    """Read a `.lars` file; knowledge bases are relative to its folder.

    Raises `RequestError` at the first fault.
    """
    return read_file(path).sound().program


def parse(
    text: str, *, name: str = "program", file: str = "<text>", folder: Path = Path()
) -> LarsProgram:
    """Turn a text into a program; raises `RequestError` at the first fault."""
    return read(text, name=name, file=file, folder=folder).sound().program


def read_file(path: Path) -> LarsReading:
    """Read a file whatever its faults; raises `RequestError` if it is no text."""
    return read(casp.text_of(path), name=path.stem, file=str(path), folder=path.parent)


def read(
    text: str, *, name: str = "program", file: str = "<text>", folder: Path = Path()
) -> LarsReading:
    """Read a text whatever its faults."""
    source = casp.sized(Source(text, file))
    bare = without_comments(source)
    translate_signs(source)
    parts = Parts(source, bare, tuple(split(source, bare)), folder)
    nodes, facts = _trees(parts)
    found = list(_rules(parts, nodes))
    rules = tuple(rule for _written, rule in found)
    _check_streamed(parts, rules)
    request = _request(parts, name, nodes, facts)
    faults = tuple(error for _index, error in sorted(source.faults, key=lambda f: f[0]))
    program = _program(parts.directives, rules, request, constants(nodes))
    as_written = tuple(rule for rule, _read in found)
    return LarsReading(
        source,
        parts.statements,
        parts.directives,
        nodes,
        facts,
        request,
        faults,
        program,
        as_written,
    )


def _trees(parts: Parts) -> tuple[tuple[Node, ...], Mapping[Signature, FactCount]]:
    """The syntax trees of all rules but plain facts, and those facts.

    Where clingo cannot read some rules, it reads the others.
    """
    source = parts.source
    complaints = Complaints(source, parts.bare, parts.statements)
    check_numbers(source, parts.text)
    if constants_only := parts.definitions():
        complaints.check_safety(constants_only)
    before = len(source.faults)
    remaining, facts = separate(parts.text, parts.statements)
    nodes = casp.syntax_trees(source, complaints, parts.text, remaining)
    if not nodes and len(source.faults) > before:
        text = parts.sound()
        remaining, facts = separate(text, parts.statements)
        nodes = casp.syntax_trees(source, complaints, text, remaining)
    return nodes, facts


def _rules(parts: Parts, nodes: Sequence[Node]) -> Iterator[tuple[WrittenRule, Rule]]:
    """The rules in the order of the text, as far as they can be read, and as written."""
    known = constants(nodes)
    trees = {parts.statement(node).start: node for node in nodes if node.kind == ASTType.Rule}
    for start, rule in parts.written.items():
        if start in trees:
            for found in RuleReader(parts.source, rule, known).read(trees[start]):
                yield rule, found
        elif is_plain_fact(rule.statement) and rule.head and rule.head.kind == "plain":
            with suppress(ItemError):  # a number of more than 32 bits, which is a fault already
                yield rule, _fact(parts.source, rule.statement, known)


def _fact(source: Source, statement: Statement, known: Mapping[str, Value]) -> Rule:
    """A plain fact, of which there may be very many."""
    name, row = values.parsed(ground(statement.text))
    terms = Terms(known)
    head = Atom(name, tuple(Constant(terms.value(value)) for value in row))
    return Rule(head, None, (), source.location(statement.start).line, statement.label or "")


def _check_streamed(parts: Parts, rules: Sequence[Rule]) -> None:
    """Note each `#stream` of what no rule derives, if all rules could be read."""
    if not _is_whole(error for _index, error in parts.source.faults):
        return
    derived = {rule.head.signature for rule in rules if rule.head is not None}
    for signature, statement in parts.directives.streamed.items():
        if signature not in derived:
            message = f"`#stream {signature}` feeds back what no rule derives; remove it, or give "
            ending = "" if signature.arity == 1 else "s"
            cure = f"a rule the head `{signature.name}` with {signature.arity} argument{ending}"
            parts.source.fault(statement.start, "stream", message + cure)


def _request(
    parts: Parts, name: str, nodes: Sequence[Node], plain: Mapping[Signature, FactCount]
) -> Request:
    """What reading streams and knowledge bases asks of the program."""
    found, facts = parts.directives, inspect(nodes, plain)
    return Request(
        name=name,
        rules=parts.text,
        streams=(StreamSource(found.iri, lars_directives.POINT),),
        knowledge=tuple(found.knowledge),
        prefixes=found.prefixes,
        inputs=frozenset(found.inputs),
        shows=frozenset(found.shows),
        scales=found.scales,
        timezone=found.timezone,
        derived=facts.derived,
        used=facts.used,
        compared=compared(tuple(_with_times(parts, nodes))),
        labels=dict(_labels(parts, nodes)),
    )


def _labels(parts: Parts, nodes: Sequence[Node]) -> Iterator[tuple[tuple[int, int], str]]:
    """Where clingo says that labelled rules begin: at the atom, not at the time before it."""
    yield from casp.labels(parts.source, parts.text, parts.statements)
    for node in nodes:
        label = parts.statement(node).label
        if label is not None:
            yield (node.line, node.column), label


def _with_times(parts: Parts, nodes: Sequence[Node]) -> Iterator[Node]:
    """The rules with their times and numbers as arithmetic, which is what they are."""
    for node in nodes:
        statement = parts.statement(node)
        rule = parts.written.get(statement.start)
        yield node if rule is None else _computing(rule, node)


def _computing(rule: WrittenRule, node: Node) -> Node:
    """A rule's tree with a comparison for each of its times and numbers."""
    parts = (*((rule.head,) if rule.head else ()), *rule.body)
    spans = [span for part in parts for span in (part.time, part.number) if span is not None]
    terms = [" ".join(span.text.split()) for span in spans if term_tree(span.text)]
    if not terms:
        return node
    more = ", ".join(f"0 = 0*({term})" for term in terms)
    text = f"{str(node).removesuffix('.')}{',' if node.many('body') else ' :-'} {more}."
    found: list[clingo_ast.AST] = []
    clingo_ast.parse_string("\n" * (node.line - 1) + text, found.append)
    return copy(found[-1])


def _program(
    found: LarsDirectives, rules: tuple[Rule, ...], request: Request, known: Mapping[str, Value]
) -> LarsProgram:
    declared = bool(found.shows) or found.shows_nothing
    return LarsProgram(
        rules,
        request,
        shows=frozenset(found.shows) if declared else None,
        streamed=frozenset(found.streamed),
        constants={name: values.text(value) for name, value in known.items()},
    )
