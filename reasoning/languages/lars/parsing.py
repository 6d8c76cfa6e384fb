"""Plain LARS (docs/lars.md): rules over a stream, with windows as operators of their bodies.

`LarsParts` takes a text apart: directives, rules as written, and what clingo reads. Its parser
reads atoms, comparisons and terms from a copy in which operators and windows are blanked out, so
that its messages carry the positions of the source; `elements` reads the rest.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clingo import ast as clingo_ast
from clingo.ast import ASTType

from citywise.reasoning.asp.messages import Complaints
from citywise.reasoning.asp.rules import inspect
from citywise.reasoning.asp.statements import (
    FactCount,
    Source,
    Statement,
    blanked,
    is_plain_fact,
    separate,
    split,
    without_comments,
)
from citywise.reasoning.asp.syntax import Node, Terms, check_numbers, constants, copy
from citywise.reasoning.errors import ItemError, RequestError
from citywise.reasoning.languages.casp import directives as casp
from citywise.reasoning.languages.casp import parsing
from citywise.reasoning.languages.casp.comparisons import compared
from citywise.reasoning.languages.casp.directives import Directives
from citywise.reasoning.languages.casp.parsing import Reading
from citywise.reasoning.languages.lars.elements import WrittenRule, written
from citywise.reasoning.languages.lars.program import Atom, LarsProgram, LarsRule
from citywise.reasoning.languages.lars.rules import RuleReader, term_tree
from citywise.reasoning.model import values
from citywise.reasoning.model.atoms import ground
from citywise.reasoning.model.request import Request, Signature, StreamSource, TimeWindow
from citywise.reasoning.model.values import Constant, Value

_OURS = (
    *("#const", "#defined", "#from", "#input", "#prefix", "#revise", "#scale", "#show"),
    *("#stream", "#timezone"),
)
_TERMS = ("#true", "#false", "#inf", "#infimum", "#sup", "#supremum")
"""What rules may begin with."""
_REFUSED = {
    "#feedback": "a `.lars` program feeds atoms back with `#stream p/1.`",
    "#lateness": "a `.lars` program is evaluated at every point of time, none is kept open; "
    "items that are out of order are left out",
    **dict.fromkeys(
        ("#minimize", "#minimise", "#maximize", "#maximise"),
        "plain LARS prefers no answer over another; write a C-ASP request (`.casp`)",
    ),
    **dict.fromkeys(
        ("#external", "#edge", "#heuristic", "#project", "#count", "#sum", "#min", "#max"),
        "plain LARS has it not; write a C-ASP request (`.casp`)",
    ),
}
_NOTHING = re.compile(r"#show\s*\Z")


@dataclass
class LarsDirectives(Directives):
    """What the directives of a program say."""

    streamed: dict[Signature, Statement] = field(default_factory=dict)
    stream: Statement | None = None
    """`#from stream <iri>`."""
    iri: str = ""
    """The stream's name; empty where it has none."""
    shows_nothing: bool = False


def read_directive(
    source: Source, statement: Statement, found: LarsDirectives, folder: Path
) -> bool:
    """Read `statement` into `found` if it is a directive of ours; False if it is a rule, or
    clingo's.

    Raises `RequestError` for a directive that is malformed, unknown or no plain LARS.
    """
    keyword = re.match(r"#\w*|:~|", statement.text)
    assert keyword is not None
    word = keyword.group()
    if word == ":~":
        message = "a weak constraint prefers answers, which plain LARS does not; "
        raise source.error(statement.start, "plain", message + "write a C-ASP request (`.casp`)")
    if word in _REFUSED:
        raise source.error(statement.start, "plain", f"`{word}`: {_REFUSED[word]}")
    if word.startswith("#") and not casp.is_forbidden(word):
        _check_known(source, statement, word)
    if word == "#stream":
        given = casp.signature(source, statement)
        found.streamed.setdefault(given, statement)
        return True
    if word == "#from" and re.match(r"#from\s+stream\b", statement.text):
        _stream(source, statement, found)
        return True
    if word == "#show":
        return _show(source, statement, found, folder)
    return casp.read(source, statement, found, folder)


