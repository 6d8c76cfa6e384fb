"""From the atoms of an answer to notices, and from two answers to what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import clingo

from backend.errors import CitywiseError
from backend.packs.template import TemplateVersion
from backend.times import iso

_LEVELS = range(1, 6)
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


def stated(atoms: Iterable[str], about: Callable[[str], tuple[str, str]]) -> Stated:
    """What an answer's atoms state; `about` gives type and id of what a term names.

    Of several criticalities of one notice the highest counts. Raises `NoticesError` for one
    that is not an integer from 1 to 5.
    """
    symbols = [(clingo.parse_term(text), text) for text in atoms]
    found = Stated({}, {})
    for symbol, text in symbols:
        if symbol.name == "notice":
            _take_notice(found, symbol, text, about)
    for symbol, text in symbols:
        if symbol.name != "notice":
            _take_other(found, symbol, text)
    return found


def _take_notice(
    found: Stated, symbol: clingo.Symbol, text: str, about: Callable[[str], tuple[str, str]]
) -> None:
    _me, kind, term, level = symbol.arguments
    if level.type is not clingo.SymbolType.Number or level.number not in _LEVELS:
        raise NoticesError(f"`{text}`: the criticality {level} is no integer from 1 to 5")
    key = _plain(kind), _plain(term)
    known = found.notices.get(key)
    if known is None or known.criticality < level.number:
        found.notices[key] = Notice(key[0], *about(key[1]), level.number, why=[text])


def _take_other(found: Stated, symbol: clingo.Symbol, text: str) -> None:
    """A detail of a notice, or the reason why one is no longer."""
    _me, kind, term, *rest = symbol.arguments
    key = _plain(kind), _plain(term)
    if symbol.name == "closed":
        found.reasons[key] = _plain(rest[0])
    elif key in found.notices:
        found.notices[key].details[_plain(rest[0])] = _value(rest[1])
        found.notices[key].why.append(text)


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


def _plain(symbol: clingo.Symbol) -> str:
    return symbol.string if symbol.type is clingo.SymbolType.String else str(symbol)


def _value(symbol: clingo.Symbol) -> int | str:
    return symbol.number if symbol.type is clingo.SymbolType.Number else _plain(symbol)
