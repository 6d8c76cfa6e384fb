"""Trying a template instance: what it would tell now, without making it."""

from __future__ import annotations

import uuid
from typing import Any

from flask import Blueprint, Response

from citywise.backend.api import (
    access,
    context,
    identity,
    limits,
    parameters,
    runs,
)
from citywise.backend.api.answers import as_json
from citywise.backend.api.instance_bodies import NewInstance
from citywise.backend.api.instances import Row, new_row, standing
from citywise.backend.api.notices import worded
from citywise.backend.api.problems import ProblemError
from citywise.backend.api.state import state
from citywise.backend.notices import book
from citywise.backend.packs import asking, installed, live
from citywise.backend.packs.template import TemplateVersion

blueprint = Blueprint("trials", __name__)


@blueprint.post("/instances/check")
@access.person()
@limits.counted("expensive")
def check_instance() -> Response:
    """What would be made of a body, and which notices would be open now."""
    parameters.only("lang")
    body = parameters.body(NewInstance)
    with state().engine.connect() as connection:
        # Not of an instance there is already: that may have its notices open.
        row = new_row(connection, body, identity.whose(body.user), f"try-{uuid.uuid4().hex}")
        version = installed.find(connection, row["app"], row["template"], row["version"])
    notices, reason = _preview(row, version)
    return as_json(
        {
            "version": row["version"],
            "values": row["values"],
            "notices": notices,
            "reason": reason,
            "missing": context.missing(row["user"], asking.asks(version, row["values"])),
        }
    )


def _preview(row: Row, version: TemplateVersion) -> tuple[list[dict[str, Any]] | None, str | None]:
    """The notices that an instance would have open now, and what is wrong; None and the
    reason where that cannot be known."""
    body = standing(row)
    try:
        changes, error = runs.ask(
            version, row["user"], None, lambda run: live.preview(run, row["id"], body)
        )
    except ProblemError as problem:
        return None, problem.detail
    with state().engine.connect() as connection:
        return worded(connection, book.notices_of(connection, changes)), error
