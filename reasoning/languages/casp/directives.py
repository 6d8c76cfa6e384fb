"""The directives of C-ASP: prefixes, streams and windows, knowledge, inputs and outputs."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import cast, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from citywise.reasoning.asp.statements import Source, Statement
from citywise.reasoning.errors import ItemError, RequestError
from citywise.reasoning.model.request import (
    CountWindow,
    Entailment,
    KnowledgeSource,
    Signature,
    Unit,
    parse_duration,
)

LARGEST = 999_999_999
"""Of the numbers in directives."""
LONGEST = 24 * 86_400_000
"""Milliseconds that a window may reach back where times are in milliseconds: 32 bits hold
no more (docs/casp.md, Windows)."""
_MILLISECONDS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_COUNT = r"([0-9]+)"
_DURATION = _COUNT + r"\s*(d|h|ms|m|s)"
_PREFIX = re.compile(r"#prefix\s+([A-Za-z][A-Za-z0-9_-]*)?\s*:\s*<([^<>\s\"]+)>\s*$")
_BEGUN = re.compile(r"#prefix\s+[\w-]*\s*:\s*<[^<>\s\"]+>(?=\s*\S)")
STREAM = re.compile(
    r"#from\s+stream\s+<([^<>\s\"]+)>\s*(\[.*?\])?\s*(?:\[\s*([\w-]*)\s*\])?\s*$", re.DOTALL
)
"""Its groups are the stream, its window, and what is inferred from it."""
_KNOWLEDGE = re.compile(r"#from\s+<([^<>\n\"]+)>\s*(?:\[\s*([\w-]*)\s*\])?\s*$")
_TIME_WINDOW = re.compile(rf"\[\s*time\s+{_DURATION}\s+step\s+{_DURATION}\s*\]$")
_COUNT_WINDOW = re.compile(rf"\[\s*count\s+{_COUNT}\s+step\s+{_COUNT}\s*\]$")
_SIGNATURE = re.compile(r"#\w+\s+(-?_*[a-z][A-Za-z0-9_']*)\s*/\s*([0-9]{1,3})\s*$")
_LAST = re.compile(rf"(?P<predicate>#last\s+\S+?\s*/\s*[0-9]{{1,3}})(?:\s+{_DURATION})?\s*$")
_LATENESS = re.compile(rf"#lateness\s+{_DURATION}\s*$")
_REVISE = re.compile(rf"#revise\s+({_COUNT}\s*(?:d|h|ms|m|s)?)\s*$")
_SCALE = re.compile(rf"#scale\s+(_*[a-z][A-Za-z0-9_']*)\s+{_COUNT}\s*$")
_DECIMAL = re.compile(r"([0-9]+)\.([0-9]+)(?:\s*(d|h|ms|m|s)\b)?")
_TIMEZONE = re.compile(r'#timezone\s+"([^"\n]{1,100})"\s*$')
_FORBIDDEN = {
    "#script": "scripts are not allowed in a request",
    "#include": "a request includes no files; name knowledge bases with `#from <file>`",
    "#program": "a request has no program parts; every rule holds in every window",
    "#theory": "a request has no theory atoms; write their meaning as rules",
    "#end": "scripts are not allowed in a request",
}
_CLINGO = (
    *("#show", "#const", "#external", "#defined", "#edge", "#heuristic", "#project"),
    *("#minimize", "#minimise", "#maximize", "#maximise", "#count", "#sum", "#min", "#max"),
    *("#true", "#false", "#inf", "#infimum", "#sup", "#supremum"),
)


@dataclass
class Directives:
    """What the directives of a text say, before times are turned into units."""

    prefixes: dict[str, str] = field(default_factory=dict)
    streams: list[tuple[str, tuple[int, int] | CountWindow, Statement]] = field(
        default_factory=list
    )
    entailment: Entailment | None = None
    """What is inferred from what comes on the streams."""
    knowledge: list[KnowledgeSource] = field(default_factory=list)
    inputs: set[Signature] = field(default_factory=set)
    shows: set[Signature] = field(default_factory=set)
    shows_terms: bool = False
    feedback: dict[Signature, Statement] = field(default_factory=dict)
    held: dict[Signature, Statement] = field(default_factory=dict)
    last: dict[Signature, tuple[int | None, Statement]] = field(default_factory=dict)
    """With the age, in milliseconds, at which a time is forgotten."""
    lateness: tuple[int, Statement] | None = None
    revise: tuple[str, Statement] | None = None
    scales: dict[str, int] = field(default_factory=dict)
    timezone: ZoneInfo | None = None
    milliseconds: bool = False
    places: dict[tuple[str, str], Statement] = field(default_factory=dict)
    """Where each thing was declared: `("#prefix", "tl")`, `("#show", "noH/1")`."""

    def noted(self, statement: Statement, what: object) -> None:
        """Remember the first statement that declared `what`."""
        keyword = statement.text.split(maxsplit=1)[0]
        self.places.setdefault((keyword, str(what)), statement)


def read(source: Source, statement: Statement, found: Directives, folder: Path) -> bool:
    """Read `statement` into `found` if it is a directive of C-ASP; False if it is clingo's.

    Raises `RequestError` for a directive that is malformed, unknown or forbidden.
    """
    if not statement.text.startswith("#"):
        return False
    word = re.match(r"#\w*", statement.text)
    keyword = word.group() if word else "#"
    if keyword in _FORBIDDEN:
        raise source.error(statement.start, "forbidden", f"`{keyword}`: {_FORBIDDEN[keyword]}")
    reader = _READERS.get(keyword)
    if reader is None:
        _check_known(source, statement, keyword)
        return False
    return reader(source, statement, found, folder)


def is_forbidden(keyword: str) -> bool:
    """Whether a request must not hold this keyword of clingo's anywhere."""
    return keyword in _FORBIDDEN