def _check_known(source: Source, statement: Statement, word: str) -> None:
    if word in _OURS or word in _TERMS:
        return
    near = difflib.get_close_matches(word, _OURS, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(_OURS)}"
    message = f"there is no directive `{word}`; {hint}"
    raise source.error(statement.start, "directive", message)


def _show(source: Source, statement: Statement, found: LarsDirectives, folder: Path) -> bool:
    if _NOTHING.match(statement.text):
        found.shows_nothing = True
        return True
    casp.read(source, statement, found, folder)
    if found.shows_terms:
        found.shows_terms = False
        message = "plain LARS shows predicates: write `#show p/1.`, or `#show.` for none"
        raise source.error(statement.start, "signature", message)
    return True


def _stream(source: Source, statement: Statement, found: LarsDirectives) -> None:
    match = casp.STREAM.match(statement.text)
    if match is None:
        message = "expected `#from stream <iri>`"
        raise source.error(statement.start, "from", message)
    iri, window, entailment = match.groups()
    if window is not None or entailment is not None:
        message = "the windows of plain LARS stand in its rules: `<> p(X) [3]`; write "
        raise source.error(statement.start, "stream", f"{message}`#from stream <{iri}>.`")
    if found.stream is not None:
        line = source.location(found.stream.start).line
        message = f"line {line} names the stream already; plain LARS reads one"
        raise source.error(statement.start, "stream", message)
    found.stream, found.iri = statement, iri


POINT = TimeWindow(0, 1)
"""What a stream is seen through where windows stand in rules: each point of time by itself."""


_SIGNS = {
    "◇": "`<>`",
    "□": "`[]`",
    "⊞": "as a window behind the atom, `<> a(X) [3]`,",
    "←": "`:-`",
}


class LarsParts:
    """The statements of a text, each read as far as it is ours; faults go to the source."""

    def __init__(
        self, source: Source, bare: str, statements: tuple[Statement, ...], folder: Path
    ) -> None:
        self.source = source
        self.bare = bare
        self.statements = statements
        self.directives = LarsDirectives()
        self.written: dict[int, WrittenRule] = {}
        """Rules by the index at which their statement begins."""
        self._starts = [statement.start for statement in statements]
        pieces, position = [], 0
        for statement in statements:
            if source.is_hopeless:
                break
            pieces.append(blanked(bare[position : statement.start]))
            pieces.append(self._read(statement, folder))
            position = statement.end
        self.text = "".join((*pieces, blanked(bare[position:])))
        """What clingo reads: its directives, and rules without what is ours."""
        self._read_text = Source(self.text, source.file)

    def _read(self, statement: Statement, folder: Path) -> str:
        """Read a statement; what clingo is to read of it."""
        text = self.bare[statement.start : statement.end]
        try:
            if read_directive(self.source, statement, self.directives, folder):
                return blanked(text)
        except RequestError as error:
            self.source.note(statement.start, error)
            return blanked(text)
        if statement.text.startswith("#"):
            return parsing.ended(text, statement)
        rule = written(self.source, statement)
        if rule is None:
            return blanked(text)
        self.written[statement.start] = rule
        return parsing.ended(rule.seen + text[len(rule.seen) :], statement)

    def statement(self, node: Node) -> Statement:
        """The statement that clingo read as a tree."""
        index = self._read_text.index(node.line, node.column)
        return self.statements[max(0, bisect_right(self._starts, index) - 1)]

    def sound(self) -> str:
        """`text` without the statements in which a fault was noted."""
        flaws = sorted(index for index, _error in self.source.faults)
        bad = {
            s for s in self.statements if bisect_left(flaws, s.start) < bisect_left(flaws, s.end)
        }
        return self._without(bad)

    def definitions(self) -> str:
        """`text` without all but its `#const` statements; empty if there are none."""
        others = {s for s in self.statements if not s.text.startswith("#const")}
        return self._without(others) if len(others) < len(self.statements) else ""

    def _without(self, statements: Collection[Statement]) -> str:
        pieces, position = [], 0
        for statement in self.statements:
            if statement in statements:
                pieces.append(self.text[position : statement.start])
                pieces.append(blanked(self.text[statement.start : statement.end]))
                position = statement.end
        return "".join((*pieces, self.text[position:]))


