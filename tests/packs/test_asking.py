"""What an instance asks for of its user's context follows from its rules and its values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from citywise.backend.packs.asking import asks
from tests.api.templates import pack_of
from tests.context.situation import PACK
from tests.packs.folders import AppFolder

AREA = {"center": {"lat": 56.15, "lon": 10.2}, "radius_m": 500}
WAY = {"coordinates": [[10.1, 56.1], [10.2, 56.1]]}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"interest": "my_route"}, ["position", "route", "activity"]),
        ({"interest": "my_route", "route": WAY}, ["position", "activity"]),
        ({"interest": "around_me"}, ["position", "activity"]),
        ({"interest": "around_me", "activities": ["Walking"]}, ["position"]),
        ({"interest": "area", "area": AREA, "affecting": "anything"}, ["position"]),
    ],
)
def test_what_the_values_rule_out_is_not_asked_for(
    values: dict[str, Any], expected: list[str]
) -> None:
    version = pack_of(PACK).template("critical_events")
    assert asks(version, version.bind(values)) == expected
    assert asks(version) == ["position", "route", "activity"], "instances may ask for all of it"


MODE = """
[templates.jam_ahead.parameters.mode]
type = "choice"
choices = ["near", "way"]
default = "way"
title = "Where"

[notices.jam_ahead]"""


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('mode(Me,"near"), has_position(Me).', []),
        ('not mode(Me,"way"), has_position(Me).', []),
        ('mode(Me,"way"), has_position(Me).', ["position"]),
        ("not mode(Me,_), has_position(Me).", []),
        ("mode(Me,_), has_position(Me).", ["position"]),
        ("mode(Me,Any), has_position(Me).", ["position"]),
        ('user(Me,_), mode(Other,"near"), has_position(Other).', ["position"]),
    ],
)
def test_a_rule_counts_unless_a_choice_of_its_own_instance_rules_it_out(
    tmp_path: Path, rule: str, expected: list[str]
) -> None:
    app = AppFolder(tmp_path)
    app.manifest("\n[notices.jam_ahead]", MODE)
    app.write("templates/jam_ahead.casp", f'notice(Me,"jam_ahead",here,1) :- {rule}\n')
    version = app.load().template("jam_ahead")
    assert asks(version, version.bind({})) == expected


def test_what_leads_to_no_conclusion_is_not_asked_for(tmp_path: Path) -> None:
    app = AppFolder(tmp_path)
    rules = 'idle(Me) :- has_position(Me).\nnotice(Me,"jam_ahead",here,1) :- user(Me,_).\n'
    app.write("templates/jam_ahead.casp", rules)
    assert asks(app.load().template("jam_ahead")) == []
