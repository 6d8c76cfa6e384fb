"""Constants of RIF's presentation syntax, long (`"7"^^xs:integer`) and short (`7`)."""

from __future__ import annotations

import re

from reasoning.languages.rif.document import Local, RifConstant
from reasoning.languages.rif.parts import Parts, label_of
from reasoning.languages.rif.tokens import Cursor, Token, unescaped
from reasoning.languages.rif.unparse import KNOWN, LOCAL, NAME
from reasoning.rdf.mapping import XSD, Iri, Literal

TERM = 'a term: `?x`, `ex:name`, `<iri>`, `_local`, `"text"`, a number, `List(…)` or `External(…)`'
_NAMED = re.compile(
    rf'\s*(?:<(?P<iri>[^<>\s]*)>|(?P<curie>(?:{NAME})?:{LOCAL})|"(?P<long>[^"]*)"\^\^)'
)


class Constants:
    """Reads constants at a cursor."""

    def __init__(self, parts: Parts, cursor: Cursor) -> None:
        self._parts = parts
        self._cursor = cursor
        self._undeclared = set[str]()

    def constant(self, expected: str = TERM) -> RifConstant:
        """The constant at the cursor; raises `RequestError` if there is none."""
        cursor, token = self._cursor, self._cursor.peek()
        if token.kind == "string":
            return self._string(cursor.take())
        if token.kind == "number":
            return RifConstant(Literal(cursor.take().text, XSD + _datatype(token.text)))
        if token.kind == "local":
            return RifConstant(Local(cursor.take().text[1:]))
        if token.kind == "name" and not _is_keyword(cursor):
            return RifConstant(Iri(self._bare(cursor.take())))
        return RifConstant(Iri(self.iri(expected)))

    def iri(self, expected: str) -> str:
        """The IRI at the cursor, `<iri>` or `ex:name`; raises `RequestError`."""
        token = self._cursor.peek()
        if token.kind == "iri":
            return self._parts.iri(self._cursor.take().start, token.text[1:-1])
        if token.kind != "curie":
            raise self._cursor.error(expected)
        prefix, _, local = self._cursor.take().text.partition(":")
        return self._namespace(token, prefix) + local

    def _namespace(self, token: Token, prefix: str) -> str:
        known = self._parts.prefixes.get(prefix, KNOWN.get(prefix))
        if known is not None:
            return known
        if prefix not in self._undeclared:
            self._undeclared.add(prefix)
            message = f"the prefix of `{token.text}` is not declared; add `Prefix({prefix} <…>)`"
            if prefix == "_":
                message = f"`{token.text}`: RIF has no blank nodes; write `{token.text[:1]}"
                message += f"{token.text[2:]}` for a constant of this document, or `Exists ?x (…)`"
            self._parts.source.fault(token.start, "prefix", message)
        return f"{prefix}:"

    def _bare(self, token: Token) -> str:
        """The IRI of a name without prefix, as R4's own example has one: that of the empty
        prefix, else relative to the base."""
        namespace = self._parts.prefixes.get("")
        if namespace is not None:
            return namespace + token.text
        if self._parts.base is not None:
            return self._parts.iri(token.start, token.text)
        message = (
            f"`{token.text}` has no prefix; declare the empty one, `Prefix(<…>)`, or write "
            f"`_{token.text}` for a constant of this document, `ex:{token.text}` for an IRI"
        )
        self._parts.source.fault(token.start, "prefix", message)
        return token.text

    def _string(self, token: Token) -> RifConstant:
        """`"x"`, `"x"@en` or `"x"^^xs:name`."""
        cursor, lexical = self._cursor, unescaped(self._parts.source, token)
        if cursor.takes("^^"):
            space = self.iri("a datatype after `^^`, e.g. `xs:integer`")
            return self._parts.constant(token.start, lexical, space)
        if cursor.peek().kind == "language":
            return RifConstant(Literal(lexical, None, cursor.take().text[1:]))
        return RifConstant(Literal(lexical))

    def variable_name(self, token: Token) -> str:
        """The name of a variable, `?x` or `?"any text"`."""
        if token.text.startswith('?"'):
            return unescaped(self._parts.source, token, 2)
        return token.text[1:]

    def label(self, meta: str) -> str:
        """The name that metadata gives, `(* <iri> *)` or `(* ex:r1[…] *)`; else empty."""
        found = _NAMED.match(meta)
        return label_of(found[found.lastgroup or 0]) if found else ""


def _datatype(number: str) -> str:
    if "e" in number.lower():
        return "double"
    return "decimal" if "." in number else "integer"


_KEYWORDS = frozenset(("Forall", "If", "Then", "Exists"))
_WITH_BRACKETS = frozenset(("Document", "Group", "And", "Or", "List", "External", "Import"))


def _is_keyword(cursor: Cursor) -> bool:
    """Whether a name is a word of the language where it stands."""
    text = cursor.peek().text
    return text in _KEYWORDS or (text in _WITH_BRACKETS and cursor.sees("(", 1))