def _check_known(source: Source, statement: Statement, keyword: str) -> None:
    if keyword in _CLINGO:
        return
    near = difflib.get_close_matches(keyword, [*_READERS, *_CLINGO], 1)
    hint = f"; did you mean `{near[0]}`?" if near else f"; there are {', '.join(sorted(_READERS))}"
    raise source.error(statement.start, "directive", f"there is no directive `{keyword}`{hint}")


def _prefix(source: Source, statement: Statement, found: Directives, _folder: Path) -> bool:
    match = _PREFIX.match(statement.text)
    if not match:
        begun = _BEGUN.match(statement.text)
        end = f"the `.` at its end is missing: `{begun[0]}.`; " if begun else ""
        wanted = f"{end}expected `#prefix name : <http://example.org/>.`"
        raise source.error(statement.start, "prefix", wanted)
    name, iri = match.group(1) or "", match.group(2)
    if found.prefixes.setdefault(name, iri) != iri:
        raise source.error(
            statement.start,
            "prefix",
            f"prefix `{name}` already stands for <{found.prefixes[name]}>",
        )
    found.noted(statement, name)
    return True


def _from(source: Source, statement: Statement, found: Directives, folder: Path) -> bool:
    if match := STREAM.match(statement.text):
        _stream(source, statement, found, *match.groups())
        return True
    if match := _KNOWLEDGE.match(statement.text):
        knowledge = _knowledge(source, statement, folder, *match.groups())
        found.knowledge.append(knowledge)
        found.noted(statement, knowledge.path)
        return True
    raise source.error(
        statement.start, "from", "expected `#from stream <iri> [window]` or `#from <file>`"
    )


def _stream(
    source: Source,
    statement: Statement,
    found: Directives,
    iri: str,
    window: str | None,
    entailment: str | None,
) -> None:
    if window is None:
        raise source.error(
            statement.start,
            "window",
            f"stream <{iri}> has no window; write e.g. `[time 1h step 30m]` or "
            "`[count 10 step 1]` behind it",
        )
    if any(iri == other for other, _window, _statement in found.streams):
        raise source.error(
            statement.start, "stream", f"stream <{iri}> is named twice; give it one window"
        )
    regime = _regime(source, statement, entailment)
    if found.streams and regime != found.entailment:
        raise source.error(
            statement.start,
            "entailment",
            "a request infers the same from all its streams, as their items meet in one "
            "window; write `[rdfs]` or `[owl-rl]` behind each of them or behind none",
        )
    found.entailment = regime
    found.streams.append((iri, _window(source, statement, window, found), statement))


def _knowledge(
    source: Source, statement: Statement, folder: Path, file: str, entailment: str | None
) -> KnowledgeSource:
    regime = _regime(source, statement, entailment)
    if not file.isprintable():
        raise source.error(statement.start, "from", "a file's name has no control characters")
    return KnowledgeSource(str(folder / file), regime, written=file)


def _regime(source: Source, statement: Statement, entailment: str | None) -> Entailment | None:
    regimes = get_args(Entailment)
    if entailment is not None and entailment not in regimes:
        raise source.error(
            statement.start,
            "entailment",
            f"`[{entailment}]` is no entailment regime; there are {', '.join(regimes)}",
        )
    return cast("Entailment | None", entailment)


