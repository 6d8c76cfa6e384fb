"""C-ASP: continuous reasoning requests in answer set programming (thesis, Figure 4.3).

Directives are read here; the rules are clingo's language and clingo's own parser reads
them, from a copy of the text in which everything else is blanked out, so that its
messages carry the positions of the source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from clingo import MessageCode
from clingo import ast as clingo_ast

from reasoning.errors import Location, RequestError
from reasoning.languages.rules import RuleFacts, inspect
from reasoning.languages.statements import Source, Statement, split
from reasoning.program import (
    CountWindow,
    Entailment,
    KnowledgeSource,
    Request,
    Signature,
    StreamSource,
    TimeWindow,
    Unit,
    Window,
)

_MILLISECONDS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_DURATION = r"(\d+)\s*(d|h|ms|m|s)"
_PREFIX = re.compile(r"#prefix\s+([A-Za-z][\w-]*)?\s*:\s*<([^<>\s]+)>\s*$")
_STREAM = re.compile(r"#from\s+stream\s+<([^<>\s]+)>\s*(\[.*\])?\s*$", re.DOTALL)
_KNOWLEDGE = re.compile(r"#from\s+<([^<>\n]+)>\s*(?:\[\s*([\w-]*)\s*\])?\s*$")
_TIME_WINDOW = re.compile(rf"\[\s*time\s+{_DURATION}\s+step\s+{_DURATION}\s*\]$")
_COUNT_WINDOW = re.compile(r"\[\s*count\s+(\d+)\s+step\s+(\d+)\s*\]$")
_SIGNATURE = re.compile(r"#\w+\s+(-?[a-z_][\w']*)\s*/\s*(\d+)\s*$")
_LATENESS = re.compile(rf"#lateness\s+{_DURATION}\s*$")
_SCALE = re.compile(r"#scale\s+([a-z_][\w']*)\s+(\d+)\s*$")
_TIMEZONE = re.compile(r'#timezone\s+"([^"]+)"\s*$')
_LABEL = re.compile(r"\(\s*\w+\s*\)\s*(?=[A-Za-z_:{#\-\d&])")
_FORBIDDEN = {
    "#script": "scripts are not allowed in a request",
    "#include": "a request includes no files; name knowledge bases with `#from <file>`",
}


@dataclass
class _Draft:
    """What the directives of a text say, before times are turned into units."""

    prefixes: dict[str, str] = field(default_factory=dict)
    streams: list[tuple[str, tuple[int, int] | CountWindow, Statement]] = field(
        default_factory=list
    )
    knowledge: list[KnowledgeSource] = field(default_factory=list)
    inputs: set[Signature] = field(default_factory=set)
    shows: set[Signature] = field(default_factory=set)
    shows_terms: bool = False
    feedback: dict[Signature, Statement] = field(default_factory=dict)
    lateness: tuple[int, Statement] | None = None
    scales: dict[str, int] = field(default_factory=dict)
    timezone: ZoneInfo | None = None
    milliseconds: bool = False


def parse_file(path: Path) -> Request:
    """Read a `.casp` file; knowledge bases are relative to its folder."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RequestError(Location(str(path), 1, 1), "file", f"{error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RequestError(Location(str(path), 1, 1), "encoding", "is not UTF-8 text") from error
    return parse(text, name=path.stem, file=str(path), folder=path.parent)


def parse(
    text: str, *, name: str = "request", file: str = "<text>", folder: Path = Path()
) -> Request:
    """Turn a C-ASP text into a request; raises `RequestError` at the first fault."""
    source = Source(text, file)
    draft = _Draft()
    masked = list(text)
    for statement in split(source):
        if label := _LABEL.match(text, statement.start):
            _blank(masked, statement.start, label.end())
            statement = replace(
                statement, start=label.end(), text=text[label.end() : statement.terminator]
            )
        if _directive(source, statement, draft, folder):
            _blank(masked, statement.start, statement.end)
            continue
        masked[statement.terminator] = "."
    rules = "".join(masked)
    facts = _check_rules(source, rules)
    return _request(source, draft, name, rules, facts)


def _blank(characters: list[str], start: int, end: int) -> None:
    for index in range(start, end):
        if characters[index] != "\n":
            characters[index] = " "


def _directive(source: Source, statement: Statement, draft: _Draft, folder: Path) -> bool:
    """Read `statement` into `draft` if it is a directive of C-ASP; False if it is clingo's."""
    if not statement.text.startswith("#"):
        return False
    word = re.match(r"#\w*", statement.text)
    keyword = word.group() if word else "#"
    if keyword in _FORBIDDEN:
        raise source.error(statement.start, "forbidden", f"`{keyword}`: {_FORBIDDEN[keyword]}")
    reader = _READERS.get(keyword)
    if reader is None:
        return False
    return reader(source, statement, draft, folder)


def _prefix(source: Source, statement: Statement, draft: _Draft, _folder: Path) -> bool:
    match = _PREFIX.match(statement.text)
    if not match:
        raise source.error(
            statement.start, "prefix", "expected `#prefix name : <http://example.org/>`"
        )
    name, iri = match.group(1) or "", match.group(2)
    if draft.prefixes.setdefault(name, iri) != iri:
        raise source.error(
            statement.start,
            "prefix",
            f"prefix `{name}` already stands for <{draft.prefixes[name]}>",
        )
    return True


def _from(source: Source, statement: Statement, draft: _Draft, folder: Path) -> bool:
    if match := _STREAM.match(statement.text):
        iri, window = match.groups()
        if window is None:
            raise source.error(
                statement.start,
                "window",
                f"stream <{iri}> has no window; write e.g. `[time 1h step 30m]` or "
                "`[count 10 step 1]` behind it",
            )
        draft.streams.append((iri, _window(source, statement, window, draft), statement))
        return True
    if match := _KNOWLEDGE.match(statement.text):
        draft.knowledge.append(_knowledge(source, statement, folder, *match.groups()))
        return True
    raise source.error(
        statement.start, "from", "expected `#from stream <iri> [window]` or `#from <file>`"
    )


def _knowledge(
    source: Source, statement: Statement, folder: Path, file: str, entailment: str | None
) -> KnowledgeSource:
    regimes = get_args(Entailment)
    if entailment is not None and entailment not in regimes:
        raise source.error(
            statement.start,
            "entailment",
            f"`[{entailment}]` is no entailment regime; there are {', '.join(regimes)}",
        )
    return KnowledgeSource(str(folder / file), cast("Entailment | None", entailment))


def _window(
    source: Source, statement: Statement, text: str, draft: _Draft
) -> tuple[int, int] | CountWindow:
    if match := _TIME_WINDOW.match(text):
        width, width_unit, slide, slide_unit = match.groups()
        draft.milliseconds |= "ms" in (width_unit, slide_unit)
        widths = int(width) * _MILLISECONDS[width_unit], int(slide) * _MILLISECONDS[slide_unit]
        if widths[1] == 0:
            raise source.error(statement.start, "window", "a step must be longer than 0")
        return widths
    if match := _COUNT_WINDOW.match(text):
        count, step = int(match.group(1)), int(match.group(2))
        if count == 0 or step == 0:
            raise source.error(statement.start, "window", "count and step must be at least 1")
        return CountWindow(count, step)
    raise source.error(
        statement.start,
        "window",
        f"`{text}` is no window; write `[time 1h step 30m]` (units d, h, m, s, ms) or "
        "`[count 10 step 1]`",
    )


def _signature(source: Source, statement: Statement) -> Signature:
    match = _SIGNATURE.match(statement.text)
    if not match:
        raise source.error(
            statement.start, "signature", "expected a predicate and its arity, e.g. `tl_booked/3`"
        )
    return Signature(match.group(1), int(match.group(2)))


def _input(source: Source, statement: Statement, draft: _Draft, _folder: Path) -> bool:
    draft.inputs.add(_signature(source, statement))
    return True


def _show(_source: Source, statement: Statement, draft: _Draft, _folder: Path) -> bool:
    """`#show` stays in the rules for clingo; only what it names is noted here."""
    if match := _SIGNATURE.match(statement.text):
        draft.shows.add(Signature(match.group(1), int(match.group(2))))
    else:
        draft.shows_terms = True
    return False


def _feedback(source: Source, statement: Statement, draft: _Draft, _folder: Path) -> bool:
    draft.feedback[_signature(source, statement)] = statement
    return True


def _lateness(source: Source, statement: Statement, draft: _Draft, _folder: Path) -> bool:
    match = _LATENESS.match(statement.text)
    if not match:
        raise source.error(statement.start, "lateness", "expected e.g. `#lateness 5s`")
    draft.lateness = int(match.group(1)) * _MILLISECONDS[match.group(2)], statement
    return True


def _scale(source: Source, statement: Statement, draft: _Draft, _folder: Path) -> bool:
    match = _SCALE.match(statement.text)
    if not match or int(match.group(2)) == 0:
        raise source.error(statement.start, "scale", "expected e.g. `#scale tl_price 100`")
    draft.scales[match.group(1)] = int(match.group(2))
    return True


def _timezone(source: Source, statement: Statement, draft: _Draft, _folder: Path) -> bool:
    match = _TIMEZONE.match(statement.text)
    if not match:
        raise source.error(
            statement.start, "timezone", 'expected e.g. `#timezone "Europe/Copenhagen"`'
        )
    try:
        draft.timezone = ZoneInfo(match.group(1))
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise source.error(
            statement.start, "timezone", f"no time zone is called `{match.group(1)}`"
        ) from error
    return True


_READERS = {
    "#prefix": _prefix,
    "#from": _from,
    "#input": _input,
    "#show": _show,
    "#feedback": _feedback,
    "#lateness": _lateness,
    "#scale": _scale,
    "#timezone": _timezone,
}


def _check_rules(source: Source, rules: str) -> RuleFacts:
    """Let clingo parse the rules; its first complaint becomes a `RequestError`."""
    complaints: list[str] = []

    def note(_code: MessageCode, message: str) -> None:
        complaints.append(message)

    statements: list[clingo_ast.AST] = []
    try:
        clingo_ast.parse_string(rules, statements.append, logger=note)
    except RuntimeError as error:
        raise _clingo_error(source, complaints or [str(error)]) from None
    return inspect(source.file, statements)


def _clingo_error(source: Source, complaints: list[str]) -> RequestError:
    match = re.match(r"<string>:(\d+):(\d+)(?:-[\d:]+)?: (?:error|info): (.*)", complaints[0], re.S)
    if not match:
        return RequestError(Location(source.file, 1, 1), "syntax", complaints[0])
    line, column, message = match.groups()
    return RequestError(
        Location(source.file, int(line), int(column)), "syntax", " ".join(message.split())
    )


def _request(source: Source, draft: _Draft, name: str, rules: str, facts: RuleFacts) -> Request:
    unit: Unit = "ms" if draft.milliseconds else "s"
    per_unit = 1 if draft.milliseconds else 1000
    streams: list[StreamSource] = []
    for iri, window, statement in draft.streams:
        if any(iri == other.iri for other in streams):
            raise source.error(statement.start, "stream", f"stream <{iri}> is named twice")
        streams.append(StreamSource(iri, _in_unit(window, per_unit)))
    for signature, statement in draft.feedback.items():
        if (draft.shows or draft.shows_terms) and signature not in draft.shows:
            raise source.error(
                statement.start,
                "feedback",
                f"`{signature}` is fed back but not shown; add `#show {signature}.`",
            )
    return Request(
        name=name,
        rules=rules,
        streams=tuple(streams),
        knowledge=tuple(draft.knowledge),
        prefixes=draft.prefixes,
        inputs=frozenset(draft.inputs),
        shows=frozenset(draft.shows),
        shows_terms=draft.shows_terms,
        feedback=frozenset(draft.feedback),
        lateness=_lateness_in_unit(source, draft, per_unit),
        scales=draft.scales,
        timezone=draft.timezone,
        unit=unit,
        derived=facts.derived,
        used=facts.used,
        compared=facts.compared,
        priorities=facts.priorities,
    )


def _in_unit(window: tuple[int, int] | CountWindow, per_unit: int) -> Window:
    if isinstance(window, CountWindow):
        return window
    return TimeWindow(window[0] // per_unit, window[1] // per_unit)


def _lateness_in_unit(source: Source, draft: _Draft, per_unit: int) -> int:
    if draft.lateness is None:
        return 0
    milliseconds, statement = draft.lateness
    if milliseconds % per_unit:
        raise source.error(
            statement.start,
            "lateness",
            "the windows are in seconds, so give the lateness in whole seconds",
        )
    return milliseconds // per_unit
