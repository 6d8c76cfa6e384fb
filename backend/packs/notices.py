"""From the atoms of an answer to notices, and from two answers to what changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import clingo

from backend.errors import CitywiseError
from backend.packs.template import TemplateVersion
from backend.times import iso

_LEVELS = range(1, 6)
_NOTICE = "notice("
_NAMES = ("notice", "detail", "closed")
_TERM = r'"[^"\\]*"|-?[0-9]+'
_SIMPLE = re.compile(rf"(\w+)\(((?:{_TERM})(?:,(?:{_TERM}))*)\)")
_ARGUMENT = re.compile(_TERM)
Key = tuple[str, str]
"""The kind of a notice, and what it is about as its term says it."""


class NoticesError(CitywiseError):
    """What rules concluded is no notice; the message names the atom and what is expected."""


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

    notices: dict[Key, Notice]
    reasons: dict[Key, str]


@dataclass(frozen=True)
class Owner:
    """The instance that an answer is for, and its user."""

    instance: str
    user: str


def differing(before: Sequence[str], after: Sequence[str]) -> tuple[list[str], list[str]]:
    """Of two answers, the atoms about notices that are not stated the same in both.

    An answer repeats what is as it was; reading that would cost more than finding it.
    """
    changed = {a for a in before if a.startswith(_NOTICE)}
    changed ^= {a for a in after if a.startswith(_NOTICE)}
    # Without the criticality, which is the last: `(Me,Kind,About,`.
    subjects = {atom[len(_NOTICE) - 1 : atom.rindex(",") + 1] for atom in changed}
    heads = tuple(name + subject for name in _NAMES for subject in subjects)
    old, new = ([a for a in atoms if a.startswith(heads)] for atoms in (before, after))
    return old, new


def stated(atoms: Iterable[str], about: Callable[[str], tuple[str, str]]) -> Stated:
    """What atoms of an answer state; `about` gives type and id of what a term names.

    Of several criticalities of one notice the highest counts. Raises `NoticesError` for one
    that is not an integer from 1 to 5.
    """
    found = Stated({}, {})
    taken = [(text, *_taken(text)) for text in atoms]
    for text, name, arguments in taken:
        if name == "notice":
            _take_notice(found, text, arguments, about)
    for text, name, arguments in taken:
        if name != "notice":
            _take_other(found, text, name, arguments)
    return found


def _take_notice(
    found: Stated,
    text: str,
    arguments: Sequence[int | str],
    about: Callable[[str], tuple[str, str]],
) -> None:
    _me, kind, term, level = arguments
    if level not in _LEVELS:
        raise NoticesError(f"`{text}`: the criticality {level} is no integer from 1 to 5")
    key = str(kind), str(term)
    known = found.notices.get(key)
    if known is None or known.criticality < int(level):
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


def _taken(atom: str) -> tuple[str, list[int | str]]:
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
    parts: Sequence[str] = (change["instance"], change["notice"], change["about"], stamp)
    return {**change, "id": "~".join(parts), "opened_ms": opened_ms}


def identity(change: dict[str, Any]) -> tuple[str, str, str]:
    """What tells the open notice of a change from others: instance, kind, about."""
    return change["instance"], change["notice"], change["about"]


class OpenNotices:
    """When the notices that are open were opened, for those who keep no database."""

    def __init__(self) -> None:
        self._opened: dict[tuple[str, str, str], int] = {}

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
