"""What apps say in their notices: titles and texts of installed template versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, select

from citywise.backend.notices.objects import LANGUAGE, Wording, Wordings
from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import TemplateVersionRow

_Version = tuple[str, str, int]


def wordings(
    connection: Connection, notices: Iterable[Mapping[str, Any]]
) -> Callable[[Mapping[str, Any]], Wordings]:
    """From a notice (a row of `notices`) to the wordings of its kind, for those given.

    A version that is no longer installed, or a kind it does not have, has none.
    """
    installed = _installed(connection, {notice["app"] for notice in notices})

    def of(notice: Mapping[str, Any]) -> Wordings:
        found = installed.get((notice["app"], notice["template"], notice["version"]))
        return spoken(notice["kind"], *found) if found else {}

    return of


def spoken(
    kind: str,
    notices: Mapping[str, Mapping[str, str]] | None,
    strings: Mapping[str, Mapping[str, str]] | None,
) -> Wordings:
    """The wordings of a kind of notice from what a template version says in English and its
    translations (`notices.<kind>.title`); English may be replaced as any other."""
    own = (notices or {}).get(kind)
    if own is None:
        return {}
    plain = Wording(own["title"], own.get("text") or "{about}")
    tables = {LANGUAGE: {}, **(strings or {})}
    return {
        language: Wording(
            table.get(f"notices.{kind}.title", plain.title),
            table.get(f"notices.{kind}.text", plain.text),
        )
        for language, table in tables.items()
    }


def _installed(connection: Connection, apps: set[str]) -> dict[_Version, Any]:
    row = TemplateVersionRow
    columns = (row.app, row.name, row.version, row.body["notices"], row.body["strings"])
    found: dict[_Version, Any] = {}
    for some in chunks(apps):
        for app, name, version, *said in connection.execute(
            select(*columns).where(row.app.in_(some))
        ):
            found[app, name, version] = said
    return found
