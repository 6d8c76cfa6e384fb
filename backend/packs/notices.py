"""From the atoms of an answer to notices, and from two answers to what changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import clingo

from citywise.backend.packs.template import TemplateVersion
from citywise.backend.times import iso

_LEVELS = range(1, 6)
_NAMES = ("notice", "detail", "closed")
_TERM = r'"[^"\\]*"|-?[0-9]+'
_SIMPLE = re.compile(rf"(\w+)\(((?:{_TERM})(?:,(?:{_TERM}))*)\)")
_ARGUMENT = re.compile(_TERM)
Key = tuple[str, str]
"""The kind of a notice, and what it is about as its term says it."""


@dataclass(frozen=True)
class Notice:
    """A notice as one answer states it."""

    kind: str
    about_type: str
    """`event`, `place` or `term`."""
    about: str
    """The id of the event or place, or the text of the term."""
    criticality: int
    details: dict[str, int | str] = field(default_factory=dict)
    why: list[str] = field(default_factory=list)
    """The atoms that state it."""


@dataclass(frozen=True)
class Stated:
    """The notices of an answer, and why others are no longer."""

    notices: dict[Key, Notice] = field(default_factory=dict)
    reasons: dict[Key, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """Atoms that state no notice, and what is expected; the others count."""


@dataclass(frozen=True)
class Owner:
    """The instance that an answer is for, and its user."""

    instance: str
    user: str


def differing(before: Sequence[str], after: Sequence[str]) -> tuple[list[str], list[str]]:
    """Of two answers, the atoms about notices that are not stated the same in both.

    An answer repeats what is as it was; reading that would cost more than finding it.
    """
    subjects = {_subject(atom) for atom in {*before} ^ {*after}}
    heads = tuple(name + subject for name in _NAMES for subject in subjects)
    return [a for a in before if a.startswith(heads)], [a for a in after if a.startswith(heads)]


def _subject(atom: str) -> str:
    """What an atom is about, as it begins: `(Me,Kind,About,`."""
    start = atom.index("(")
    if _SIMPLE.fullmatch(atom):
        third = next(islice(_ARGUMENT.finditer(atom, start), 2, None))
        return atom[start : third.end() + 1]
    return f"({','.join(map(str, clingo.parse_term(atom).arguments[:3]))},"


def stated(
    atoms: Iterable[str], about: Callable[[str], tuple[str, str]], kinds: Collection[str]
) -> Stated:
    """What atoms of an answer state; `about` gives type and id of what a term names, and
    `kinds` are those the app declares.

    Of several criticalities of one notice the highest counts.
    """
    found = Stated()
    taken = [(text, *_split_atom(text)) for text in atoms]
    for text, name, arguments in taken:
        if name == "notice":
            _take_notice(found, text, arguments, about, kinds)
    for text, name, arguments in taken:
        if name != "notice":
            _take_other(found, text, name, arguments)
    return found


def _take_notice(
    found: Stated,
    text: str,
    arguments: Sequence[int | str],
    about: Callable[[str], tuple[str, str]],
    kinds: Collection[str],
) -> None:
    _me, kind, term, level = arguments
    key = str(kind), str(term)
    if level not in _LEVELS:
        found.faults.append(f"`{text}`: the criticality {level} is no integer from 1 to 5")
    elif kind not in kinds:
        found.faults.append(f"`{text}`: app.toml declares no notice `{kind}` (notices.{kind})")
    elif key not in found.notices or found.notices[key].criticality < int(level):
        found.notices[key] = Notice(key[0], *about(key[1]), int(level), why=[text])


def _take_other(found: Stated, text: str, name: str, arguments: Sequence[int | str]) -> None:
    """A detail of a notice, or the reason why one is no longer."""
    _me, kind, term, *rest = arguments
    key = str(kind), str(term)
    if name == "closed":
        found.reasons[key] = str(rest[0])
    elif key in found.notices:
        found.notices[key].details[str(rest[0])] = rest[1]
        found.notices[key].why.append(text)


def _split_atom(atom: str) -> tuple[str, list[int | str]]:
    """Name and arguments of an atom; simple ones, which nearly all are, without clingo."""
    simple = _SIMPLE.fullmatch(atom)
    if simple is None:
        symbol = clingo.parse_term(atom)
        return symbol.name, [_value(argument) for argument in symbol.arguments]
    arguments = _ARGUMENT.findall(simple[2])
    return simple[1], [a[1:-1] if a[0] == '"' else int(a) for a in arguments]


def changes(
    template: TemplateVersion,
    owner: Owner,
    t_ms: int,
    before: Stated,
    after: Stated,
    because: Callable[[Notice], str | None],
) -> Iterator[dict[str, Any]]:
    """What changed for an instance at a time (Unix ms), as rows carry it; first what closed.

    `because` says why a notice is no longer where the rules do not.
    """
    old, new = before.notices, after.notices
    for key, notice in sorted(old.items(), key=_by_key):
        if key not in new:
            reason = after.reasons.get(key) or because(notice)
            yield _change("closed", template, owner, t_ms, notice, reason)
    for key, notice in sorted(new.items(), key=_by_key):
        if key not in old:
            yield _change("opened", template, owner, t_ms, notice)
        elif notice.criticality != old[key].criticality:
            yield _change("updated", template, owner, t_ms, notice)


def refreshed(
    template: TemplateVersion, owner: Owner, t_ms: int, now: Stated
) -> Iterator[dict[str, Any]]:
    """The open notices of an instance as they are, for their details: no news to anybody."""
    for _key, notice in sorted(now.notices.items(), key=_by_key):
        yield _change("refreshed", template, owner, t_ms, notice)


def have_other_details(before: Stated, after: Stated) -> bool:
    """Whether a notice has other details than it had."""
    return any(
        key in before.notices and notice.details != before.notices[key].details
        for key, notice in after.notices.items()
    )


def _by_key(item: tuple[Key, Notice]) -> Key:
    return item[0]


def _change(
    change: str,
    template: TemplateVersion,
    owner: Owner,
    t_ms: int,
    notice: Notice,
    because: str | None = None,
) -> dict[str, Any]:
    """A change as rows carry it. When a notice was opened, which is part of its id, is known
    only to who keeps notices: see `named`."""
    return {
        "change": change,
        "app": template.app,
        "template": template.name,
        "version": template.version,
        "instance": owner.instance,
        "user": owner.user,
        "notice": notice.kind,
        "about": notice.about,
        "about_type": notice.about_type,
        "criticality": notice.criticality,
        "details": notice.details,
        "closed_because": because,
        "why": sorted(notice.why),
        "t_ms": t_ms,
    }


def named(change: dict[str, Any], opened_ms: int) -> dict[str, Any]:
    """A change with the id of its notice, which was opened at a time (Unix ms)."""
    stamp = iso(opened_ms).replace("-", "").replace(":", "")
    about = change["about"]
    if change["about_type"] != "event":
        about = f"{change['about_type']}:{about}"
    parts: Sequence[str] = (change["instance"], change["notice"], about, stamp)
    return {**change, "id": "~".join(parts), "opened_ms": opened_ms}


def identity(change: dict[str, Any]) -> tuple[str, str, str, str]:
    """What tells the open notice of a change from others: instance, kind, about."""
    return change["instance"], change["notice"], change["about_type"], change["about"]


class OpenNotices:
    """When the notices that are open were opened, for those who keep no database."""

    def __init__(self) -> None:
        self._opened: dict[tuple[str, str, str, str], int] = {}

    def take(self, change: dict[str, Any]) -> dict[str, Any]:
        """A change, named; changes come in the order of their times."""
        key = identity(change)
        opened = self._opened.setdefault(key, change["t_ms"])
        if change["change"] == "closed":
            del self._opened[key]
        return named(change, opened)


def _value(symbol: clingo.Symbol) -> int | str:
    if symbol.type is clingo.SymbolType.Number:
        return symbol.number
    return symbol.string if symbol.type is clingo.SymbolType.String else str(symbol)
