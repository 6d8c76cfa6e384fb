"""The template versions that a system has: installed once, kept while instances use them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Engine, select

from citywise.backend.errors import CitywiseError
from citywise.backend.packs.manifest import Pack
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.store.models import TemplateVersionRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms


class StaleVersionError(CitywiseError):
    """A template has changed, but its version has not."""


class UnknownTemplateError(CitywiseError):
    """No such template, or no such version of it, is installed."""


def install(engine: Engine, packs: Iterable[Pack]) -> list[TemplateVersion]:
    """Install the templates of some packs; what is installed already stays as it is.

    Texts and translations of a version are brought up to date. Raises `StaleVersionError`,
    and installs nothing, when rules or parameters of an installed version have changed.
    """
    versions = [template for pack in packs for template in pack.templates]
    with engine.begin() as connection:
        rows = [row for version in versions if (row := _row(connection, version))]
        upsert(connection, TemplateVersionRow, rows)
    return versions


def would_install(connection: Connection, pack: Pack) -> list[TemplateVersion]:
    """The template versions of a pack that are not installed yet; raises `StaleVersionError`."""
    table = TemplateVersionRow
    columns = (table.app, table.name, table.version)
    known = {tuple(row) for row in connection.execute(select(*columns))}
    for version in pack.templates:
        _row(connection, version)
    return [v for v in pack.templates if (v.app, v.name, v.version) not in known]


def _row(connection: Connection, version: TemplateVersion) -> dict[str, Any] | None:
    """The row of a version; None where it is there already, as it is."""
    table = TemplateVersionRow
    wanted = (table.app == version.app) & (table.name == version.name)
    columns = (table.version, table.digest, table.body, table.installed_ms)
    known = {row.version: row for row in connection.execute(select(*columns).where(wanted))}
    before, body = known.get(version.version), version.to_json()
    if before is not None and before.digest != version.digest:
        raise StaleVersionError(_stale(version, max(known) + 1))
    if before is not None and before.body == body:
        return None
    return {
        "app": version.app,
        "name": version.name,
        "version": version.version,
        "digest": version.digest,
        "body": body,
        "installed_ms": wall_ms() if before is None else before.installed_ms,
    }


def _stale(version: TemplateVersion, free: int) -> str:
    return (
        f"template `{version.name}` {version.version} of app `{version.app}` is installed with "
        f"other rules or parameters; raise `version` in app.toml to {free} "
        f"(templates.{version.name}.version); instances of {version.version} keep the old rules "
        "until migrated"
    )


def versions(connection: Connection) -> list[TemplateVersion]:
    """All installed versions, by app, name and version."""
    table = TemplateVersionRow
    rows = connection.execute(
        select(table.body).order_by(table.app, table.name, table.version)
    ).scalars()
    return [TemplateVersion.from_json(body) for body in rows]


def find(
    connection: Connection, app: str, name: str, version: int | None = None
) -> TemplateVersion:
    """One installed version, the newest if none is asked for; raises `UnknownTemplateError`."""
    table = TemplateVersionRow
    wanted = (table.app == app) & (table.name == name)
    rows = connection.execute(select(table.version, table.body).where(wanted)).all()
    known = {row.version: row.body for row in rows}
    if known and version is None:
        version = max(known)
    if version not in known:
        raise UnknownTemplateError(_unknown(connection, app, name, version, sorted(known)))
    return TemplateVersion.from_json(known[version])


def _unknown(
    connection: Connection, app: str, name: str, version: int | None, known: list[int]
) -> str:
    if known:
        listed = ", ".join(map(str, known))
        return (
            f"template `{name}` of app `{app}` has no version {version}; there are {listed}; "
            "leave `version` out for the newest"
        )
    rows = connection.execute(select(TemplateVersionRow.app, TemplateVersionRow.name).distinct())
    listed = ", ".join(sorted(f"{row.app}/{row.name}" for row in rows)) or "none at all"
    return f"no template `{app}/{name}` is installed; there are {listed}"
