"""Observations of any kind: typed, bounded, rounded, with what is unknown kept apart."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from citywise.backend.kinds import Field, Kind, Kinds, Observation, builtin

BINS = Kind(
    kind="bins",
    fields={
        "fill": Field(type="integer", range=(0, 100), step=5, required=True),
        "heat": Field(type="decimal", step=0.5),
        "open": Field(type="boolean"),
        "state": Field(type="category", values=("fine", "broken")),
        "note": Field(type="text"),
        "json": Field(type="integer"),
    },
)
READER = Kinds([BINS]).reader("bins")
AT: dict[str, Any] = {"sensor": "b1", "observed_at": "2026-01-01T01:00:00+01:00"}


def read(**fields: Any) -> Observation:
    return READER.of({**AT, **fields})


def test_values_have_the_types_of_their_fields() -> None:
    found = read(fill=42, heat=3, open=True, state="fine", note="på gulvet", json=1)
    assert found.values == {
        "fill": 40,
        "heat": 3.0,
        "open": True,
        "state": "fine",
        "note": "på gulvet",
        "json": 1,
    }
    assert found.to_json()["observed_at"] == "2026-01-01T00:00:00Z"


def test_a_missing_field_is_unknown_and_not_zero() -> None:
    assert read(fill=0, heat=None).values == {
        "fill": 0,
        "heat": None,
        "open": None,
        "state": None,
        "note": None,
        "json": None,
    }


def test_fields_that_the_kind_does_not_know_are_kept_apart() -> None:
    found = read(fill=1, battery_pct=87, deep={"rssi": -70}, model_config=1)
    assert found.extra == {"battery_pct": 87, "deep": {"rssi": -70}, "model_config": 1}
    assert "battery_pct" not in found.values


@pytest.mark.parametrize(
    ("fields", "at", "said"),
    [
        ({}, "fill", "Field required"),
        ({"fill": None}, "fill", "valid integer"),
        ({"fill": 1.5}, "fill", "valid integer"),
        ({"fill": True}, "fill", "valid integer"),
        ({"fill": "7"}, "fill", "valid integer"),
        ({"fill": 101}, "fill", "less than or equal to 100"),
        ({"fill": 1, "heat": "3"}, "heat", "valid number"),
        ({"fill": 1, "heat": 1e300}, "heat", "less than or equal"),
        ({"fill": 1, "open": 1}, "open", "valid boolean"),
        ({"fill": 1, "state": "lost"}, "state", "'fine' or 'broken'"),
        ({"fill": 1, "note": "x" * 501}, "note", "at most 500"),
        ({"fill": 1, "note": "a\x00"}, "note", "match pattern"),
        ({"fill": 1, "sensor": "b 1"}, "sensor", "match pattern"),
        ({"fill": 1, "observed_at": "2026-01-01T00:00:00"}, "observed_at", "timezone"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field(
    fields: dict[str, Any], at: str, said: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        read(**fields)
    fault = caught.value.errors()[0]
    assert fault["loc"][0] == at
    assert said in fault["msg"]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_no_number_is_infinite_or_none(number: str) -> None:
    text = orjson.dumps({**AT, "fill": 1})[:-1] + f', "heat": {number}}}'.encode()
    with pytest.raises(ValidationError):
        READER.one(text)


def test_an_observation_that_tells_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="none of `ozone`"):
        builtin().reader("air").of({**AT, "battery_pct": 3})
    assert builtin().reader("air").of({**AT, "ozone": 3}).values["ozone"] == 3
    assert builtin().reader("weather").of(AT).values["wind_kmh"] is None


@given(st.floats(-1000, 1000), st.sampled_from([0.1, 0.01, 0.25, 0.5, 1, 2, 7]))
def test_decimals_are_rounded_to_the_step_half_to_even(value: float, step: float) -> None:
    found = Field(type="decimal", step=step).rounded(value)
    steps = Decimal(str(value)) / Decimal(str(step))
    assert found == float(steps.to_integral_value(ROUND_HALF_EVEN) * Decimal(str(step)))


def test_several_are_read_at_once() -> None:
    payload = orjson.dumps([{**AT, "fill": 1}, {**AT, "fill": 2, "rssi": -3}])
    assert [(o.values["fill"], o.extra) for o in READER.several(payload)] == [
        (0, {}),
        (0, {"rssi": -3}),
    ]
