"""Templates as they stood at a moment of the log, for questions about one user."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from typing import TypeVar

from sqlalchemy import Connection, select

from citywise.backend.api.aside import aside
from citywise.backend.api.problems import ProblemError, not_found, too_much
from citywise.backend.api.state import state
from citywise.backend.ingest.frames import LogError
from citywise.backend.packs import live
from citywise.backend.packs.prepared import engine_of, prepared
from citywise.backend.packs.run import EVERYBODY, TemplateRun
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.people.ids import is_test_person
from citywise.backend.store.models import TraceRow
from citywise.reasoning import LimitError, Limits, SolvingError, WindowFacts
from citywise.reasoning.rdf.mapping import quote

Result = TypeVar("Result")


def limits() -> Limits:
    """What the evaluation for one question may use."""
    return state().settings.pipeline.limits.of_engine()


def ask(
    template: TemplateVersion,
    user: str,
    position: int | None,
    question: Callable[[TemplateRun], Result],
) -> Result:
    """The answer of a template's run as it stood at a position of the log, or stands now.

    Raises a problem where nothing has been evaluated, or where the log is no longer kept.
    """
    folder = state().settings.log_dir
    bounds = limits()
    users = _concerned(template, user)

    def work() -> Result:
        run = live.at(folder, template, position, users, bounds)
        try:
            return question(run)
        finally:
            run.close()

    try:
        return aside(work)
    except (live.NoClockError, LogError, OSError) as error:
        raise _unanswerable(str(error)) from None


def _concerned(template: TemplateVersion, user: str) -> Callable[[str], bool]:
    """Whose facts a question about one user needs: rules that join users' facts can be asked
    about only with others there; about a test person, with other test persons."""
    if prepared(template).rules.local:
        return lambda name: name == user
    return is_test_person if is_test_person(user) else EVERYBODY


def refuse_unevaluated(run: TemplateRun, instance: str, bounds: Limits) -> None:
    """Raises a problem where the evaluation for an instance was stopped at a limit: asking
    the rules why would take no less."""
    assert run.clock is not None
    if quote(instance) not in run.state(run.clock[1] + 1).get("kept", {}):
        return
    engine = engine_of(run.found, bounds)
    with closing(engine), suppress(SolvingError):
        try:
            engine.answer_sets(WindowFacts(run.slice(instance), run.found.supplied), models=1)
        except LimitError as error:
            raise too_much(f"instance {instance!r}: {error}") from None


def _unanswerable(reason: str) -> ProblemError:
    return ProblemError(
        409, "not-in-log", "Not in the log", f"{reason}; ask about a later time, or try again later"
    )


def position_at(connection: Connection, request: str, at_ms: int) -> int:
    """Where the last evaluation of a request up to a stream time stands in the log."""
    query = (
        select(TraceRow.position)
        .where(TraceRow.request == request, TraceRow.t_ms <= at_ms, TraceRow.position.is_not(None))
        .order_by(TraceRow.t_ms.desc(), TraceRow.id.desc())
        .limit(1)
    )
    position = connection.execute(query).scalar_one_or_none()
    if position is None:
        raise not_found(f"trace of `{request}` up to then; traces are kept for a bounded time")
    return position


def position_of(connection: Connection, request: str, trace: int) -> int:
    """Where the evaluation that a trace tells of stands in the log."""
    row = connection.execute(
        select(TraceRow.request, TraceRow.position).where(TraceRow.id == trace)
    ).one_or_none()
    if row is None or row.position is None or row.request != request:
        raise not_found(f"trace {trace} of `{request}`")
    return int(row.position)
