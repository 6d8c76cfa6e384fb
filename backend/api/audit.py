"""What was done with the rights of an operator, and undoing it."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response

from citywise.backend.api import access, control, identity, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.faults_of_people import as_problems
from citywise.backend.api.problems import not_found
from citywise.backend.api.state import state
from citywise.backend.people import accounts, audit
from citywise.backend.store.models import LARGEST_ID
from citywise.backend.times import iso, iso_or_none

blueprint = Blueprint("audit", __name__)


@blueprint.get("/audit")
@access.role("admin")
def list_actions() -> Response:
    """Actions, the newest first."""
    parameters.only("limit", "before")
    limit = parameters.integer("limit", 100, 1, 1000) or 100
    before = parameters.integer("before", None, 1, 2**62)
    with state().engine.connect() as connection:
        found = audit.listed(connection, limit + 1, before)
        called = {account.id: account.name for account in accounts.listed(connection)}
    more, found = len(found) > limit, found[:limit]
    actions = [_action_json(action, called) for action in found]
    return as_json({"actions": actions, "next": actions[-1]["id"] if more else None})


@blueprint.post("/audit/<int:action_id>/undo")
@access.role("admin", device=False)
def undo_action(action_id: int) -> Response:
    """Bring back what there was before an action; the answer is the undoing."""
    parameters.only()
    actor, engine = identity.own_id(), state().engine
    with engine.connect() as connection:
        there = audit.find(connection, action_id) if action_id <= LARGEST_ID else None
    if there is None:
        raise not_found(f"action {action_id}")
    with as_problems():
        control.pace_as_before(there)
    with as_problems(), engine.begin() as connection:
        undone = audit.undo(connection, action_id, actor)
    state().end_streams(user=undone.target)
    state().tell_broker()
    return as_json(_action_json(undone, {actor: identity.person().name}))


def _action_json(action: audit.Action, called: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": action.id,
        "at": iso(action.at_ms),
        "actor": {"id": action.actor, "name": called.get(action.actor)},
        "action": action.action,
        "target": action.target,
        "before": action.before,
        "after": action.after,
        "undoes": action.undoes,
        "undone": iso_or_none(action.undone_ms),
        "undoable": action.is_undoable,
    }
