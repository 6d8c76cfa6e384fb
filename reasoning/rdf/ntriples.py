"""Terms and statements in N-Triples and N-Quads syntax (W3C RDF 1.1 N-Triples, section 7)."""

from __future__ import annotations

import re
from functools import lru_cache

from citywise.reasoning.errors import ItemError
from citywise.reasoning.rdf.mapping import NOT_IN_IRI, XSD, Blank, Iri, Literal, Term, Triple

_UCHAR = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_IRI = rf"<((?:[^\x00-\x20<>\"{{}}|^`\\]|{_UCHAR})*)>"
_LETTER = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff_"
)
_BLANK = rf"_:([{_LETTER}0-9][{_LETTER}0-9\-.\u00b7\u0300-\u036f\u203f\u2040]*)(?<!\.)"
_LITERAL = (
    rf'"((?:[^"\\\n\r]|\\[tbnrf"\'\\]|{_UCHAR})*)"'
    rf"(?:\^\^{_IRI}|@([A-Za-z]+(?:-[A-Za-z0-9]+)*))?"
)
_TERM = re.compile(f"{_IRI}|{_BLANK}|{_LITERAL}")
_RESOURCE = r'<[^>"]*>|_:[^\s<"]*?'
_STATEMENT = re.compile(
    rf"\s*(?:({_RESOURCE})\s*(<[^>]*>)\s*"
    rf'({_RESOURCE}|"(?:[^"\\]|\\.)*"(?:\^\^<[^>]*>|@[\w-]+)?)\s*'
    rf"({_RESOURCE})?\s*\.\s*)?(?:#.*)?",
    re.ASCII,
)
_ESCAPED = re.compile(rf"{_UCHAR}|\\.")
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {character: f"\\{name}" for name, character in _CHARACTERS.items()}
_WRITTEN |= {'"': '\\"', "\\": "\\\\"}
_TO_WRITE = re.compile(r'[\x00-\x1f"\\\x7f]')
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SHORT = 200
NOWHERE = "nowhere:///"
"""Against which relative IRIs are resolved where there is no base, to be told afterwards."""


class UnreadableError(ItemError):
    """A document that is not RDF in the expected syntax; `line` from 1, if it is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def term(text: str) -> Term:
    """The term that `text` writes: `<iri>`, `_:label` or `"literal"^^<iri>`, `"literal"@en`.

    An `xsd:string` is a plain literal. Raises `ItemError` that says what was expected.
    """
    return _remembered(text) if len(text) <= _SHORT else _term(text)


def write(term: Term) -> str:
    """A term in N-Triples syntax; what `term` reads back as the same term.

    Characters that no IRI may hold are escaped all the same, for messages; nothing reads
    such an IRI back.
    """
    if isinstance(term, Iri):
        return f"<{NOT_IN_IRI.sub(_numeric, term.value)}>"
    if isinstance(term, Blank):
        return f"_:{term.label}"
    text = f'"{_TO_WRITE.sub(_escape, term.lexical)}"'
    if term.language is not None:
        return f"{text}@{term.language}"
    return text if term.datatype is None else f"{text}^^{write(Iri(term.datatype))}"


def statement(line: str, *, quads: bool = True) -> Triple | None:
    """The triple on a line of N-Triples, or with `quads` of N-Quads (its graph is not kept).

    None for an empty line or a comment; raises `ItemError` for anything else.
    """
    match = _STATEMENT.fullmatch(line)
    if match is None:
        raise ItemError(
            f"`{line.strip()[:120]}` is no statement; expected `<subject> <predicate> object .`"
        )
    if match.group(1) is None:
        return None
    subject, predicate, value, graph = match.groups()
    if graph:
        if not quads:
            raise ItemError(f"the graph {graph[:120]}; a statement of N-Triples has none")
        term(graph)
    return triple(subject, predicate, value)


def triple(subject: str, predicate: str, value: str) -> Triple:
    """The triple of three terms in N-Triples syntax; raises `ItemError`."""
    s, p, o = term(subject), term(predicate), term(value)
    if isinstance(s, Literal):
        raise ItemError(f"the subject {subject[:120]} is a literal; expected `<iri>` or `_:label`")
    if not isinstance(p, Iri):
        raise ItemError(f"the predicate {predicate[:120]} is no IRI; expected `<iri>`")
    return Triple(s, p, o)


def _term(text: str) -> Term:
    match = _TERM.fullmatch(text)
    if match is None:
        raise ItemError(f"`{text[:120]}` is no term; {_expected(text)}")
    iri, label, lexical, datatype, language = match.groups()
    if iri is not None:
        return Iri(_iri(iri))
    if label is not None:
        return Blank(label)
    if datatype is not None:
        datatype = _iri(datatype)
    return Literal(_unescape(lexical), None if datatype == XSD + "string" else datatype, language)


_remembered = lru_cache(maxsize=1 << 16)(_term)


def _expected(text: str) -> str:
    if text.startswith("<"):
        return "an IRI is written `<http://…>`, without spaces, quotes or braces"
    if text.startswith("_:"):
        return "a blank node is `_:` and letters, digits, `-`, `_` or `.` (not last)"
    if text.startswith('"'):
        return (
            'a literal is `"text"`, `"text"@en` or `"7"^^<datatype>`, with `\\"` and `\\n` inside'
        )
    return 'expected N-Triples syntax: `<iri>`, `_:label` or `"literal"^^<datatype>`'


def _iri(written: str) -> str:
    if "\\" not in written:
        return absolute(written)
    iri = _unescape(written)
    if found := NOT_IN_IRI.search(iri):
        raise ItemError(f"<{written[:120]}>: {found.group()!r} is no character of an IRI")
    return absolute(iri)


def absolute(iri: str) -> str:
    """The IRI, if it has a scheme; raises `ItemError` for a relative one."""
    if not _SCHEME.match(iri):
        raise ItemError(f"<{iri[:120]}> is a relative IRI; write it in full, with its scheme")
    return iri


def _unescape(text: str) -> str:
    return _ESCAPED.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    escape = match.group()
    if escape[1] not in "uU":
        return _CHARACTERS.get(escape[1], escape[1])
    code = int(escape[2:], 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ItemError(f"`{escape}` is no character")
    return chr(code)


def _escape(match: re.Match[str]) -> str:
    return _WRITTEN.get(match.group()) or _numeric(match)


def _numeric(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04X}"
