"""The directives of plain LARS: those of C-ASP that make sense in it, and `#stream`."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path

from reasoning.asp.statements import Source, Statement
from reasoning.languages.casp import directives
from reasoning.languages.casp.directives import Directives
from reasoning.model.request import Signature, TimeWindow

_OURS = (
    *("#const", "#defined", "#from", "#input", "#prefix", "#scale", "#show", "#stream"),
    "#timezone",
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


def read(source: Source, statement: Statement, found: LarsDirectives, folder: Path) -> bool:
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
    if word.startswith("#") and not directives.is_forbidden(word):
        _check_known(source, statement, word)
    if word == "#stream":
        given = directives.signature(source, statement)
        found.streamed.setdefault(given, statement)
        return True
    if word == "#from" and re.match(r"#from\s+stream\b", statement.text):
        _stream(source, statement, found)
        return True
    if word == "#show":
        return _show(source, statement, found, folder)
    return directives.read(source, statement, found, folder)


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
    directives.read(source, statement, found, folder)
    if found.shows_terms:
        found.shows_terms = False
        message = "plain LARS shows predicates: write `#show p/1.`, or `#show.` for none"
        raise source.error(statement.start, "signature", message)
    return True


def _stream(source: Source, statement: Statement, found: LarsDirectives) -> None:
    match = directives.STREAM.match(statement.text)
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
