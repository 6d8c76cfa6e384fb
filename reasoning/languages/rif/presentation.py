"""RIF-Core in presentation syntax, with R4's window (docs/rif.md).

Source: W3C RIF Core (second edition), EBNF; the `If … Then …` form is that of RIF-PRD.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from citywise.reasoning.asp.statements import Source
from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.rif.document import (
    And,
    Equal,
    Exists,
    Frame,
    Local,
    Member,
    Or,
    RifAtom,
    RifConstant,
    RifFormula,
    RifTerm,
    RifVariable,
    Sequence,
    variables,
)
from citywise.reasoning.languages.rif.parts import MAX_DEPTH, Parts, Written, label_of
from citywise.reasoning.languages.rif.tokens import Cursor, Token, explained, hint, unescaped
from citywise.reasoning.languages.rif.unparse import KNOWN, LOCAL, NAME
from citywise.reasoning.rdf.mapping import XSD, Iri, Literal

TERM = 'a term: `?x`, `ex:name`, `<iri>`, `_local`, `"text"`, a number, `List(…)` or `External(…)`'
_NAMED = re.compile(
    rf'\s*(?:<(?P<iri>[^<>\s]*)>|(?P<curie>(?:{NAME})?:{LOCAL})|"(?P<long>[^"]*)"\^\^)'
)


_REVISE = re.compile(r"(?:\s|\(\*.*?\*\))*(#revise\s+([^.\n]*)\.)", re.DOTALL)


class ConstantReader:
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


T = TypeVar("T")
_NEGATIONS = ("Naf", "Not", "Neg", "INeg")
_ACTIONS = ("Do", "Assert", "Retract", "Modify", "Execute")
_FORMULA = (
    "a formula: `p(a b)`, `o[p -> v]`, `a # C`, `a = b`, `External(…)`, `And(…)`, `Or(…)` or "
    "`Exists ?x (…)`"
)


def document(source: Source, name: str) -> Written:
    """Read a document; raises `RequestError` at the first place where it cannot be read."""
    parts = Parts(source)
    found = _REVISE.match(source.text)
    if found is not None:
        parts.add_horizon(found.start(1), found.group(2).strip())
        # What is read next has the positions of the text.
        rest = " " * (found.end(1) - found.start(1))
        text = source.text[: found.start(1)] + rest + source.text[found.end(1) :]
        parts.source = Source(text, source.file)
    reader = _Reader(parts, {})
    with reader.brackets():
        reader.document()
    return parts.written(name)


def formula(source: Source, prefixes: Mapping[str, str]) -> RifFormula:
    """Read a text that holds one condition; raises `RequestError`."""
    reader = _Reader(Parts(source), prefixes)
    with reader.brackets():
        found = reader.formula()
        reader.end()
    return found


class _Reader:
    def __init__(self, parts: Parts, prefixes: Mapping[str, str]) -> None:
        parts.prefixes.update(prefixes)
        self._parts = parts
        self._cursor = Cursor(parts.source)
        self._constants = ConstantReader(parts, self._cursor)
        self._depth = 0

    @contextmanager
    def brackets(self) -> Iterator[None]:
        """Name the bracket that is not closed where that is why something cannot be read."""
        try:
            yield
        except RequestError as error:
            raise explained(self._parts.source, self._cursor.tokens, error) from None

    # Documents

    def document(self) -> None:
        cursor = self._cursor
        cursor.expect("Document", "at the beginning of the text")
        cursor.expect("(", "after `Document`")
        while not cursor.takes(")"):
            self._part()
        self.end()

    def end(self) -> None:
        if self._cursor.peek().kind != "end":
            raise self._cursor.error("the end of the text")

    def _part(self) -> None:
        """A directive, the window, a group or a rule."""
        cursor = self._cursor
        directives = {"Base": self._base, "Prefix": self._prefix, "Import": self._import}
        token = cursor.peek()
        if cursor.sees("(", 1) and token.text in directives:
            cursor.take()
            cursor.take()
            directives[token.text](token)
            cursor.expect(")", f"at the end of `{token.text}`")
        elif token.kind == "number" and cursor.peek(1).kind == "name":
            self._parts.add_window(token.start, cursor.take().text, cursor.take().text)
        elif token.kind == "end":
            raise cursor.error("`)` at the end of `Document`")
        else:
            self._sentence()

    def _base(self, token: Token) -> None:
        if self._parts.base is not None:
            raise self._parts.source.error(token.start, "syntax", "a document has one `Base`")
        self._parts.base = self._angle("the base in `<…>`")

    def _prefix(self, _token: Token) -> None:
        cursor = self._cursor
        name = cursor.peek()
        in_turtle = name.kind == "curie" and name.text.endswith(":")
        if in_turtle or name.kind in ("name", "local"):
            cursor.take()
        elif name.kind != "iri":
            raise cursor.error("the name of the prefix, e.g. `Prefix(ex <http://example.org/>)`")
        prefix = "" if name.kind == "iri" else name.text.removesuffix(":")
        namespace = self._parts.iri(cursor.peek().start, self._angle("the namespace in `<…>`"))
        if self._parts.prefixes.setdefault(prefix, namespace) != namespace:
            message = f"`{prefix}` is declared twice; give one of the two another name"
            raise self._parts.source.error(name.start, "prefix", message)

    def _import(self, token: Token) -> None:
        location = self._angle("the location in `<…>`")
        profile = None
        if not self._cursor.sees(")"):
            profile = self._angle("the profile in `<…>`, or `)`")
        self._parts.add_import(token.start, location, profile)

    def _angle(self, expected: str) -> str:
        return self._cursor.expect_kind("iri", expected).text[1:-1]

    # Rules

    def _sentence(self) -> None:
        """A group or a rule, with its metadata."""
        cursor = self._cursor
        self._parts.begin_rule()
        token = cursor.peek()
        if cursor.sees("Group") and cursor.sees("(", 1):
            self._group()
        elif cursor.takes("Forall"):
            declared = self._declared("Forall")
            metas = (token, cursor.expect("(", "after the variables of `Forall`"), cursor.peek())
            label = next(filter(None, (self._constants.label(each.meta) for each in metas)), "")
            self._clause(token, label, declared)
            cursor.expect(")", "at the end of the rule that begins with `Forall`")
        elif token.kind == "end":
            raise cursor.error("a rule, or `)`")
        else:
            self._clause(token, self._constants.label(token.meta), ())

    def _group(self) -> None:
        cursor = self._cursor
        start = cursor.take()
        cursor.take()
        with self._nested(start):
            while not cursor.takes(")"):
                self._sentence()

    def _declared(self, keyword: str) -> tuple[RifVariable, ...]:
        """The variables of `Forall` or `Exists`, one at least."""
        cursor, found = self._cursor, list[RifVariable]()
        while cursor.peek().kind == "variable":
            found.append(RifVariable(self._constants.variable_name(cursor.take())))
        if not found:
            raise cursor.error(f"a variable after `{keyword}`, e.g. `?x`")
        return tuple(found)

    def _clause(self, token: Token, label: str, declared: tuple[RifVariable, ...]) -> None:
        cursor = self._cursor
        body: RifFormula | None = None
        if cursor.takes("If"):
            body = self.formula()
            cursor.expect("Then", "after the condition of `If`")
            head = self.formula()
        else:
            head = self.formula()
            if cursor.takes(":-"):
                body = self.formula()
        self._parts.add_rule(token.start, label, declared, head, body)

    # Formulas

    def formula(self) -> RifFormula:
        cursor = self._cursor
        token = cursor.peek()
        with self._nested(token):
            return self._parts.at(token.start, self._formula(token))

    def _formula(self, token: Token) -> RifFormula:
        cursor = self._cursor
        if token.kind == "name" and token.text in _NEGATIONS:
            raise self._parts.outside(token.start, "negation")
        if token.kind == "name" and token.text in _ACTIONS:
            raise self._parts.outside(token.start, "action")
        if cursor.sees("Exists"):
            return self._exists()
        if cursor.sees("(", 1) and cursor.sees("And"):
            return And(self._all(self.formula))
        if cursor.sees("(", 1) and cursor.sees("Or"):
            return Or(self._all(self.formula))
        return self._atomic(token)

    def _exists(self) -> Exists:
        self._cursor.take()
        declared = self._declared("Exists")
        self._cursor.expect("(", "after the variables of `Exists`")
        part = self.formula()
        self._cursor.expect(")", "at the end of `Exists`, which holds one formula")
        return Exists(declared, part)

    def _all(self, read: Callable[[], T]) -> tuple[T, ...]:
        """What stands in the brackets that follow the next word."""
        cursor, found = self._cursor, list[T]()
        start = cursor.take()
        cursor.take()
        while True:
            if cursor.takes(")"):
                return tuple(found)
            if cursor.peek().kind == "end":
                raise cursor.error(f"`)` at the end of `{start.text}(`")
            found.append(read())

    def _atomic(self, token: Token) -> RifFormula:
        cursor = self._cursor
        if cursor.sees("External"):
            name, arguments = self._external()
            if not any(cursor.sees(symbol) for symbol in ("=", "#", "##", "[")):
                return self._parts.test(token.start, name, arguments)
            return self._related(self._parts.computed(token.start, name, arguments), token)
        is_constant = token.kind not in ("variable", "number") and not cursor.sees("List")
        if is_constant and cursor.sees("(", self._long()):
            return self._atom()
        return self._related(self.term(_FORMULA), token)

    def _related(self, left: RifTerm, token: Token) -> RifFormula:
        """The formula that begins with a term."""
        cursor = self._cursor
        if cursor.takes("="):
            return Equal(left, self.term())
        if cursor.takes("#"):
            return Member(left, self.term())
        if cursor.sees("##"):
            raise self._parts.outside(cursor.peek().start, "subclass")
        if cursor.takes("["):
            return Frame(left, tuple(self._slots(token)))
        expected = f"`[`, `(`, `=` or `#` after `{token.text}`, which alone is no formula"
        raise cursor.error(expected + hint(token))

    def _slots(self, start: Token) -> Iterator[tuple[RifTerm, RifTerm]]:
        cursor = self._cursor
        while not cursor.takes("]"):
            name = self.term(f"`]`, or a slot `p -> v`, in the frame of `{start.text}`")
            cursor.expect("->", "in the slot of a frame, `o[p -> v]`")
            yield name, self.term()

    def _atom(self) -> RifFormula:
        cursor = self._cursor
        token = cursor.peek()
        name = self._constants.constant(_FORMULA).value
        if not isinstance(name, Iri | Local):
            message = f"`{token.text}` is a literal and no predicate; write an IRI or `_name`"
            raise self._parts.source.error(token.start, "syntax", message)
        arguments = self._arguments(token)
        if cursor.sees("=") or cursor.sees("["):
            raise self._parts.outside(token.start, "function")
        return RifAtom(name, arguments)

    def _long(self) -> int:
        """How many words the constant has that is next: `"name"^^rif:local` has three."""
        return 3 if self._cursor.sees("^^", 1) else 1

    # Terms

    def term(self, expected: str = TERM) -> RifTerm:
        cursor = self._cursor
        token = cursor.peek()
        if token.kind == "variable":
            cursor.take()
            return self._parts.variable(token.start, self._constants.variable_name(token))
        with self._nested(token):
            if cursor.sees("External"):
                return self._parts.computed(token.start, *self._external())
            if cursor.sees("List") and cursor.sees("(", 1):
                return self._list(token)
        found = self._constants.constant(expected)
        if cursor.sees("("):
            raise self._parts.outside(token.start, "function")
        return found

    def _list(self, token: Token) -> Sequence:
        items = self._all(self._item)
        if any(True for item in items for _ in variables(item)):
            raise self._parts.outside(token.start, "variable list")
        return Sequence(items)

    def _item(self) -> RifTerm:
        if self._cursor.sees("|"):
            raise self._parts.outside(self._cursor.peek().start, "tail")
        return self.term(f"`)`, or {TERM}")

    def _external(self) -> tuple[Iri, tuple[RifTerm, ...]]:
        """The built-in and its arguments in `External(…)`."""
        cursor = self._cursor
        cursor.take()
        cursor.expect("(", "after `External`")
        token = cursor.peek()
        name = self._constants.constant("a built-in, e.g. `pred:numeric-less-than(?x 3)`").value
        if not isinstance(name, Iri) or not cursor.sees("("):
            raise self._parts.outside(token.start, "external")
        arguments = self._arguments(token)
        cursor.expect(")", "at the end of `External(`")
        return name, arguments

    def _arguments(self, name: Token) -> tuple[RifTerm, ...]:
        """What stands in the brackets after a predicate or function."""
        cursor, found = self._cursor, list[RifTerm]()
        cursor.expect("(", f"after `{name.text}`")
        while True:
            if cursor.takes(")"):
                return tuple(found)
            if cursor.sees("->", 1):
                raise self._parts.outside(cursor.peek().start, "named")
            found.append(self.term(f"`)` at the end of `{name.text}(`, or {TERM}"))

    @contextmanager
    def _nested(self, token: Token) -> Iterator[None]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} formulas, terms and groups in each other; split it"
            raise self._parts.source.error(token.start, "syntax", message)
        yield
        self._depth -= 1
