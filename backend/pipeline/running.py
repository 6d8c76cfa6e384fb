"""Which templates a running system evaluates: the newest version of each, and every older one
that instances still have or whose notices are still open. Read with each batch, so that
installing a template or adding an instance needs no restart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, func, select

from citywise.backend.packs.prepared import prepared
from citywise.backend.packs.sight import Sight
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.store.models import CursorRow, InstanceRow, NoticeRow, TemplateVersionRow

_WORTH_PARTS, _WORTH_NONE = 2_000, 1_000
"""Instances from which on a template is divided by user, and below which it is not again."""
_Version = tuple[str, str, int]


@dataclass(frozen=True)
class Running:
    """A template version to evaluate, and how many instances there are."""

    request: str
    body: Mapping[str, Any]
    instances: int
    local: bool
    """Whether its users can be evaluated apart."""
    readings: bool = False
    """Whether its notices depend on sensors' readings themselves."""
    many: bool = False
    """Whether it has so many instances that dividing them is worth it."""

    def parts(self, partitions: str, workers: int) -> int:
        """Into how many parts its users are divided; changes are rare, as each has a new part
        built from the log."""
        if not self.local:
            return 1
        if partitions == "auto":
            return workers if self.many else 1
        return max(1, int(partitions))


def is_template(request: str) -> bool:
    """Whether rows and cursors of this name are a template's (`app/template@version`)."""
    return "/" in request


class RunningTemplates:
    """Reads the template versions that run; bodies are read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[_Version, str], Running] = {}
        self._many: set[_Version] = set()

    def read(self, connection: Connection) -> Sequence[Running]:
        """The versions that run now, by name."""
        table = TemplateVersionRow
        rows = connection.execute(select(table.app, table.name, table.version, table.digest))
        digests = {(row.app, row.name, row.version): row.digest for row in rows}
        counts = _instances(connection)
        newest = {(app, name): version for app, name, version in sorted(digests)}
        running = counts.keys() | {(*name, version) for name, version in newest.items()}
        running |= _unfinished(connection, digests.keys() - running)
        return [
            self._running(connection, version, digest, counts.get(version, 0))
            for version, digest in sorted(digests.items())
            if version in running
        ]

    def _running(
        self, connection: Connection, version: _Version, digest: str, instances: int
    ) -> Running:
        known = self._known.get((version, digest))
        if known is None:
            table = TemplateVersionRow
            query = select(table.body)
            for column, value in zip((table.app, table.name, table.version), version, strict=True):
                query = query.where(column == value)
            template = TemplateVersion.from_json(connection.execute(query).scalar_one())
            known = Running(
                template.request_name,
                template.to_json(),
                instances,
                prepared(template).rules.local,
                Sight(template).reads_readings,
            )
            self._known[version, digest] = known
        if instances >= _WORTH_PARTS:
            self._many.add(version)
        elif instances < _WORTH_NONE:
            self._many.discard(version)
        return replace(known, instances=instances, many=version in self._many)


def _unfinished(connection: Connection, versions: Iterable[_Version]) -> set[_Version]:
    """Of versions without instances, those that have yet to close notices: that an instance
    is gone they learn from the log, which is later."""
    requests = {"{}/{}@{}".format(*version): version for version in versions}
    query = select(CursorRow.request).where(CursorRow.request.in_(requests))
    evaluated = [requests[name] for name in connection.scalars(query)] if requests else []
    return {version for version in evaluated if _has_open(connection, version)}


def _has_open(connection: Connection, version: _Version) -> bool:
    table = NoticeRow
    query = select(table.id).where(
        table.app == version[0],
        table.template == version[1],
        table.version == version[2],
        table.closed_ms.is_(None),
    )
    return connection.scalar(query.limit(1)) is not None


def _instances(connection: Connection) -> dict[_Version, int]:
    table = InstanceRow
    columns = (table.app, table.template, table.version)
    rows = connection.execute(select(*columns, func.count()).group_by(*columns))
    return {(row[0], row[1], row[2]): row[3] for row in rows}