def translate_signs(source: Source) -> None:
    """Say of the operators that papers write how they are written here."""
    for place, (index, error) in enumerate(source.faults):
        if error.code == "character" and (here := _SIGNS.get(source.text[index])):
            message = f"`{source.text[index]}` is written {here} in a text"
            source.faults[place] = index, source.error(index, "character", message)


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
    return read(parsing.text_of(path), name=path.stem, file=str(path), folder=path.parent)


def read(
    text: str, *, name: str = "program", file: str = "<text>", folder: Path = Path()
) -> LarsReading:
    """Read a text whatever its faults."""
    source = parsing.sized(Source(text, file))
    bare = without_comments(source)
    translate_signs(source)
    parts = LarsParts(source, bare, tuple(split(source, bare)), folder)
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


def _trees(parts: LarsParts) -> tuple[tuple[Node, ...], Mapping[Signature, FactCount]]:
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
    nodes = parsing.syntax_trees(source, complaints, parts.text, remaining)
    if not nodes and len(source.faults) > before:
        text = parts.sound()
        remaining, facts = separate(text, parts.statements)
        nodes = parsing.syntax_trees(source, complaints, text, remaining)
    return nodes, facts


def _rules(parts: LarsParts, nodes: Sequence[Node]) -> Iterator[tuple[WrittenRule, LarsRule]]:
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


def _fact(source: Source, statement: Statement, known: Mapping[str, Value]) -> LarsRule:
    """A plain fact, of which there may be very many."""
    name, row = values.parsed(ground(statement.text))
    terms = Terms(known)
    head = Atom(name, tuple(Constant(terms.value(value)) for value in row))
    return LarsRule(head, None, (), source.location(statement.start).line, statement.label or "")


def _check_streamed(parts: LarsParts, rules: Sequence[LarsRule]) -> None:
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
    parts: LarsParts, name: str, nodes: Sequence[Node], plain: Mapping[Signature, FactCount]
) -> Request:
    """What reading streams and knowledge bases asks of the program."""
    found, facts = parts.directives, inspect(nodes, plain)
    return Request(
        name=name,
        rules=parts.text,
        streams=(StreamSource(found.iri, POINT),),
        knowledge=tuple(found.knowledge),
        prefixes=found.prefixes,
        inputs=frozenset(found.inputs),
        shows=frozenset(found.shows),
        revise=casp.horizon_in_unit(parts.source, found, "s"),
        scales=found.scales,
        timezone=found.timezone,
        derived=facts.derived,
        used=facts.used,
        compared=compared(tuple(_with_times(parts, nodes))),
        labels=dict(_labels(parts, nodes)),
    )


def _labels(parts: LarsParts, nodes: Sequence[Node]) -> Iterator[tuple[tuple[int, int], str]]:
    """Where clingo says that labelled rules begin: at the atom, not at the time before it."""
    yield from parsing.labels(parts.source, parts.text, parts.statements)
    for node in nodes:
        label = parts.statement(node).label
        if label is not None:
            yield (node.line, node.column), label


def _with_times(parts: LarsParts, nodes: Sequence[Node]) -> Iterator[Node]:
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
    found: LarsDirectives, rules: tuple[LarsRule, ...], request: Request, known: Mapping[str, Value]
) -> LarsProgram:
    declared = bool(found.shows) or found.shows_nothing
    return LarsProgram(
        rules,
        request,
        shows=frozenset(found.shows) if declared else None,
        streamed=frozenset(found.streamed),
        constants={name: values.text(value) for name, value in known.items()},
    )
