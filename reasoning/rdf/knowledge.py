"""Knowledge bases: files of triples or facts, and what a request's rules see of them.

Files of ASP (`.lp`) hold ground facts, and nothing that computes at length.
"""

from __future__ import annotations

import gzip
import itertools
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import get_args

import clingo
from clingo import ast as clingo_ast
from clingo.ast import AST, ASTType, UnaryOperator

from citywise.reasoning import budget
from citywise.reasoning.errors import ItemError, Location, RequestError
from citywise.reasoning.model import atoms
from citywise.reasoning.model.carried import makers
from citywise.reasoning.model.request import Entailment, KnowledgeSource, Request, Signature
from citywise.reasoning.rdf import ntriples, parsing
from citywise.reasoning.rdf.entailment import closure
from citywise.reasoning.rdf.mapping import Mapper, Triple
from citywise.reasoning.rdf.relevance import Relevance

MOST_FACTS = 1_000_000
"""Facts that the intervals and pools of one statement may stand for."""

_SKIPPED = r'%\*.*?\*%|%[^\n]*|"(?:[^"\\\n]|\\.)*"'
_COMMENT_OR_STRING = re.compile(rf"%\*.*?\*%|%[^\n]*|{atoms.STRING.pattern}", re.DOTALL)
_STATEMENT = re.compile(
    rf"\s*(?:%\*.*?\*%|%[^\n]*|(?:{_SKIPPED}|\.\.|[^.\"%])+\.(?!\.)|.+|\Z)", re.DOTALL
)
_DIRECTIVE = re.compile(r"#(?!inf\b|sup\b|infimum\b|supremum\b|true\b|false\b)\w*")


class FactError(ItemError):
    """A statement of a `.lp` file that is no ground fact; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def read_facts(text: str) -> Iterator[tuple[str, int]]:
    """The facts of a text in clingo's spelling, each with the line it stands on.

    Intervals and pools are expanded. Raises `FactError` for rules, directives and scripts,
    for what is not ground, and for more than `MOST_FACTS` facts from one statement.
    """
    line = 1
    for match in _STATEMENT.finditer(text):
        statement = match.group()
        line += statement.count("\n", 0, start := len(statement) - len(statement.lstrip()))
        try:
            yield from ((fact, line) for fact in _facts_of(statement.strip()))
        except ItemError as error:
            raise FactError(str(error), line) from None
        line += statement.count("\n", start)


def _facts_of(statement: str) -> Iterator[str]:
    """The facts of one statement, comment or stretch of white space."""
    if statement.startswith("%") or not statement:
        return
    if atoms.is_plain(fact := statement[:-1].rstrip()) and statement.endswith("."):
        yield fact
        return
    bare = _COMMENT_OR_STRING.sub(_blank, statement)
    atoms.refuse_characters(statement)
    atoms.refuse_broken_strings(bare)
    atoms.refuse_foreign_letters(bare)
    atoms.refuse_large_numbers(bare)
    atoms.refuse_deep_nesting(bare)
    if match := _DIRECTIVE.search(bare):  # before clingo reads it: it would open an `#include`
        raise ItemError(f"`{match.group()}`: a knowledge base holds facts only")
    for node in _parsed(statement):
        yield from map(str, _facts(node))


def _parsed(statement: str) -> list[AST]:
    found: list[AST] = []
    told: list[str] = []
    try:
        clingo_ast.parse_string(
            statement, found.append, logger=lambda _code, words: told.append(words)
        )
    except RuntimeError as error:
        reason = " ".join((told[0] if told else str(error)).rpartition("error: ")[2].split())
        raise ItemError(
            f"`{_short(statement)}` is no fact ({reason}); facts end with `.`"
        ) from None
    return [node for node in found[1:] if node.ast_type != ASTType.Comment]


def _blank(match: re.Match[str]) -> str:
    return "''" if match.group().startswith('"') else " "


def _facts(statement: AST) -> Iterator[clingo.Symbol]:
    if statement.ast_type != ASTType.Rule:
        raise ItemError(f"`{_short(statement)}` is no fact; a knowledge base holds facts only")
    if len(statement.body):
        raise ItemError(f"`{_short(statement)}` is a rule; put rules into the program")
    head = statement.head
    is_literal = head.ast_type == ASTType.Literal and not head.sign
    if not is_literal or head.atom.ast_type != ASTType.SymbolicAtom:
        raise ItemError(f"`{_short(statement)}` is no fact; write one ground atom and a `.`")
    yield from _values(head.atom.symbol)


def _values(term: AST) -> list[clingo.Symbol]:
    """What a ground term stands for: one value, or those of its intervals and pools."""
    reader = _READERS.get(term.ast_type)
    if reader is None:
        raise ItemError(
            f"`{_short(term)}` is {_KINDS.get(term.ast_type, 'no value')}; write values"
        )
    found = reader(term)
    if len(found) > MOST_FACTS:
        raise _too_many()
    return found


def _function(term: AST) -> list[clingo.Symbol]:
    if term.external:
        raise ItemError(f"`{_short(term)}`: external functions are not called")
    rows = [_values(argument) for argument in term.arguments]
    if math.prod(map(len, rows)) > MOST_FACTS:
        raise _too_many()
    return [clingo.Function(term.name, row) for row in itertools.product(*rows)]


def _interval(term: AST) -> list[clingo.Symbol]:
    low, high = (_computed(bound) for bound in (term.left, term.right))
    if high - low >= MOST_FACTS:
        raise _too_many()
    return [clingo.Number(value) for value in range(low, high + 1)]


def _negated(term: AST) -> list[clingo.Symbol]:
    """`-p(1)` is classical negation, `-1` a number."""
    if term.operator_type != UnaryOperator.Minus:
        return [clingo.Number(_computed(term))]
    return [
        clingo.Number(-value.number)
        if value.type == clingo.SymbolType.Number
        else clingo.Function(value.name, value.arguments, not value.positive)
        for value in _values(term.argument)
    ]


def _computed(term: AST) -> int:
    """The number a ground arithmetic term stands for, without wrapping."""
    if term.ast_type == ASTType.SymbolicTerm and term.symbol.type == clingo.SymbolType.Number:
        return int(term.symbol.number)
    if term.ast_type == ASTType.UnaryOperation and term.operator_type == UnaryOperator.Minus:
        return -_computed(term.argument)
    raise ItemError(f"`{_short(term)}` is no number; write the value itself")


def _too_many() -> ItemError:
    return ItemError(f"this stands for more than {MOST_FACTS} facts")


def _short(node: AST | str) -> str:
    text = str(node)
    return text if len(text) <= 120 else text[:120] + "…"


_READERS: dict[ASTType, Callable[[AST], list[clingo.Symbol]]] = {
    ASTType.SymbolicTerm: lambda term: [term.symbol],
    ASTType.Function: _function,
    ASTType.Interval: _interval,
    ASTType.UnaryOperation: _negated,
    ASTType.Pool: lambda term: [value for part in term.arguments for value in _values(part)],
}
_KINDS = {ASTType.Variable: "a variable", ASTType.BinaryOperation: "a computation"}


_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class KnowledgeOrigin:
    """A knowledge base gave a fact: its file, and the triple, or the line as text."""

    source: str
    detail: Triple | str | None = None


@dataclass(frozen=True)
class KnowledgeBase:
    """The content of one file: triples, or facts with the lines they stand on."""

    source: KnowledgeSource
    triples: tuple[Triple, ...] = ()
    facts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Background:
    """What a request's rules see of its knowledge bases."""

    facts: tuple[str, ...] = ()
    """Ground atoms as text, without duplicates, in the order of the files."""
    origins: Mapping[str, tuple[KnowledgeOrigin, ...]] = field(default_factory=dict)
    """Where each fact is from."""
    supplied: frozenset[Signature] = frozenset()
    """Predicates of the facts."""
    counts: Mapping[Signature, int] = field(default_factory=dict)
    """How many facts there are, by predicate."""

    @cached_property
    def text(self) -> str:
        """The facts as a program."""
        return "".join(f"{fact}.\n" for fact in self.facts)


