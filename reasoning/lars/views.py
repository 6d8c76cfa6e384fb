"""Rules of ASP for what windows see, where it is not given as facts (see `encoding`).

Windows see what is derived, now or placed at another point of time; knowledge, at every
point; and with a stamp also the data, which else are facts of what windows show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reasoning.lars.program import LastTuples, Window
from reasoning.lars.relations import Line, Relations, Seen, call, rule, variables
from reasoning.program import Signature


def viewing(relations: Relations) -> Iterator[Line]:
    """Rules for all that the program's windows show."""
    todo = list(relations.seen)
    for seen in todo:
        yield from (Line(text, seen) for text in _of_derived(relations, seen))
        if relations.stamp and not isinstance(seen.window, LastTuples):
            yield from (Line(text, seen) for text in _of_data(relations, seen))
        if seen.signature in relations.known:
            yield Line(_of_knowledge(relations, seen), seen)
        todo += [new for new in relations.seen if new not in todo]


def placing(relations: Relations, signature: Signature) -> Line:
    """Atoms that heads place now hold now."""
    texts = variables(signature)
    now = relations.call(relations.placed[signature], [*texts, relations.point])
    head = relations.call(relations.holding(signature), texts)
    return Line(rule(head, [now, relations.clock]), signature)


def present(relations: Relations, signature: Signature) -> Iterator[Line]:
    """The data and knowledge that hold now, where they come with a stamp."""
    texts = variables(signature)
    head = relations.call(relations.holding(signature), texts)
    data = call(relations.data(signature), [*texts, relations.point])
    yield Line(rule(head, [data, relations.clock]))
    if signature in relations.known:
        fact = call(relations.knowledge(signature), texts)
        yield Line(rule(head, [fact, relations.clock]))


def _of_derived(relations: Relations, seen: Seen) -> Iterator[str]:
    if not relations.is_derived(seen):
        return
    texts = variables(seen.signature)
    now = relations.call(relations.holding(seen.signature), texts)
    if seen.view == "every":
        yield _everywhere(relations, seen, now)
    elif seen.view == "timed":
        head = relations.call(relations.seen[seen], [*texts, relations.point])
        yield rule(head, [now, relations.clock])
        yield from _of_placed(relations, seen)
    else:
        yield rule(relations.call(relations.seen[seen], texts), [now])
        yield from _of_placed(relations, seen)


def _of_placed(relations: Relations, seen: Seen) -> Iterator[str]:
    if seen.signature in relations.placed:
        texts = [*variables(seen.signature), "T"]
        placed = relations.call(relations.placed[seen.signature], texts)
        yield rule(_shown(relations, seen), [placed, *_within(relations, seen.window)])


def _everywhere(relations: Relations, seen: Seen, now: str) -> str:
    """Derived atoms and data together may fill all points of a window."""
    timed = relations.view(replace(seen, view="timed"))
    atom = relations.call(timed, [*variables(seen.signature), "T"])
    each = f"{atom} : {relations.inside(seen.window)}"
    return rule(_shown(relations, seen), [each, now])


def _of_data(relations: Relations, seen: Seen) -> Iterator[str]:
    texts = variables(seen.signature)
    data = relations.data(seen.signature)
    if seen.view != "every":
        body = [*_within(relations, seen.window), call(data, [*texts, "T"])]
        yield rule(_shown(relations, seen), body)
    elif not relations.is_derived(seen):
        each = f"{call(data, [*texts, 'T'])} : {relations.inside(seen.window)}"
        yield rule(_shown(relations, seen), [call(data, [*texts, relations.point]), each])


def _of_knowledge(relations: Relations, seen: Seen) -> str:
    fact = call(relations.knowledge(seen.signature), variables(seen.signature))
    points = [relations.inside(seen.window)] if seen.view == "timed" else []
    return rule(_shown(relations, seen), [fact, *points])


def _shown(relations: Relations, seen: Seen) -> str:
    """That a window shows an atom, at `T` if it shows points of time."""
    texts = variables(seen.signature)
    timed = seen.view == "timed"
    return relations.call(relations.seen[seen], [*texts, "T"] if timed else texts)


def _within(relations: Relations, window: Window | None) -> list[str]:
    return [] if window is None else [relations.inside(window)]
