"""Knowledge bases: files of triples or facts, and what a request's rules see of them."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import get_args

import clingo

from reasoning import budget
from reasoning.errors import ItemError, Location, RequestError
from reasoning.model.request import Entailment, KnowledgeSource, Request, Signature
from reasoning.rdf import facts as lp
from reasoning.rdf import ntriples, parsing
from reasoning.rdf.entailment import closure
from reasoning.rdf.mapping import Mapper, Triple
from reasoning.rdf.relevance import Relevance

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
            return KnowledgeBase(source, facts=tuple(lp.read(data.decode("utf-8-sig"))))
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
