"""C-ASP: continuous reasoning requests in answer set programming (thesis, Figure 4.3).

Directives are read here; the rules are clingo's language and clingo's own parser reads
them, from a copy of the text in which everything else is blanked out, so that its
messages carry the positions of the source. `timed` adds the rules of `#held`, `#last` and `now/1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from clingo import ast as clingo_ast
from clingo.ast import AST, ASTType, parse_string

from citywise.reasoning.asp.dependencies import Dependencies
from citywise.reasoning.asp.messages import Complaints
from citywise.reasoning.asp.rules import inspect
from citywise.reasoning.asp.statements import (
    MAX_CHARACTERS,
    FactCount,
    Source,
    Statement,
    blanked,
    separate,
    split,
    without_comments,
)
from citywise.reasoning.asp.syntax import (
    MAX_DEPTH,
    DepthError,
    Node,
    check_numbers,
    check_results,
    copy,
)
from citywise.reasoning.errors import Location, RequestError
from citywise.reasoning.languages.casp import directives
from citywise.reasoning.languages.casp.comparisons import compared
from citywise.reasoning.languages.casp.directives import Directives
from citywise.reasoning.languages.casp.entailment import inferring
from citywise.reasoning.model import carried
from citywise.reasoning.model.carried import NOW, fed, since
from citywise.reasoning.model.request import (
    PLAIN,
    CountWindow,
    Request,
    Signature,
    StreamSource,
    TimeWindow,
    Unit,
    Window,
)

MAX_RULE_CHARACTERS = 250_000
"""Of the rules that are no plain facts, white space aside: some seconds to read."""
MAX_ALTERNATIVES = 10_000
"""Rules that the pools of one statement may stand for; clingo writes them all out."""

_LOSING = frozenset(
    (
        *("syntax", "bracket", "unclosed", "unfinished", "escape", "character", "decimal"),
        *("nesting", "forbidden", "directive", "prefix", "signature", "program", "size", "pools"),
    )
)
"""Codes of faults that keep a statement from being read."""


@dataclass(frozen=True)
class Reading:
    """All that was read from a text: its request, or what is wrong with it."""

    source: Source
    statements: tuple[Statement, ...]
    directives: Directives
    rules: tuple[Node, ...]
    """Syntax trees of all rules but plain facts."""
    facts: Mapping[Signature, FactCount]
    request: Request
    """As far as it could be read; to be evaluated only if there are no faults."""
    faults: tuple[RequestError, ...]
    """In order of position."""

    def sound(self) -> Self:
        """The reading; raises `RequestError`, the first fault, if there is one."""
        if self.faults:
            raise self.faults[0]
        return self

    @property
    def is_whole(self) -> bool:
        """Whether all statements could be read, so that what is missing is missing."""
        return not any(fault.code in _LOSING for fault in self.faults)


def parse_file(path: Path) -> Request:
    """Read a `.casp` or `.lp` file; knowledge bases are relative to its folder.

    What its streams' items entail is inferred by rules that the request has besides its own
    (`rdf.inferring`). Raises `RequestError`.
    """
    return inferring(read_file(path).sound().request)


def parse(
    text: str, *, name: str = "request", file: str = "<text>", folder: Path = Path()
) -> Request:
    """Turn a C-ASP text into a request; raises `RequestError` at the first fault."""
    return read(text, name=name, file=file, folder=folder).sound().request


def read_file(path: Path, *, clocked: bool = False) -> Reading:
    """Read a file whatever its faults (`clocked`: see `read`); raises `RequestError` if it is no
    text."""
    plain = path.suffix == PLAIN
    text = text_of(path)
    return read(
        text, name=path.stem, file=str(path), folder=path.parent, plain=plain, clocked=clocked
    )


def text_of(path: Path) -> str:
    """The text in a file; raises `RequestError`."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise RequestError(Location(str(path), 1, 1), "file", f"{error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RequestError(Location(str(path), 1, 1), "encoding", "is not UTF-8 text") from error


def read(
    text: str,
    *,
    name: str = "request",
    file: str = "<text>",
    folder: Path = Path(),
    plain: bool = False,
    clocked: bool = False,
) -> Reading:
    """Read a text whatever its faults; `plain` text is in clingo's own language, `clocked` text
    is evaluated at times, whether it reads streams or not."""
    source = sized(Source(text, file))
    bare = without_comments(source)
    statements = tuple(split(source, bare, plain=plain))
    found, rules = _directives(source, bare, statements, folder, plain)
    remaining, facts = separate(rules, statements)
    nodes = _rules(source, Complaints(source, bare, statements), rules, remaining)
    request = _request(source, found, name, rules, nodes, facts)
    request = replace(request, labels=dict(labels(source, rules, statements)))
    request = timed(source, found, request, nodes, clocked=clocked)
    faults = tuple(error for _index, error in sorted(source.faults, key=lambda f: f[0]))
    return Reading(source, statements, found, nodes, facts, request, faults)


def sized(source: Source) -> Source:
    """A source of which there is not too much to read; else raises `RequestError`."""
    if len(source.text) > MAX_CHARACTERS:
        message = f"a program has at most {MAX_CHARACTERS} characters; put facts into a file of "
        raise source.error(0, "size", message + "their own and read it with `#from <file>`")
    return source


def _directives(
    source: Source, bare: str, statements: Sequence[Statement], folder: Path, plain: bool
) -> tuple[Directives, str]:
    """The directives, and the text of the rules alone, each at its place."""
    found, pieces, position = Directives(), [], 0
    for statement in statements:
        if source.is_hopeless:
            break
        pieces.append(blanked(bare[position : statement.start]))
        position = statement.end
        try:
            ours = directives.read(source, statement, found, folder)
            if ours and plain:
                message = "an `.lp` file has no streams; call it `.casp` for these directives"
                raise source.error(statement.start, "directive", message)
        except RequestError as error:
            source.note(statement.start, error)
            ours = True
        text = bare[statement.start : statement.end]
        pieces.append(blanked(text) if ours else ended(text, statement))
    pieces.append(blanked(bare[position:]))
    return found, "".join(pieces)


def ended(text: str, statement: Statement) -> str:
    """A rule of clingo's, ended by `.` whatever ended it in C-ASP."""
    end = statement.terminator - statement.start
    return f"{text[:end]}.{text[end + 1 :]}"


def _rules(source: Source, complaints: Complaints, rules: str, remaining: str) -> tuple[Node, ...]:
    """The syntax trees of the `remaining` rules, those that are no plain facts; unsafe
    variables are faults too."""
    check_numbers(source, rules)
    before = len(source.faults)
    nodes = syntax_trees(source, complaints, rules, remaining)
    if len(source.faults) == before:
        complaints.check_safety(rules)
    return nodes


def syntax_trees(
    source: Source, complaints: Complaints, rules: str, remaining: str
) -> tuple[Node, ...]:
    """The syntax trees of the `remaining` rules, those that are no plain facts.

    clingo's complaints and what is forbidden become faults.
    """
    if _hidden(source, rules) or _is_too_long(source, remaining):
        return ()
    trees = complaints.parse(remaining)
    if trees is None:
        return ()
    nodes = []
    for tree in trees:
        if tree.ast_type == ASTType.Program:
            continue
        try:
            nodes.append(copy(tree))
        except DepthError:
            _fault(source, tree, "nesting", f"terms are nested more than {MAX_DEPTH} deep")
    calls = "@" in remaining
    for node in nodes:
        _refuse_foreign(source, node, calls)
    check_results(source, nodes)
    return tuple(nodes)


_KEYWORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|#\w+|[^\t\n\r -~]')


def _hidden(source: Source, rules: str) -> bool:
    """Whether something hides inside a rule that clingo must not see at all."""
    for token in _KEYWORD.finditer(rules):
        word = token.group()
        if word[0] == '"':
            continue
        if directives.is_forbidden(word) or word in ("#from", "#prefix") or not word.isascii():
            source.fault(token.start(), "forbidden", f"`{word}` has no place inside a rule")
            return True
    return False


def _is_too_long(source: Source, remaining: str) -> bool:
    size = sum(map(len, remaining.split()))
    if size > MAX_RULE_CHARACTERS:
        message = (
            f"the rules have {size:,} characters, plain facts aside; at most "
            f"{MAX_RULE_CHARACTERS:,} are read: say more with fewer rules and with facts"
        )
        source.fault(0, "size", message)
    return size > MAX_RULE_CHARACTERS


def _fault(source: Source, tree: clingo_ast.AST, code: str, message: str) -> None:
    begin = tree.location.begin
    source.fault(source.index(begin.line, begin.column), code, message)


def _refuse_foreign(source: Source, statement: Node, calls: bool) -> None:
    """Note what a request must not hold, and pools that multiply beyond measure.

    External functions are looked for only if there may be `calls`.
    """
    alternatives = 1
    for node in statement.walk():
        if calls and node.kind == ASTType.Function and node.origin.external:
            message = f"`{node}`: a request calls no external functions and runs no scripts"
            _fault(source, node.origin, "forbidden", message)
        elif node.kind == ASTType.TheoryAtom:
            message = "a request has no theory atoms (`&`); write their meaning as rules"
            _fault(source, node.origin, "forbidden", message)
        elif node.kind == ASTType.Pool:
            alternatives *= len(node.many("arguments"))
    if alternatives > MAX_ALTERNATIVES:
        message = f"the pools of this statement make more than {MAX_ALTERNATIVES:,} rules of it"
        _fault(source, statement.origin, "pools", f"{message}; write `p(X)` and facts for `X`")


def _request(
    source: Source,
    found: Directives,
    name: str,
    rules: str,
    nodes: Sequence[Node],
    plain: Iterable[Signature],
) -> Request:
    unit: Unit = "ms" if found.milliseconds else "s"
    per_unit = 1 if found.milliseconds else 1000
    directives.check_feedback(source, found)
    directives.check_reach(source, found)
    facts = inspect(nodes, plain)
    ages = directives.last_in_unit(source, found, per_unit)
    request = Request(
        name=name,
        rules=rules,
        streams=tuple(
            StreamSource(iri, _in_unit(window, per_unit), found.entailment)
            for iri, window, _statement in found.streams
        ),
        knowledge=tuple(found.knowledge),
        prefixes=found.prefixes,
        inputs=frozenset(found.inputs),
        shows=frozenset(found.shows),
        shows_terms=found.shows_terms,
        feedback=frozenset(found.feedback),
        held=frozenset(found.held),
        last=ages,
        lateness=directives.lateness_in_unit(source, found, per_unit),
        revise=directives.horizon_in_unit(source, found, unit),
        scales=found.scales,
        timezone=found.timezone,
        unit=unit,
        derived=facts.derived,
        used=facts.used,
        priorities=facts.priorities,
    )
    origins = {**fed(request), **{since(s): s for s in found.held}}
    return replace(request, compared=compared(nodes, origins.items()))


_UP_TO_ELEMENT = re.compile(r"#(?:min|max)imi[sz]e\s*\{\s*")


def labels(
    source: Source, rules: str, statements: Iterable[Statement]
) -> Iterator[tuple[tuple[int, int], str]]:
    """Where clingo says that labelled statements begin, and their labels."""
    line, column, before = 0, 1, 0
    for statement in statements:
        if statement.label is None:
            continue
        preference = _UP_TO_ELEMENT.match(rules, statement.start)
        index = preference.end() if preference else statement.start
        place = source.location(index)
        if place.line != line:
            line, column, before = place.line, 1, index - place.column + 1
        column += len(rules[before:index].encode(errors="replace"))
        before = index
        yield (line, column), statement.label


def _in_unit(window: tuple[int, int] | CountWindow, per_unit: int) -> Window:
    if isinstance(window, CountWindow):
        return window
    return TimeWindow(window[0] // per_unit, window[1] // per_unit)


def timed(
    source: Source,
    found: Directives,
    request: Request,
    nodes: Sequence[Node],
    *,
    clocked: bool = False,
) -> Request:
    """The request with what `#held`, `#last` and `now/1` mean; what is wrong with them is noted.
    Where no stream is read there is no time, unless it is `clocked`."""
    watched = frozenset({*request.held, *request.last})
    looked_at = request.used | request.shows | watched
    sees_now = NOW in looked_at and NOW not in request.derived | request.inputs
    request = replace(
        request,
        sees_now=sees_now and (clocked or bool(request.streams)),
        used=request.used | watched,
    )
    _refuse_others(source, found, request)
    _refuse_circles(source, found, request, nodes)
    return _with_rules(request)


def _with_rules(request: Request) -> Request:
    """The request with the rules of its directives behind its own, on lines with labels."""
    added = carried.rules(request)
    if not added:
        return request
    text = request.rules if request.rules.endswith("\n") else request.rules + "\n"
    lines = enumerate(added.items(), text.count("\n") + 1)
    labels = {(number, len(label) + 4): label for number, (label, _rule) in lines}
    return replace(
        request,
        rules=text + "".join(f"{' ' * (len(label) + 3)}{rule}\n" for label, rule in added.items()),
        appended="".join(f"({label}) {rule}\n" for label, rule in added.items()),
        labels={**request.labels, **labels},
    )


def _refuse_others(source: Source, found: Directives, request: Request) -> None:
    """Note what else gives the predicates that the directives make."""
    for signature, statement in _carried_predicates(found).items():
        if signature in request.derived | request.inputs:
            by = "`#input` declares" if signature in request.inputs else "a rule derives"
            source.fault(
                statement.start,
                "clash",
                f"{_text(statement)} gives the rules `{signature}`, which {by} too; give that "
                "one another name",
            )


def _carried_predicates(found: Directives) -> dict[Signature, Statement]:
    made = {carried.since(s): statement for s, statement in found.held.items()}
    return made | {carried.last(s): statement for s, (_age, statement) in found.last.items()}


def _refuse_circles(
    source: Source, found: Directives, request: Request, nodes: Sequence[Node]
) -> None:
    """Note each predicate under `#held` that depends on since when it holds."""
    if not found.held:
        return
    trees: list[AST] = []
    parse_string(carried.meaning(request), trees.append)
    graph = Dependencies([*nodes, *map(copy, trees)])
    for signature, statement in found.held.items():
        made = carried.since(signature)
        if graph.together(signature, made):
            steps = graph.path(signature, made)
            lines = ", ".join(str(line) for line in dict.fromkeys(s.line for s in steps))
            source.fault(
                statement.start,
                "unstratified",
                f"`{signature}` depends on `{made}` (line {lines}), which says since when it "
                f"holds; decide by what was before, with `#last {signature}` or `#feedback "
                f"{signature}`",
            )


def _text(statement: Statement) -> str:
    return f"`{' '.join(statement.text.split())}`"