def _window(
    source: Source, statement: Statement, text: str, found: Directives
) -> tuple[int, int] | CountWindow:
    at = statement.start + statement.text.index("[")
    if match := _TIME_WINDOW.match(text):
        width, width_unit, slide, slide_unit = match.groups()
        found.milliseconds |= "ms" in (width_unit, slide_unit)
        widths = (
            _whole(source, at, "window", width) * _MILLISECONDS[width_unit],
            _whole(source, at, "window", slide) * _MILLISECONDS[slide_unit],
        )
        if widths[1] == 0:
            raise source.error(at, "window", "a step must be longer than 0")
        return widths
    if match := _COUNT_WINDOW.match(text):
        count, step = (_whole(source, at, "window", digits) for digits in match.groups())
        if count == 0 or step == 0:
            raise source.error(at, "window", "count and step must be at least 1")
        return CountWindow(count, step)
    otherwise = (
        f"`{_short(text)}` is no window; write `[time 1h step 30m]` (units d, h, m, s, ms) or "
        "`[count 10 step 1]`"
    )
    raise source.error(at, "window", _decimal(text) or otherwise)


def _whole(source: Source, at: int, code: str, digits: str) -> int:
    if len(digits) > len(str(LARGEST)):
        message = f"`{_short(digits)}` is too large; at most {LARGEST:,} can stand here"
        raise source.error(at, code, message)
    return int(digits)


def _decimal(text: str) -> str | None:
    """What to say of the decimal in a directive, if there is one."""
    match = _DECIMAL.search(text)
    if match is None:
        return None
    message = f"`{_short(match.group())}`: directives take whole numbers only"
    unit = _MILLISECONDS.get(match.group(3))
    if unit is None or len(match.group()) > len(str(LARGEST)):
        return message
    duration = Fraction(f"{match.group(1)}.{match.group(2)}") * unit
    fitting = [name for name, size in _MILLISECONDS.items() if duration % size == 0]
    return (
        f"{message}; write `{duration / _MILLISECONDS[fitting[0]]}{fitting[0]}`"
        if fitting
        else message
    )


def _short(text: str) -> str:
    return " ".join(text[:80].split())


def signature(source: Source, statement: Statement, text: str = "") -> Signature:
    """The `p/2` behind a directive's keyword, in `text` or all of it; raises `RequestError`."""
    match = _SIGNATURE.match(text or statement.text)
    if not match:
        raise source.error(
            statement.start, "signature", "expected a predicate and its arity, e.g. `tl_booked/3`"
        )
    return Signature(match.group(1), int(match.group(2)))


def _input(source: Source, statement: Statement, found: Directives, _folder: Path) -> bool:
    given = signature(source, statement)
    found.inputs.add(given)
    found.noted(statement, given)
    return True


def _show(_source: Source, statement: Statement, found: Directives, _folder: Path) -> bool:
    """`#show` stays in the rules for clingo; only what it names is noted here."""
    if match := _SIGNATURE.match(statement.text):
        signature = Signature(match.group(1), int(match.group(2)))
        found.shows.add(signature)
        found.noted(statement, signature)
    else:
        found.shows_terms = True
    return False


def _feedback(source: Source, statement: Statement, found: Directives, _folder: Path) -> bool:
    found.feedback[signature(source, statement)] = statement
    return True


def _held(source: Source, statement: Statement, found: Directives, _folder: Path) -> bool:
    given = signature(source, statement)
    found.held.setdefault(given, statement)
    found.noted(statement, given)
    return True


def _last(source: Source, statement: Statement, found: Directives, _folder: Path) -> bool:
    match = _LAST.match(statement.text)
    if not match:
        expected = "expected a predicate, its arity and an age, e.g. `#last tl_booked/3 30d`"
        message = _decimal(statement.text) or expected
        raise source.error(statement.start, "signature", message)
    given = signature(source, statement, match.group("predicate"))
    digits, unit = match.group(2), match.group(3)
    age = None
    if digits:
        age = _whole(source, statement.start, "signature", digits) * _MILLISECONDS[unit]
    if found.last.setdefault(given, (age, statement))[0] != age:
        raise _again(source, statement, "signature", found.last[given][1])
    found.noted(statement, given)
    return True


def _lateness(source: Source, statement: Statement, found: Directives, _folder: Path) -> bool:
    match = _LATENESS.match(statement.text)
    if not match:
        message = _decimal(statement.text) or "expected e.g. `#lateness 5s`"
        raise source.error(statement.start, "lateness", message)
    if found.lateness is not None:
        raise _again(source, statement, "lateness", found.lateness[1])
    count = _whole(source, statement.start, "lateness", match.group(1))
    found.lateness = count * _MILLISECONDS[match.group(2)], statement
    return True