def read(source: KnowledgeSource, scope: str = "k0") -> KnowledgeBase:
    """Read a knowledge base: any format of RDF by its extension, or `.lp` facts; also `.gz`.

    Blank nodes are named within `scope`. What the source asks to be inferred is not yet
    (see `background`). Raises `RequestError` that names the file, the line where it is
    known, and the `#from` that asked for it.
    """
    with budget.step(f"reading {source.path}"):
        return _read(source, scope)


def _read(source: KnowledgeSource, scope: str) -> KnowledgeBase:
    path = Path(source.path)
    data = _bytes(source, path)
    extension = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    try:
        if extension == "lp":
            return KnowledgeBase(source, facts=tuple(read_facts(data.decode("utf-8-sig"))))
        syntax = parsing.FORMATS.get(extension, "turtle")
        base = path.resolve().as_uri()
        return KnowledgeBase(source, parsing.triples(data, syntax, scope, base))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _error(source, line, "encoding", "this is not UTF-8 text") from None
    except ItemError as error:
        unknown = extension != "lp" and extension not in parsing.FORMATS
        hint = f" (`.{extension}` is unknown and was read as Turtle)" if unknown else ""
        line = getattr(error, "line", None) or 1
        raise _error(source, line, "knowledge", f"{error}{hint}") from None


def background(
    request: Request,
    extra: Sequence[KnowledgeSource] = (),
    read: Callable[[KnowledgeSource, str], KnowledgeBase] = read,
) -> Background:
    """The facts of a request's knowledge bases, and of `extra` ones, that its rules can see.

    Sources that ask for the same entailment are closed together under it; each is read by
    `read`, which may know it from another request. Raises
    `RequestError` for a file that cannot be read, for triples that contradict each other
    under their entailment, and for a triple without a value in ASP.
    """
    sources = tuple(dict.fromkeys((*request.knowledge, *extra)))
    bases = [read(source, f"k{number}") for number, source in enumerate(sources)]
    collector = _Collector(request)
    for base in bases:
        for triple in base.triples:
            collector.triple(base.source, triple)
        for fact, line in base.facts:
            collector.line(base.source.path, fact, line)
    for regime in get_args(Entailment):
        group = [base for base in bases if base.source.entailment == regime]
        if group:
            _infer(group, regime, collector)
    return collector.background()


