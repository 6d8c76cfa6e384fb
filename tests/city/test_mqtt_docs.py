"""What docs/mqtt.md shows is what the models accept."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from citywise.apps.meeting_mgr.readings import Reading, RoomReading, Values
from citywise.backend.city.pacing import Command
from citywise.backend.city.source import AHEAD, BATCH
from citywise.backend.ingest.acceptance import Acceptor
from citywise.backend.ingest.payloads import Clock, Place, Point
from citywise.backend.ingest.standing import (
    CONTEXT,
    ContextUpdate,
    EventState,
    UserPosition,
    UserRoute,
)
from citywise.backend.kinds import builtin
from citywise.backend.machine import REPOSITORY
from citywise.backend.settings import Ingest

TEXT = (REPOSITORY / "docs" / "mqtt.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"<!-- (\w+) -->\n```json\n(.*?)```", TEXT, re.DOTALL)
LETTERS = re.findall(r"^\| `([a-z-]+)` \| .* \| `(\{.*)` \|$", TEXT, re.MULTILINE)
KINDS = builtin()
MODELS: dict[str, type[BaseModel]] = {
    "Command": Command,
    "Place": Place,
    "Clock": Clock,
    "ContextUpdate": ContextUpdate,
    "EventState": EventState,
    "Reading": Reading,
    "RoomReading": RoomReading,
}


@pytest.mark.parametrize(("model", "text"), EXAMPLES)
def test_every_example_is_what_its_model_accepts(model: str, text: str) -> None:
    value = json.loads(text)
    for item in value if isinstance(value, list) else [value]:
        if model in KINDS:
            KINDS.reader(model).of(item)
        else:
            MODELS[model].model_validate_json(json.dumps(item))


def test_every_model_has_an_example_and_every_field_is_named() -> None:
    shown = {"traffic", "parking", "weather", "air", "noise"}
    assert {model for model, _ in EXAMPLES} == {*MODELS, *shown}
    models: list[type[BaseModel]] = [*MODELS.values(), UserPosition, UserRoute, Values]
    fields = {field for model in models for field in model.model_fields}
    fields |= {field for kind in shown for field in KINDS[kind].fields}
    missing = {field for field in fields if f"`{field}`" not in TEXT and f'"{field}"' not in TEXT}
    assert not missing


def test_every_kind_of_place_and_observation_is_named() -> None:
    assert all(f"`{kind}`" in TEXT for kind in (*KINDS, *KINDS.places))


def test_the_topics_and_limits_of_what_stands_are_those_of_the_code() -> None:
    acceptor = Acceptor("citywise", Ingest(), KINDS)
    now = datetime(2014, 8, 5, 7, tzinfo=UTC)
    examples = dict(reversed([e for e in EXAMPLES if e[0] in ("EventState", "ContextUpdate")]))
    for topic, model in (("events/<id>", "EventState"), ("context/<user>", "ContextUpdate")):
        assert f"`citywise/{topic}` | a" in TEXT
        name = "citywise/" + topic.replace("<id>", "e1").replace("<user>", "alice")
        verdict = acceptor.judge(name, examples[model].encode(), now)
        assert {entry.subject for entry in verdict.standing} <= {"event", *CONTEXT}
        assert verdict.standing
    assert f"`ingest.context_hours` ({Ingest().context_hours:g} hours)" in TEXT.replace("\n", " ")
    assert "2 to 10,000 points" in TEXT
    assert "1 to 160 characters" in TEXT


@pytest.mark.parametrize(("reason", "payload"), LETTERS)
def test_every_example_of_a_dead_letter_is_one(reason: str, payload: str) -> None:
    now = datetime(2014, 8, 5, 7, tzinfo=UTC)
    acceptor = Acceptor("citywise", Ingest(clock="topic"), KINDS)
    point = Point(coordinates=(10.1, 56.2))
    acceptor.know(Place(id="158324", kind="road", name="x", geometry=point, sensors=("traffic",)))
    acceptor.clock = Clock(now=now, complete=now, source="replay")
    verdict = acceptor.judge("citywise/observations/traffic", payload.encode(), now)
    assert [letter.reason for letter in verdict.dead] == [reason]
    assert not verdict.observations


def test_the_table_of_dead_letters_has_its_examples() -> None:
    assert {reason for reason, _ in LETTERS} == {
        "json", "schema", "unknown-sensor", "future", "ancient",
    }  # fmt: skip


def test_the_limits_are_those_of_the_code() -> None:
    limits = Ingest()
    assert f"`ingest.max_payload_bytes` ({limits.max_payload_bytes:,})" in TEXT
    assert f"`ingest.future_tolerance_s` ({limits.future_tolerance_s:g} s)" in TEXT
    assert f"`ingest.max_age_s` ({limits.max_age_s:g} s)" in TEXT
    assert f"at most {BATCH} in a message" in TEXT
    assert AHEAD.total_seconds() == 6 * 3600
    assert "at most six hours" in TEXT


def test_times_without_a_zone_are_refused() -> None:
    with pytest.raises(ValueError, match="timezone"):
        KINDS.reader("weather").of({"sensor": "a", "observed_at": "2014-08-05T07:00:00"})
