"""Taking part in a meeting over HTTP: by the link, then by what the link gave one's browser.

None of these addresses needs an account; who has one is known by it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flask import Blueprint, Response, request

from citywise.apps.meeting_mgr import readings, store, topics, views
from citywise.apps.meeting_mgr.api import rights
from citywise.apps.meeting_mgr.api.bodies import Arriving, Joining, OwnWord, Sharing, TalkTime
from citywise.apps.meeting_mgr.api.rights import Seat, Work, reading, seated, working
from citywise.apps.meeting_mgr.api.showing import Showing
from citywise.apps.meeting_mgr.model import Person
from citywise.apps.meeting_mgr.record import MeetingError, Step
from citywise.apps.meeting_mgr.steps import arriving, consent, taking_part, talk_time
from citywise.apps.meeting_mgr.telling import person_channel
from citywise.backend.app import (
    access,
    as_json,
    handing,
    identity,
    limits,
    parameters,
    problems,
    state,
)

blueprint = Blueprint("meeting_people", __name__)
MOST_PEOPLE = 500
"""Who joins a meeting, those who have left included."""
PATIENCE_S = 1.0
"""For the broker to take a reading: the next one comes within a second."""


@blueprint.get("/meetings/<meeting_id>/join")
@access.key_holder
def show_link(meeting_id: str) -> Response:
    """What the link leads to, for who has it."""
    parameters.only("key")
    with reading() as work:
        return as_json(views.before_joining(work.linked(meeting_id, request.args.get("key", ""))))


@blueprint.post("/meetings/<meeting_id>/people")
@access.key_holder
@limits.counted("joins")
def join(meeting_id: str) -> Response:
    """Take part: the browser is given what says from now on who it is in this meeting."""
    parameters.only()
    identity.refuse_unproven(identity.principal())
    body = parameters.body(Joining)
    with working() as work:
        record = work.linked(meeting_id, body.key)
        there = work.people(record)
        _refuse_crowd(there)
        former = work.known(record)
        if former is not None:  # Its seat would stay, and be nobody's.
            work.write(taking_part.leave(record, former, work.now_ms))
        step = taking_part.join(
            record, body.name or "", body.attendee, _account(), work.now_ms, former, there
        )
        secret = store.join(work.connection, work.boxes, step)
        (person,) = step.people
        answer = _participant_view(work, Seat(step.record, person), 201)
    rights.remember(answer, person, secret)
    state().tell_broker()
    return answer


@blueprint.get("/meetings/<meeting_id>/people/me")
@access.key_holder
def show_own(meeting_id: str) -> Response:
    """The meeting as who takes part sees it."""
    parameters.only()
    with reading() as work:
        return _participant_view(work, work.seat(meeting_id))


@blueprint.put("/meetings/<meeting_id>/people/me")
@access.key_holder
@limits.counted_itself
def say(meeting_id: str) -> Response:
    """Say where one is, ask to speak, or mute oneself."""
    parameters.only()
    body = parameters.body(OwnWord)
    return _changed(
        meeting_id,
        lambda work, seat: taking_part.say(*seat, work.now_ms, **body.model_dump()),
    )


@blueprint.delete("/meetings/<meeting_id>/people/me")
@access.key_holder
@limits.counted_itself
def leave(meeting_id: str) -> Response:
    """Take part no more: nothing is shared from now on, and the browser is nobody here.

    `forget`: the minutes lose what was concluded from one's sensors.
    """
    parameters.only("forget")
    is_forgotten = bool(parameters.boolean("forget"))
    with seated(meeting_id) as (work, seat):
        work.write(taking_part.leave(*seat, work.now_ms, forget=is_forgotten))
    state().end_streams(user=person_channel(seat.person.id))
    state().tell_broker()
    answer = Response(status=204)
    rights.forget(answer, meeting_id)
    return answer


@blueprint.put("/meetings/<meeting_id>/people/me/sharing")
@access.key_holder
@limits.counted_itself
def share(meeting_id: str) -> Response:
    """Say which sensors may be told of; what was concluded of others goes.

    What was ended meanwhile stays so unless that is `noted`.
    """
    parameters.only()
    body = parameters.body(Sharing)
    return _changed(
        meeting_id,
        lambda work, seat: consent.share(*seat, body.sensors, work.now_ms, body.noted),
    )


@blueprint.put("/meetings/<meeting_id>/people/me/arrival")
@access.key_holder
@limits.counted_itself
def tell_arrival(meeting_id: str) -> Response:
    """Let the meeting know when one arrives by the trip that one follows, or no longer."""
    parameters.only()
    if not parameters.body(Arriving).tells:
        return _changed(meeting_id, lambda work, seat: arriving.withdraw(*seat, work.now_ms))

    def agree(work: Work, seat: Seat) -> Step:
        if seat.person.user is not None:
            _require_login(seat.person.user)
        return arriving.agree(*seat, work.now_ms)

    return _changed(meeting_id, agree)


@blueprint.put("/meetings/<meeting_id>/people/me/talk-time")
@access.key_holder
@limits.counted_itself
def agree_talk_time(meeting_id: str) -> Response:
    """Let the minutes say how long one spoke, if all agree, or no longer."""
    parameters.only()
    step = talk_time.agree if parameters.body(TalkTime).agrees else talk_time.withdraw
    return _changed(meeting_id, lambda _, seat: step(*seat))


@blueprint.post("/meetings/<meeting_id>/people/me/readings")
@access.key_holder
@limits.counted_itself
def tell(meeting_id: str) -> Response:
    """Hand what one's sensors measure to the reasoner: it is kept nowhere."""
    parameters.only()
    told = _checked_reading()
    with reading() as work:
        seat = work.seat(meeting_id)
        consent.require_open(seat.record)
    rights.spend(seat, "readings")
    broker = state().settings.broker
    try:
        topic = topics.of_person(broker.prefix, meeting_id, seat.person.id)
        # Once: one that is sent again later would be taken for a new one.
        handing.hand(broker, topic, told, PATIENCE_S, is_sure=False)
    except handing.NotHandedError as error:  # Where it is is told by the app's process.
        detail = "readings cannot be passed on now: the broker is away; send the next one"
        raise problems.ProblemError(503, "broker-away", "Broker away", detail) from error
    return as_json({}, 202)