def _infer(bases: Sequence[KnowledgeBase], regime: Entailment, collector: _Collector) -> None:
    """Add what follows from some bases together; what is inconsistent is refused."""
    files = " + ".join(base.source.path for base in bases)
    with budget.step(f"what follows from {files} under {regime}"):
        found = closure([triple for base in bases for triple in base.triples], regime)
    if found.inconsistencies:
        more = len(found.inconsistencies) - 1
        raise _error(
            bases[0].source,
            1,
            "inconsistent",
            f"under {regime} {found.inconsistencies[0]}{f', and {more} more' if more else ''}; "
            f"mend {files}, or leave out `[{regime}]`",
        )
    for triple in found.inferred:
        collector.triple(KnowledgeSource(f"{files} [{regime}]"), triple)


class _Collector:
    """Gathers facts and where they are from."""

    def __init__(self, request: Request) -> None:
        self._mapper = Mapper(request)
        self._relevance = Relevance(request)
        self._derived = request.derived
        self._made = makers(request)
        self._origins: dict[str, list[KnowledgeOrigin]] = {}
        self._supplied: set[Signature] = set()
        self._counts = Counter[Signature]()

    def triple(self, source: KnowledgeSource, triple: Triple) -> None:
        """Take in what the rules see of a triple."""
        try:
            atom = self._mapper.atom(triple)
        except ItemError as error:
            shown = " ".join(map(ntriples.write, triple))
            raise _error(source, 1, "value", f"{error}; in the triple {shown}") from None
        if atom is None:
            self._unseen(triple)
            return
        name, *arguments = atom
        origin = KnowledgeOrigin(source.path, triple)
        self._fact("{}({},{})".format(*atom), name, arguments, origin)

    def _unseen(self, triple: Triple) -> None:
        """No rule uses the triple, but one may derive its predicate (docs/reason.md)."""
        name = self._mapper.predicate(triple.predicate.value)
        if name is not None and (signature := Signature(name, 2)) in self._derived:
            self._supplied.add(signature)

    def line(self, source: str, fact: str, line: int) -> None:
        """Take in a fact that stands on a line of a file, if the rules see it."""
        symbol = clingo.parse_term(fact)
        name = symbol.name if symbol.positive else f"-{symbol.name}"
        arguments = [str(argument) for argument in symbol.arguments]
        self._fact(fact, name, arguments, KnowledgeOrigin(source, f"line {line}"))

    def _fact(
        self, fact: str, name: str, arguments: Sequence[str], origin: KnowledgeOrigin
    ) -> None:
        signature = Signature(name, len(arguments))
        if signature in self._made:
            line = origin.detail if isinstance(origin.detail, str) else ""
            raise _error(
                KnowledgeSource(origin.source),
                int(line.removeprefix("line ") or 1),
                "clash",
                f"`{fact}`: `{self._made[signature]}` makes `{signature}`, and a knowledge base "
                "gives it too; give that one another name",
            )
        self._supplied.add(signature)
        if not self._relevance.keeps(signature, arguments):
            return
        self._counts[signature] += fact not in self._origins
        self._origins.setdefault(fact, []).append(origin)

    def background(self) -> Background:
        """What has been gathered."""
        origins = {fact: tuple(found) for fact, found in self._origins.items()}
        supplied = frozenset(self._supplied)
        return Background(tuple(origins), origins, supplied, self._counts)


def _bytes(source: KnowledgeSource, path: Path) -> bytes:
    if message := missing(source):
        raise _error(source, 1, "file", message)
    try:
        is_packed = path.name.lower().endswith(".gz")
        with gzip.open(path) if is_packed else path.open("rb") as file:
            read = BytesIO()  # in pieces: what it unpacks to may be more than there is room for
            while piece := file.read(_PIECE):
                read.write(piece)
            return read.getvalue()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(source, 1, "file", f"cannot be read: {reason}") from None


def missing(source: KnowledgeSource) -> str | None:
    """What to say where there is no file of a source's name; folders, devices and pipes,
    which may never end, are none."""
    with suppress(OSError):  # as of a name that is too long
        if Path(source.path).is_file():
            return None
    hint = "`#from <file>` is relative to the folder of the program"
    return f"there is no file `{source.path}`{f'; {hint}' if source.written else ''}"


def _error(source: KnowledgeSource, line: int, code: str, message: str) -> RequestError:
    asked = f" (asked for by `#from <{source.written}>`)" if source.written else ""
    return RequestError(Location(source.path, line, 1), code, f"{message}{asked}")
