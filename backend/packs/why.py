"""Why an instance was told something, or why not (docs/apps.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from typing import Any

from citywise.backend.errors import CitywiseError
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.sight import Sight
from citywise.backend.packs.vocabulary import PREDICATES
from citywise.backend.space import LocalTime, in_span
from citywise.backend.times import iso, zone_name
from citywise.reasoning import Signature
from citywise.reasoning.asp import Statements, atom_signatures, head_atoms
from citywise.reasoning.explain import Explainer, FedBack, Origin
from citywise.reasoning.explain.durations import TimedNotation
from citywise.reasoning.explain.tree import Remembered, render
from citywise.reasoning.model.atoms import signature
from citywise.reasoning.model.carried import NOW, fed, is_ours, last
from citywise.reasoning.rdf.knowledge import KnowledgeOrigin
from citywise.reasoning.rdf.mapping import quote

_MOST_DOUBTS = 5
_TOLD = Signature("told", 3)
_LINE = re.compile(r"\brule line_(?=\d)")
_MEANINGS = {supplied.signature: supplied.meaning for supplied in PREDICATES.values()}
_OF_THINGS = tuple(supplied.signature.name for supplied in PREDICATES.values() if supplied.names)


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


def explain(
    run: TemplateRun, instance: str, kind: str, about: str, there: Mapping[str, str] | None = None
) -> Reasons:
    """Why an instance's user was, or was not, told of something when `run` answered last.

    `about` is the id of an event or a place, or the text of a term; `there` are the events and
    places that the asker knows of, `event` or `place` by id, whatever the rules see of them.
    Raises `NoInstanceError`.
    """
    if not run.has(instance):
        raise NoInstanceError(
            f"there was no instance `{instance}` of {run.template.request_name} then; it may "
            "have been made later, removed, or be of another version"
            + "".join(f"; {fault}" for fault in run.left_out(instance, about))
        )
    return _Asker(run, instance, there or {}).ask(kind, about)


class _Asker:
    def __init__(self, run: TemplateRun, instance: str, there: Mapping[str, str]) -> None:
        self._there, self._sight = there, Sight(run.template)
        self._run, self._instance, self._me = run, instance, quote(instance)
        self._inputs = tuple(sorted(line[:-1] for line in run.slice(instance).splitlines()))
        self._answer = run.answer(instance)
        self._at = iso(run.clock[0]) if run.clock else ""

    def ask(self, kind: str, about: str) -> Reasons:
        term = self._term(about)
        found = self._explainer().explain(f"told({self._me},{quote(kind)},{term})")
        notes = (*(() if found.holds else self._notes(term)), *self._doubts())
        tree = _LINE.sub("rule line ", render(found)) + "".join(
            f"Note: {note}.\n" for note in notes
        )
        return Reasons(
            found.holds, tree, notes, self._at, self._inputs, self._answer, found.to_json()
        )

    def _notes(self, term: str) -> Iterator[str]:
        """Why facts about an event or a place may lack that the rules ask for."""
        kind, name = self._sight.about(term.strip('"'))
        yield from self._run.left_out(self._instance, name)
        if kind != "term":
            stance = self._run.stance(self._instance, name)
            if not stance.stands and self._there.get(name) == "place":
                stance = replace(stance, stands=True)
                yield from self._unseen(name)
            near = () if stance.stands else get_close_matches(name, self._there, 1)
            if near and name not in self._there:
                yield f"there is no event or place `{name}`; did you mean `{near[0]}`?"
            else:
                yield from stance.words()
        yield from self._times()

    def _doubts(self) -> Iterator[str]:
        """What is to be said of sensors that the answer rests on, or might have."""
        yield from islice(self._run.doubted(self._instance), _MOST_DOUBTS)

    def _times(self) -> Iterator[str]:
        """Times of day that the instance gives, and that it was not then."""
        if self._run.clock is None or not self._sight.reads("during"):
            return
        now = LocalTime(zone_name()).facts(self._run.clock[0]).minute
        for name in self._run.template.parameters:
            fact = re.compile(rf"{name}\({re.escape(self._me)},(\d+),(\d+)\)")
            given = [(int(m[1]), int(m[2])) for f in self._inputs if (m := fact.fullmatch(f))]
            if given and not any(in_span(now, span) for span in given):
                listed = ", ".join(f"{_clock(begin)}-{_clock(end)}" for begin, end in given)
                yield f"it was {_clock(now)} then, which is not in `{name}`: {listed}"

    def _unseen(self, place: str) -> Iterator[str]:
        """What a place is to rules that see none but ask where things are."""
        if not self._sight.places and self._sight.reads(*_OF_THINGS):
            yield f'`{place}` is a place, and `streams` in app.toml lists no "places"'

    def _explainer(self) -> Explainer:
        run = self._run
        request = run.found.request
        rules, source = _notice_rules(run.found.statements)
        asked = replace(
            request,
            rules=f"{request.rules}\n{rules}#show {_TOLD}.\n",
            shows=request.shows | {_TOLD},
            derived=request.derived | {_TOLD},
        )
        # The text as written, with labels, as far as it goes; then ours with the same labels.
        lines = request.rules.count("\n") - run.template.rules.count("\n")
        written = run.template.rules + "\n" * (lines + 1) + source
        notation = TimedNotation(written, request, 0, self._time) if run.remembers else None
        return Explainer(
            asked,
            dict(self._facts()),
            time=self._at,
            source=written,
            meanings=_MEANINGS,
            notation=notation,
        )

    def _time(self, seconds: int) -> str:
        """A time of the rules, to be read."""
        return iso(seconds * 1000 // self._run.found.request.ticks_per_second)

    def _facts(self) -> Iterator[tuple[str, tuple[Origin, ...]]]:
        for fact in self._inputs:
            yield fact, tuple(self._remembered(fact))
        for fact in self._run.template.knowledge:
            yield fact, (KnowledgeOrigin("of the app"),)

    def _remembered(self, fact: str) -> Iterator[Origin]:
        """Where a fact is from that evaluations before have left, or the time."""
        request = self._run.found.request
        if not self._run.remembers:
            return
        found = signature(fact)
        if found in {NOW, *map(last, request.last)}:
            seconds = int(fact[max(fact.rfind(","), fact.rfind("(")) + 1 : -1])
            yield Remembered("now" if found == NOW else "last", self._time(seconds))
        elif found in fed(request) and not is_ours(found):
            yield FedBack()

    def _term(self, about: str) -> str:
        """The term by which the rules know an event or a place of that id, or the text itself
        where only that is known; what is not known at all is taken for an event, or for a
        place where the rules see no events."""
        sight = self._sight
        event, place = sight.event(about), sight.place(about)
        known = "\n".join([*self._inputs, self._run.template.rules])
        for term in (event, place, quote(about)):
            if term in known:
                return term
        if about in self._there:
            return place if self._there[about] == "place" else event
        unknown = event if sight.events else place
        plain = re.fullmatch(r"[a-z]\w*|-?\d+", about) is not None
        return about if plain and re.search(rf"[(,]{about}[,)]", known) else unknown


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def _notice_rules(statements: Statements) -> tuple[str, str]:
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
