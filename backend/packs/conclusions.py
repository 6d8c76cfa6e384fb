"""What the rules of a template conclude: notices, their details, why they are no longer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from clingo.ast import ASTType

from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.manifest import Manifest
from citywise.backend.packs.names import Names
from citywise.backend.packs.rule_atoms import Findings, firsts, plain, signature, text
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.vocabulary import (
    CONCLUSION_ATOMS,
    CONCLUSIONS,
    PREDICATES,
)
from citywise.reasoning import Finding
from citywise.reasoning.asp import Node, head_atoms, variables
from citywise.reasoning.languages.casp import Reading

_LEVELS = range(1, 6)


class Conclusions:
    """The heads of a template's rules."""

    def __init__(
        self, template: TemplateVersion, reading: Reading, manifest: Manifest, names: Names
    ) -> None:
        self._template, self._reading, self._manifest = template, reading, manifest
        self._names, self._say = names, Findings(reading)
        self.atoms = list(plain(reading, head_atoms))

    @cached_property
    def kinds(self) -> frozenset[str] | None:
        """The kinds of notices they conclude; None if a kind is computed."""
        return _all([text(atom, 1) for atom in self._of("notice")])

    def details(self, kind: str) -> frozenset[str] | None:
        """The names of the details they give of a kind of notice; None if one is computed."""
        return _all([text(a, 3) for a in self._of("detail") if text(a, 1) in (kind, None)])

    def _of(self, name: str) -> list[Node]:
        return [atom for atom in self.atoms if signature(atom) == CONCLUSIONS[name]]

    def findings(self) -> Iterator[Finding]:
        """What is wrong with them."""
        for atom in firsts(self.atoms):
            yield from self._predicate(atom)
        if not self._of("notice"):
            message = f"the template concludes no notice; derive `{CONCLUSION_ATOMS['notice']}`"
            yield self._say.at(0, "no-notice", message)
        for name in CONCLUSIONS:
            for atom in self._of(name):
                yield from self._instance(atom)
                yield from self._kind(atom)
        for atom in self._of("notice"):
            yield from self._criticality(atom)

    def _predicate(self, atom: Node) -> Iterator[Finding]:
        """A predicate that is not theirs to conclude, or not so."""
        found, owner = signature(atom), None
        told = self._template.told
        if found.name in PREDICATES or self._names.property(found.name) in told:
            owner = "told by the framework"
        elif found.name in self._template.parameters:
            owner = "a parameter"
        if owner is not None:
            message = f"`{found}` is {owner}; a rule cannot conclude it, choose another name"
            yield self._say.error(atom, "supplied-predicate", message)
        elif CONCLUSIONS.get(found.name, found) != found:
            message = f"`{found}` has the wrong number of arguments; write"
            yield self._say.error(atom, "arity", f"{message} `{CONCLUSION_ATOMS[found.name]}`")

    def _instance(self, atom: Node) -> Iterator[Finding]:
        me = atom.many("arguments")[0]
        if not variables(me):
            message = f"`{atom.name}` is about {me}; its first argument is the instance, Me"
            yield self._say.error(me, "instance", message)

    def _kind(self, atom: Node) -> Iterator[Finding]:
        kind, declared = atom.many("arguments")[1], self._manifest.notices
        name = text(atom, 1)
        if kind.kind == ASTType.SymbolicTerm and name is None:
            plain = str(kind).strip("'\"")
            message = f'`{atom.name}`: the kind {kind} is no string; write "{plain}"'
            yield self._say.error(kind, "notice-kind", message)
        elif name is not None and name not in declared:
            hint = did_you_mean(name, declared, f"add [notices.{name}] to app.toml")
            message = f'"{name}" is no kind of notice in app.toml; {hint}'
            yield self._say.error(kind, "notice-kind", message)

    def _criticality(self, atom: Node) -> Iterator[Finding]:
        last = atom.many("arguments")[3]
        number = self._template.constants.number(last)
        if number is not None and number not in _LEVELS:
            message = f"the criticality {number} is not from 1 to 5"
            yield self._say.error(last, "criticality", message)


def _all(names: list[str | None]) -> frozenset[str] | None:
    return None if None in names else frozenset(name for name in names if name is not None)
