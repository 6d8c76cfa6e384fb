"""Why an instance was told something, or why not (docs/apps.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from backend.errors import CitywiseError
from backend.packs.run import TemplateRun
from backend.packs.sight import Sight
from backend.times import iso
from reasoning.explain.explanation import Explainer
from reasoning.explain.origins import Origin
from reasoning.explain.text import render
from reasoning.languages.rules import atom_signatures, head_atoms
from reasoning.parallel.rules import Statements
from reasoning.program import Signature
from reasoning.rdf.knowledge import KnowledgeOrigin
from reasoning.rdf.mapping import quote

_TOLD = Signature("told", 3)


class NoInstanceError(CitywiseError):
    """There was no such instance at the time asked about."""


@dataclass(frozen=True)
class Reasons:
    """Why, or why not, and what was known."""

    told: bool
    tree: str
    """The explanation, to be read; it ends with the notes."""
    notes: tuple[str, ...]
    """What was known of where the user and the thing were, where that may have decided."""
    at: str
    inputs: tuple[str, ...]
    """The facts that decided, one atom each."""
    answer: tuple[str, ...]
    """What the rules concluded."""
    explanation: dict[str, Any]


def explain(run: TemplateRun, instance: str, kind: str, about: str) -> Reasons:
    """Why an instance's user was, or was not, told of something when `run` answered last.

    `about` is the id of an event or a place, or the text of a term. Raises
    `NoInstanceError`.
    """
    if not run.has(instance):
        raise NoInstanceError(
            f"there was no instance `{instance}` of {run.template.request_name} then; it may "
            "have been made later, removed, or be of another version"
        )
    asker = _Asker(run, instance)
    return asker.ask(kind, about)


class _Asker:
    def __init__(self, run: TemplateRun, instance: str) -> None:
        self._run, self._instance, self._me = run, instance, quote(instance)
        self._inputs = tuple(sorted(line[:-1] for line in run.slice(instance).splitlines()))
        self._answer = run.answer(instance)
        self._at = iso(run.clock[0]) if run.clock else ""

    def ask(self, kind: str, about: str) -> Reasons:
        term = self._term(about)
        found = self._explainer().explain(f"told({self._me},{quote(kind)},{term})")
        notes = () if found.holds else tuple(self._notes(term))
        tree = render(found) + "".join(f"Note: {note}.\n" for note in notes)
        return Reasons(
            found.holds, tree, notes, self._at, self._inputs, self._answer, found.to_json()
        )

    def _notes(self, term: str) -> Iterator[str]:
        """Why facts about an event or a place may lack that the rules ask for."""
        kind, name = Sight(self._run.template).about(term.strip('"'))
        if kind != "term":
            yield from self._run.stance(self._instance, name).words()

    def _explainer(self) -> Explainer:
        run = self._run
        request = run.found.request
        rules, source = _told(run.found.statements)
        asked = replace(
            request,
            rules=f"{request.rules}\n{rules}#show {_TOLD}.\n",
            shows=request.shows | {_TOLD},
            derived=request.derived | {_TOLD},
        )
        # The text as written, with labels, as far as it goes; then ours with the same labels.
        lines = request.rules.count("\n") - run.template.rules.count("\n")
        written = run.template.rules + "\n" * (lines + 1) + source
        return Explainer(asked, dict(self._facts()), time=self._at, source=written)

    def _facts(self) -> Iterator[tuple[str, tuple[Origin, ...]]]:
        for fact in self._inputs:
            yield fact, ()
        for fact in self._run.template.knowledge:
            yield fact, (KnowledgeOrigin("of the app"),)

    def _term(self, about: str) -> str:
        """The term by which the rules know an event or a place of that id, or the text itself
        where only that is known; what is not known at all is taken for an event, or for a
        place where the rules see no events."""
        sight = Sight(self._run.template)
        event, place = sight.event(about), sight.place(about)
        known = "\n".join([*self._inputs, self._run.template.rules])
        for term in (event, place, quote(about)):
            if term in known:
                return term
        unknown = event if sight.events else place
        plain = re.fullmatch(r"[a-z]\w*|-?\d+", about) is not None
        return about if plain and re.search(rf"[(,]{about}[,)]", known) else unknown


def _told(statements: Statements) -> tuple[str, str]:
    """The rules that conclude notices, asked without the criticality: as text for clingo,
    and the same with their labels; one a line."""
    rules, source = [], []
    for rule in statements.rules:
        for atom in head_atoms(rule.tree):
            if Signature("notice", 4) in atom_signatures(atom):
                arguments = atom.one("symbol").many("arguments")[:3]
                body = "; ".join(map(str, rule.tree.many("body")))
                text = f"told({','.join(map(str, arguments))}) :- {body}."
                line = rule.name[:1].isdigit()
                label = f"({'line_' if line else ''}{rule.name.split(':')[0]}) "
                rules.append(" " * len(label) + text)
                source.append(label + text)
    return "\n".join([*rules, ""]), "\n".join([*source, ""])
