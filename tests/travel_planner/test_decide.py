"""`citywise decide travel|parking` answers one request on recorded data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citywise.apps.travel_planner import decide
from citywise.backend.times import parse_ms

HERE = {"lat": 56.156349, "lon": 10.205186}


def written(folder: Path, body: object) -> Path:
    file = folder / "request.json"
    file.write_text(body if isinstance(body, str) else json.dumps(body), encoding="utf-8")
    return file


@pytest.mark.slow
def test_parking_is_decided_as_it_was_known_at_the_time(tmp_path: Path, data_pack: Path) -> None:
    """The first of the reference: 02:08 in Aarhus on 15 August 2014."""
    body = {"destination": HERE, "radius_m": 800, "preferences": [{"minimise": "walk"}]}
    at_ms = parse_ms("2014-08-15T00:08:49.596Z")
    answer = decide.parking(written(tmp_path, body), data_pack, at_ms)
    best = answer["garages"][0]
    assert (best["id"], best["walk_m"], best["free"]) == ("MAGASIN", 33.3, 358)
    assert best["data_age_s"] == 420
    assert answer["now"] == "2014-08-15T00:08:49.596Z"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{", "line 1, column 2"),
        ("[]", "found no JSON object"),
        ({"destination": HERE, "radius_m": -1}, "request.json: radius_m: found -1, expected"),
        ('\ufeff{"radius_m": -1}', "request.json: radius_m: found -1, expected"),
    ],
)
def test_a_faulty_file_is_named_with_what_is_wrong_in_it(
    tmp_path: Path, body: object, said: str
) -> None:
    with pytest.raises(decide.DecideError) as raised:
        decide.parking(written(tmp_path, body), tmp_path, 0)
    assert said in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(decide.DecideError, match=r"none\.json: cannot be read"):
        decide.travel(tmp_path / "none.json", tmp_path, 0)
