"""Units, ids, times and values of foreign messages, as ours."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest

from citywise.backend.connectors.found import Fault
from citywise.backend.connectors.geometry import around, circle, geojson
from citywise.backend.connectors.ids import event_id, identifier
from citywise.backend.connectors.properties import role_of
from citywise.backend.connectors.times import instant
from citywise.backend.connectors.values import fitted, number
from citywise.backend.kinds import Field
from citywise.backend.kinds.units import UnitError, convert, ucum
from citywise.backend.times import iso


@pytest.mark.parametrize(
    ("value", "unit", "wanted", "expected"),
    [
        ("10", "m/s", "km/h", "36"),
        ("1", "MTS", "km/h", "3.6"),
        ("60", "[mi_i]/h", "km/h", "96.56064"),
        ("10", "kn", "km/h", "18.52"),
        ("32", "[degF]", "Cel", "0"),
        ("212", "°F", "Cel", "100"),
        ("273.15", "K", "Cel", "0"),
        ("20", "C", "Cel", "20"),
        ("20", "℃", "Cel", "20"),
        ("101325", "Pa", "hPa", "1013.25"),
        ("1013", "mbar", "hPa", "1013"),
        ("1013", "A97", "hPa", "1013"),
        ("0.5", "GP", "ug/m3", "500"),
        ("12", "µg/m³", "ug/m3", "12"),
        ("12", "ug.m-3", "ug/m3", "12"),
        ("0.54", "1", "%", "54"),
        ("54", "P1", "%", "54"),
        ("1", "[in_i]", "mm", "25.4"),
        ("1", "l/m²", "mm", "1"),
        ("60", "dB(A)", "dB", "60"),
        ("6", "B", "dB", "60"),
        ("1", "http://www.qudt.org/qudt/owl/1.0.0/unit/Instances.html#DegreeCelsius", "Cel", "1"),
        ("2", "ucum:hPa", "hPa", "2"),
        ("3", "{vehicles}", "1", "3"),
    ],
)
def test_a_value_in_a_unit_is_exact_in_another(
    value: str, unit: str, wanted: str, expected: str
) -> None:
    assert convert(Fraction(value), unit, wanted) == Fraction(expected)


@pytest.mark.parametrize(
    ("unit", "wanted"),
    [
        ("ppb", "ug/m3"), ("furlong", "km/h"), ("Cel", "%"), ("dBm", "dB"), ("V", "hPa"),
        ("", "Cel"), ("m/0", "m"), ("°C" * 500, "Cel"), ("m999", "m"), ("1/", "%"),
    ],
)  # fmt: skip
def test_a_unit_of_something_else_is_not_converted(unit: str, wanted: str) -> None:
    with pytest.raises(UnitError):
        convert(Fraction(1), unit, wanted)


def test_every_unit_of_the_kinds_that_come_along_is_known() -> None:
    from citywise.backend.kinds import builtin

    for kind in builtin().values():
        for field in kind.fields.values():
            if field.unit is not None:
                assert ucum(field.unit).factor > 0


@pytest.mark.parametrize(
    ("foreign", "kept"),
    [
        ("BRUUNS", "BRUUNS"),
        ("urn:ngsi-ld:Device:1", "urn:ngsi-ld:Device:1"),
        ("x" * 64, "x" * 64),
        ("x" * 65, "x" * 55),
        ("living room/t", "living_room_t"),
        ("ValladolI+D", "ValladolI_D"),
        ("_a", "x_a"),
        ("Å1", "x_1"),
        ("/" + "y" * 80, "x_" + "y" * 53),
    ],
)
def test_a_foreign_id_that_does_not_fit_keeps_its_characters_and_gets_a_digest(
    foreign: str, kept: str
) -> None:
    found = identifier(foreign, "")
    digest = hashlib.sha256(foreign.encode()).hexdigest()[:8]
    assert found == (kept if kept == foreign else f"{kept}-{digest}")
    assert len(found) <= 64


def test_an_id_of_an_event_may_be_longer_but_holds_no_blank_or_slash() -> None:
    assert event_id("e" * 160, "") == "e" * 160
    assert event_id("a b", "").startswith("a_b-")
    with pytest.raises(Fault, match="no id"):
        event_id("", "")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("2014-08-05T09:00:00+02:00", "2014-08-05T07:00:00Z"),
        ("2016-12-07T11:10:00Z/2016-12-07T11:15:00Z", "2016-12-07T11:15:00Z"),
        ("2026-07-24T20:05:00.043328661Z", "2026-07-24T20:05:00.043Z"),
        (1606857968, "2020-12-01T21:26:08Z"),
        ("1740651467085", "2025-02-27T10:17:47.085Z"),
        (Decimal("1648481184.757"), "2022-03-28T15:26:24.757Z"),
    ],
)
def test_a_time_is_an_instant(told: object, expected: str) -> None:
    found = instant(told, "")
    assert found is not None
    assert iso(found) == expected


def test_a_time_without_a_zone_names_an_instant_only_where_the_zone_is_known() -> None:
    assert instant("2018.02.15 01:00:50", "") is None
    found = instant("2018.02.15 01:00:50", "", ZoneInfo("Europe/Copenhagen"))
    assert found is not None
    assert iso(found) == "2018-02-15T00:00:50Z"


@pytest.mark.parametrize(
    "told", ["yesterday", "2014-13-05T00:00:00Z", -5, "9" * 14, True, [], 10**40]
)
def test_what_is_no_time_is_refused(told: object) -> None:
    with pytest.raises(Fault) as refused:
        instant(told, "/t")
    assert (refused.value.reason, refused.value.at) == ("time", "/t")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [("0.25", 0.2), ("0.35", 0.4), ("-0.05", 0), ("12", 12), (Decimal("19.13"), 19.1)],
)
def test_a_value_is_rounded_half_even_to_the_step(raw: object, expected: float) -> None:
    assert fitted(Field(type="decimal", step=0.1), raw, None, "") == expected


@pytest.mark.parametrize(
    "raw", ["twelve", "1,5", True, [], {}, "0x10", "1_000", Decimal("Infinity")]
)
def test_what_is_no_number_is_refused(raw: object) -> None:
    with pytest.raises(Fault) as refused:
        number(raw, "/v")
    assert refused.value.reason == "number"


def test_a_number_beyond_all_measure_is_refused_without_computing_it() -> None:
    with pytest.raises(Fault) as refused:
        number("1e999", "/v")
    assert refused.value.reason == "range"


def test_an_area_is_its_outline_and_several_are_what_surrounds_them() -> None:
    square = [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]
    assert geojson({"type": "Polygon", "coordinates": square}, "")["type"] == "LineString"
    hull = around([[(0, 0), (1, 0)], [(1, 1), (0, 1), (0.5, 0.5)]])
    assert sorted(set(hull)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert circle((10.0, 56.0), 0) == [(10.0, 56.0)]
    assert len(circle((10.0, 56.0), 1000)) == 25


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("Air Temperature", "air_temperature"),
        ("temperature_2", "air_temperature"),
        ("Temperature measurement", "air_temperature"),
        ("rel. Luftfeuchte", "air_humidity"),
        ("relative_humidity_3", "air_humidity"),
        ("PM2.5", "pm25"),
        ("pm_10", "pm10"),
        ("PM10 (µg/m³)", "pm10"),
        ("Ozone (O3) concentration", "o3"),
        ("NO2 mass concentration", "no2"),
        ("wind-speed", "wind_speed"),
        ("Sound level", "sound_level"),
        ("Water Temperature", None),
        ("soil_moisture", None),
        ("battery", None),
        ("CO2", None),
        ("PM1", None),
        ("dew point", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_a_property_is_known_by_what_people_call_it(name: str, role: str | None) -> None:
    assert role_of(name) == role