@blueprint.post("/meetings/<meeting_id>/people/me/mqtt")
@access.key_holder
@limits.counted_itself
def open_mqtt(meeting_id: str) -> Response:
    """Where and as whom to tell readings by MQTT; earlier passwords are void."""
    parameters.only()
    city = state().settings
    url = state().broker_url()
    with seated(meeting_id) as (work, seat):
        consent.require_open(seat.record)
        if url is None:
            return as_json({"mqtt": None})
        person = seat.person.id
        password = store.give_broker_secret(work.connection, person)
    state().tell_broker()
    topic = topics.of_person(city.broker.prefix, meeting_id, person)
    return as_json({"mqtt": {"url": url, "username": person, "password": password, "topic": topic}})


def _changed(meeting_id: str, step: Callable[[Work, Seat], Step]) -> Response:
    """Make a step for who asks, and show them the meeting after it."""
    with seated(meeting_id) as (work, seat):
        work.write(step(work, seat))
        return _participant_view(work, work.seat(meeting_id))


def _require_login(user: str) -> None:
    """Raise unless it is an account itself that asks: a seat opens nothing of it."""
    identity.refuse_token("all")
    identity.refuse_unproven(identity.principal())
    if identity.own_id() != user:
        raise identity.log_in()


def _participant_view(work: Work, seat: Seat, status: int = 200) -> Response:
    people = work.people(seat.record)
    view = Showing.of_request().participant(seat.record, people, seat.person, work.now_ms)
    return as_json(view, status)


def _refuse_crowd(there: Sequence[Person]) -> None:
    """Raise a 409 where all too many have joined, who may be one with the link."""
    if len(there) >= MOST_PEOPLE:
        detail = f"{MOST_PEOPLE} have joined this meeting; ask its host for a new one"
        raise MeetingError("full", detail)


def _checked_reading() -> bytes:
    """The reading that was sent, as it was sent."""
    parameters.json_object()
    told = request.get_data()
    try:
        readings.reading(told)
    except readings.BadReadingError as error:
        raise problems.ProblemError(422, "bad-reading", "Bad reading", str(error)) from None
    return told


def _account() -> str | None:
    """The account of who asks; the demo's is everybody's at the machine, and so nobody's."""
    asker = identity.principal()
    return None if asker.means == "demo" else asker.user