def _revise(source: Source, statement: Statement, found: Directives, _folder: Path) -> bool:
    match = _REVISE.match(statement.text)
    if not match:
        message = _decimal(statement.text) or "expected e.g. `#revise 1h`"
        raise source.error(statement.start, "revise", message)
    if found.revise is not None:
        raise _again(source, statement, "revise", found.revise[1])
    _whole(source, statement.start, "revise", match.group(2))
    found.revise = match.group(1), statement
    return True


def _scale(source: Source, statement: Statement, found: Directives, _folder: Path) -> bool:
    match = _SCALE.match(statement.text)
    expected = "expected e.g. `#scale tl_price 100`"
    if not match:
        message = _decimal(statement.text) or expected
        raise source.error(statement.start, "scale", message)
    name, scale = match.group(1), _whole(source, statement.start, "scale", match.group(2))
    if scale == 0:
        raise source.error(statement.start, "scale", expected)
    if found.scales.setdefault(name, scale) != scale:
        raise _again(source, statement, "scale", found.places["#scale", name])
    found.noted(statement, name)
    return True


def _timezone(source: Source, statement: Statement, found: Directives, _folder: Path) -> bool:
    match = _TIMEZONE.match(statement.text)
    if not match:
        raise source.error(
            statement.start, "timezone", 'expected e.g. `#timezone "Europe/Copenhagen"`'
        )
    if found.timezone is not None:
        raise _again(source, statement, "timezone", found.places["#timezone", ""])
    found.noted(statement, "")
    try:
        found.timezone = ZoneInfo(match.group(1))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise source.error(
            statement.start, "timezone", f"no time zone is called `{match.group(1)}`"
        ) from error
    return True


def _again(source: Source, statement: Statement, what: str, first: Statement) -> RequestError:
    line = source.location(first.start).line
    message = f"`{' '.join(first.text.split())}` stands in line {line} already; keep one of the two"
    return source.error(statement.start, what, message)


_READERS = {
    "#prefix": _prefix,
    "#from": _from,
    "#input": _input,
    "#show": _show,
    "#feedback": _feedback,
    "#held": _held,
    "#last": _last,
    "#lateness": _lateness,
    "#revise": _revise,
    "#scale": _scale,
    "#timezone": _timezone,
}


def check_feedback(source: Source, found: Directives) -> None:
    """Note each predicate that is fed back but not among the shown ones."""
    if not (found.shows or found.shows_terms):
        return
    for signature, statement in found.feedback.items():
        if signature not in found.shows:
            source.fault(
                statement.start,
                "feedback",
                f"`{signature}` is fed back but not shown; add `#show {signature}.`",
            )


def last_in_unit(source: Source, found: Directives, per_unit: int) -> dict[Signature, int | None]:
    """The ages of `#last` in units of `per_unit` milliseconds; a fault if one is not whole."""
    for age, statement in found.last.values():
        if age is not None and age % per_unit:
            source.fault(
                statement.start,
                "signature",
                "the windows are in seconds, so give the age in whole seconds",
            )
    return {s: None if age is None else age // per_unit for s, (age, _) in found.last.items()}


def check_reach(source: Source, found: Directives) -> None:
    """Note each window that reaches further back than times in milliseconds can.

    Beside others a window holds what it held at its own last tick, up to a step ago.
    """
    if not found.milliseconds:
        return
    for iri, window, statement in found.streams:
        if isinstance(window, CountWindow):
            continue
        reach = window[0] + (window[1] if len(found.streams) > 1 else 0)
        if reach > LONGEST:
            source.fault(
                statement.start,
                "window",
                f"the window of <{iri}> reaches back more than 24 days (beside other streams its "
                "step counts too), too far for times in milliseconds; make it shorter, or give "
                "no window of the request in `ms`",
            )


def lateness_in_unit(source: Source, found: Directives, per_unit: int) -> int:
    """The lateness in units of `per_unit` milliseconds; a fault if it is not whole."""
    if found.lateness is None:
        return 0
    milliseconds, statement = found.lateness
    if milliseconds % per_unit:
        source.fault(
            statement.start,
            "lateness",
            "the windows are in seconds, so give the lateness in whole seconds",
        )
    return milliseconds // per_unit


def horizon_in_unit(source: Source, found: Directives, unit: Unit) -> int | None:
    """How far back items may be revised, in a unit; a fault if it is not whole."""
    if found.revise is None:
        return None
    text, statement = found.revise
    try:
        return parse_duration(text, unit)
    except ItemError as error:
        source.fault(statement.start, "revise", str(error))
        return None
