"""Why a user was told something, or was not: answered from the log when it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import Connection, select

from citywise.backend.api import access, identity, limits, parameters, runs
from citywise.backend.api.answers import as_json
from citywise.backend.api.instances import known_instance
from citywise.backend.api.problems import ProblemError, bad_parameter, not_found
from citywise.backend.api.state import state
from citywise.backend.ingest.corrections import Cause
from citywise.backend.packs import installed, why
from citywise.backend.packs.prepared import prepared
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.people.ids import is_test_person
from citywise.backend.store.models import EventRow, NoticeRow, PlaceRow
from citywise.backend.times import iso

blueprint = Blueprint("why", __name__)

MAX_TERM = 300


@blueprint.get("/why")
@access.person(session=True)
@limits.counted("expensive")
def explain() -> Response:
    """Why, or why not; without `about`, what was known and what the rules concluded."""
    parameters.only("instance", "notice", "about", "at", "trace")
    instance = parameters.identifier("instance")
    if instance is None:
        identity.person()
        raise bad_parameter("instance", "say of which instance, as in ?instance=alice.jam_ahead")
    about = request.args.get("about", "")
    if len(about) > MAX_TERM:
        raise bad_parameter("about", f"longer than {MAX_TERM} characters")
    with state().engine.connect() as connection:
        row = known_instance(connection, instance)
        template = installed.find(connection, row["app"], row["template"], row["version"])
        _refuse_of_others(row["user"], template)
        position = _position(connection, template)
        there = _there(connection, about)
        kind, bounds = _kind(template), runs.limits()
        back = _taken_back(connection, instance, kind, about)

    def answer(run: TemplateRun) -> dict[str, Any]:
        runs.refuse_unevaluated(run, instance, bounds)
        if not about:
            return _instance_facts(run, instance)
        found = _reasons(run, instance, kind, about, there)
        return found if found["told"] else {**found, "text": f"{found['text']}{back}"}

    try:
        found = runs.ask(template, row["user"], position, answer)
    except why.NoInstanceError as error:
        raise not_found(f"such instance then: {error}") from None
    return as_json({"instance": instance, "notice": kind, "about": about or None, **found})


def _refuse_of_others(user: str, template: TemplateVersion) -> None:
    """A problem where an explanation would tell a person what others do."""
    if not is_test_person(user) and not prepared(template).rules.local:
        raise ProblemError(
            403,
            "joins-users",
            "About others too",
            f"the rules of {template.request_name} join what several users tell, so that an "
            "explanation would tell you of the others; there is none for people",
        )


def _position(connection: Connection, template: TemplateVersion) -> int | None:
    trace, at_ms = parameters.integer("trace", None, 1, 2**62), parameters.instant("at")
    if trace is not None:
        return runs.position_of(connection, template.request_name, trace)
    if at_ms is not None:
        return runs.position_at(connection, template.request_name, at_ms)
    return None


def _kind(template: TemplateVersion) -> str:
    """The kind of notice asked about; it need not be named where there is only one."""
    kinds = list(template.notices)
    named = parameters.choices("notice", kinds)
    if not named and len(kinds) != 1:
        raise bad_parameter("notice", f"say which kind: {', '.join(kinds)}")
    return (named or kinds)[0]


def _there(connection: Connection, about: str) -> dict[str, str]:
    """What there is of an id, `event` or `place`; else the places that may have been meant."""
    for row, kind in ((EventRow, "event"), (PlaceRow, "place")):
        if connection.execute(select(row.id).where(row.id == about)).one_or_none():
            return {about: kind}
    return dict.fromkeys(connection.scalars(select(PlaceRow.id)), "place")


def _taken_back(connection: Connection, instance: str, kind: str, about: str) -> str:
    """Because of which readings the last notice was taken back, as a note; else nothing."""
    row = NoticeRow
    query = select(row.opened_ms, row.taken_back).where(
        row.instance == instance, row.kind == kind, row.about == about
    )
    found = connection.execute(query.order_by(row.opened_ms.desc()).limit(1)).one_or_none()
    if found is None or found.taken_back is None:
        return ""
    because = "; ".join(Cause.from_json(one).words() for one in found.taken_back)
    return f"Note: the notice of {iso(found.opened_ms)} was taken back: {because}.\n"


def _reasons(
    run: TemplateRun, instance: str, kind: str, about: str, there: Mapping[str, str]
) -> dict[str, Any]:
    found = why.explain(run, instance, kind, about, there)
    return {
        "at": found.at,
        "told": found.told,
        "text": found.tree,
        "explanation": found.explanation,
        "inputs": list(found.inputs),
        "answer": list(found.answer),
    }


def _instance_facts(run: TemplateRun, instance: str) -> dict[str, Any]:
    if not run.has(instance):
        raise why.NoInstanceError(f"there was no instance `{instance}`")
    facts = sorted(line.removesuffix(".") for line in run.slice(instance).splitlines())
    return {
        "at": iso(run.clock[0]) if run.clock else None,
        "told": None,
        "text": None,
        "explanation": None,
        "inputs": facts,
        "answer": list(run.answer(instance)),
    }
