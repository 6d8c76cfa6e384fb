"""What the data stream and the knowledge bases make true at a point of time, as facts for
the rules of an `Encoding`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reasoning.lars.encoding import Encoding
from reasoning.lars.history import Atom, History, Tuple, split
from reasoning.lars.program import LastTuples, Window
from reasoning.lars.relations import FIRST, NOW, Seen, call
from reasoning.program import Signature

Given = dict[str, list[Tuple]]
"""Facts as ASP text, each with the arrivals that make it true."""


def holding(encoding: Encoding, history: History) -> Given:
    """What windows see of the data and what of them holds now, for an encoding without a
    stamp."""
    found: Given = {}
    for atom in history.here():
        if atom.signature in encoding.now:
            text = call(atom.signature.name, _arguments(atom))
            found.setdefault(text, []).append(Tuple(history.now, atom))
    return found | windows(encoding, history, encoding.seen)


def windows(encoding: Encoding, history: History, seen: Iterable[Seen]) -> Given:
    """What some windows see of the data."""
    found: Given = {}
    contents: dict[Window | None, dict[Signature, list[Tuple]]] = {}
    for each in seen:
        if each.window not in contents:
            contents[each.window] = _by_predicate(history.within(each.window))
        tuples = contents[each.window].get(each.signature, [])
        if each.view == "every" and encoding.is_derived(each):
            continue  # it is a rule: some points may have the data, others what is derived
        for arguments, giving in _shown(each, tuples, len(history.timeline(each.window))):
            found.setdefault(encoding.call(encoding.seen[each], arguments), []).extend(giving)
    return found


def times(encoding: Encoding, history: History) -> Iterator[str]:
    """The point of time, the first one, and the points of windows: intervals with a stamp,
    else one by one."""
    if not encoding.stamp:
        yield f"{NOW}({history.now})"
    yield f"{FIRST}({history.first})"
    for window, relation in encoding.ranges.items():
        points = history.timeline(window)
        if encoding.stamp:
            yield encoding.call(relation, [f"{points.start}..{points.stop - 1}"])
        else:
            yield from (call(relation, [str(point)]) for point in points)


def arrived(encoding: Encoding, tuples: Iterable[Tuple]) -> Iterator[str]:
    """Data with their times, for an encoding with a stamp."""
    for time, atom in tuples:
        if relation := encoding.inputs.get(atom.signature):
            yield call(relation, [*_arguments(atom), str(time)])


def background(encoding: Encoding, knowledge: str) -> Iterator[tuple[str, str]]:
    """Facts of knowledge as windows see them, each with the fact as it is."""
    for line in knowledge.splitlines() if encoding.background else ():
        fact = line.removesuffix(".")
        atom = split(fact)
        if relation := encoding.background.get(atom.signature):
            yield call(relation, _arguments(atom)), fact


def tuple_windows(encoding: Encoding) -> list[Seen]:
    """What windows of tuples see: facts also where the encoding has a stamp."""
    return [seen for seen in encoding.seen if isinstance(seen.window, LastTuples)]


def _by_predicate(tuples: Iterable[Tuple]) -> dict[Signature, list[Tuple]]:
    found: dict[Signature, list[Tuple]] = {}
    for each in tuples:
        found.setdefault(each.atom.signature, []).append(each)
    return found


def _shown(
    seen: Seen, tuples: Iterable[Tuple], points: int
) -> Iterator[tuple[list[str], list[Tuple]]]:
    """Arguments of the relation, and what makes them true."""
    if seen.view == "timed":
        for each in tuples:
            yield [*_arguments(each.atom), str(each.time)], [each]
        return
    giving: dict[Atom, list[Tuple]] = {}
    for each in tuples:
        giving.setdefault(each.atom, []).append(each)
    for atom, found in giving.items():
        if seen.view == "some" or len(found) == points:
            yield _arguments(atom), found


def _arguments(atom: Atom) -> list[str]:
    return [atom.arguments] if atom.arguments else []
