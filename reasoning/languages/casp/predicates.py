"""Predicates that nothing supplies, that nothing uses, or whose names look mistaken."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from clingo.ast import ASTType

from reasoning.asp.rules import atom_signatures, body_atoms, head_atoms
from reasoning.asp.syntax import Node
from reasoning.errors import Finding
from reasoning.languages.casp.parsing import Reading
from reasoning.model.request import Signature, previous

_TRIPLE = (2, 3)
_QUOTED_NAME = re.compile(r'"([a-z][A-Za-z0-9]*)_[A-Za-z][\w-]*"\Z')


class Predicates:
    """The predicates of a text: where they are derived, used, shown and declared.

    `supplied` are those that its knowledge bases are known to supply, `unread` says that some of
    them could not be read.
    """

    def __init__(
        self, reading: Reading, supplied: Collection[Signature], *, unread: bool = False
    ) -> None:
        self._reading = reading
        self._supplied = frozenset(supplied)
        self._unread = unread
        self._request = reading.request
        self._used = self._places(body_atoms)
        facts = {signature: fact.first for signature, fact in reading.facts.items()}
        self._derived = {**self._places(head_atoms), **facts}

    def findings(self) -> Iterator[Finding]:
        """All there is to say about the predicates."""
        yield from self._unknown()
        yield from self._unused()
        yield from self._shown()
        yield from self._declared()
        yield from self._names()

    # -- where atoms come from ------------------------------------------------------

    @cached_property
    def _given(self) -> frozenset[Signature]:
        """Predicates that come from outside because the text says so."""
        fed_back = {Signature(previous(s.name), s.arity) for s in self._request.feedback}
        declared = {
            Signature(str(s.origin.name), int(s.origin.arity))
            for s in self._reading.rules
            if s.kind == ASTType.Defined
        }
        external = {
            signature
            for s in self._reading.rules
            if s.kind == ASTType.External
            for signature in atom_signatures(s.one("atom"))
        }
        return frozenset({*fed_back, *declared, *external, *self._request.inputs, *self._supplied})

    def _is_supplied(self, signature: Signature) -> bool:
        """Whether a rule derives it, or data can supply it."""
        return (
            signature in self._derived
            or signature in self._given
            or (signature.arity in _TRIPLE and self._is_visible(signature.name))
        )

    def _is_visible(self, name: str) -> bool:
        """Whether triples of streams, or of knowledge bases that could not be read, may reach the
        rules under this name."""
        if self._prefix(name) is None or not (self._request.streams or self._unread):
            return False
        inputs = self._request.inputs
        return not inputs or any(s.name == name for s in inputs)

    def _prefix(self, name: str) -> str | None:
        """The declared prefix of a predicate's name."""
        fitting = [p for p in self._request.prefixes if name.startswith(f"{p}_")]
        return max(fitting, key=len, default=None)

    @cached_property
    def _known(self) -> frozenset[Signature]:
        return frozenset(self._derived) | self._given

    # -- findings -------------------------------------------------------------------

    def _unknown(self) -> Iterator[Finding]:
        for signature, index in self._used.items():
            if self._is_supplied(signature):
                continue
            hint = self._near(signature)
            if hint is None and not self._says_where_data_come_from:
                continue  # Its streams may well deliver atoms of any predicate.
            yield self._warning(index, "unknown-predicate", self._why_unknown(signature, hint))

    @property
    def _says_where_data_come_from(self) -> bool:
        request = self._request
        return bool(request.inputs or request.prefixes or not request.streams)

    def _why_unknown(self, signature: Signature, hint: str | None) -> str:
        said = f"nothing derives `{signature}`"
        prefix = self._prefix(signature.name)
        if hint is not None:
            return f"{said}; did you mean `{hint}`?"
        if prefix is not None and signature.arity not in _TRIPLE:
            return f"{said}, and a triple gives 2 arguments, or 3 with its time"
        if prefix is not None and not self._request.streams:
            bases = "no knowledge base has a fact that fits" if self._request.knowledge else ""
            return f"{said}; there is no stream{bases and f', and {bases}'}"
        if prefix is not None:
            return f"{said}, and it is not among the `#input` predicates; add `#input {signature}.`"
        cure = f"if a stream or knowledge base supplies it, declare `#input {signature}.`"
        if signature.arity in _TRIPLE and "_" in signature.name.strip("_"):
            first = signature.name.split("_")[0]
            cure += f" (or `#prefix {first} : <…>.`, if it is a property of RDF)"
        return f"{said}; {cure}"

    def _near(self, wanted: Signature) -> str | None:
        """What was probably meant: another arity of the name, or a name spelt almost so."""
        other = sorted(s for s in self._known if s.name == wanted.name and s != wanted)
        if other:
            return str(other[0])
        names = {s.name for s in self._known if not _is_part(s.name, wanted.name)}
        near = difflib.get_close_matches(wanted.name, names, 1, cutoff=0.8)
        arities = sorted(s for s in self._known if near and s.name == near[0])
        return str(min(arities, key=lambda s: abs(s.arity - wanted.arity))) if arities else None

    def _unused(self) -> Iterator[Finding]:
        request = self._request
        if not (request.shows or request.shows_terms):
            return
        for signature, index in self._derived.items():
            seen = (self._used, request.shows, request.feedback)
            if not any(signature in where for where in seen):
                yield self._warning(
                    index,
                    "unused-predicate",
                    f"`{signature}` is derived but neither used nor shown; remove its rules or "
                    f"add `#show {signature}.`",
                )

    def _shown(self) -> Iterator[Finding]:
        for signature in sorted(self._request.shows):
            if self._is_supplied(signature) or signature in self._used:
                continue
            hint = self._near(signature)
            cure = f"did you mean `{hint}`?" if hint else "no rule has it as its head"
            message = f"`#show {signature}` shows nothing; {cure}"
            yield self._declaration("#show", signature, "show-nothing", message)

    def _declared(self) -> Iterator[Finding]:
        mentioned = {*self._used, *self._derived, *self._request.shows}
        names = {s.name for s in mentioned}
        for signature in sorted(self._request.inputs):
            if signature not in mentioned:
                hint = next((str(s) for s in sorted(mentioned) if s.name == signature.name), None)
                cure = f"the rules use `{hint}`" if hint else "no rule uses it"
                yield self._declaration(
                    "#input", signature, "unused-input", f"`#input {signature}`: {cure}"
                )
        for name in sorted(self._request.scales):
            if name not in names:
                yield self._declaration(
                    "#scale", name, "unused-scale", f"`#scale {name}`: no rule uses `{name}`"
                )

    def _names(self) -> Iterator[Finding]:
        """Strings for resources whose prefix is not declared, as arguments of properties."""
        if not self._request.prefixes:
            return
        for atom in self._atoms():
            symbol = atom.one("symbol")
            if symbol.kind != ASTType.Function or self._prefix(symbol.name) is None:
                continue
            for argument in symbol.many("arguments"):
                match = _QUOTED_NAME.match(str(argument.origin))
                if match and match.group(1) not in self._request.prefixes:
                    yield self._warning(
                        self._index(argument),
                        "undeclared-prefix",
                        f"{argument} reads like a resource, but no prefix `{match.group(1)}` is "
                        f"declared; add `#prefix {match.group(1)} : <…>.`",
                    )

    def _atoms(self) -> Iterator[Node]:
        for statement in self._reading.rules:
            yield from head_atoms(statement)
            yield from body_atoms(statement)

    # -- places ---------------------------------------------------------------------

    def _places(self, atoms: Callable[[Node], Iterator[Node]]) -> dict[Signature, int]:
        """The index of the first atom of each predicate."""
        found: dict[Signature, int] = {}
        for statement in self._reading.rules:
            for atom in atoms(statement):
                for signature in atom_signatures(atom):
                    if signature not in found:
                        found[signature] = self._index(atom.one("symbol"))
        return found

    def _index(self, node: Node) -> int:
        return self._reading.source.index(node.line, node.column)

    def _warning(self, index: int, code: str, message: str) -> Finding:
        return Finding(self._reading.source.location(index), "warning", code, message)

    def _declaration(self, keyword: str, what: object, code: str, message: str) -> Finding:
        statement = self._reading.directives.places[keyword, str(what)]
        location = self._reading.source.location(statement.start)
        return Finding(location, "warning", code, message)


def _is_part(one: str, other: str) -> bool:
    """Whether a name is another with words added, as `agenda` and `new_agenda`: no slip."""
    words, others = set(one.split("_")), set(other.split("_"))
    return words < others or others < words
