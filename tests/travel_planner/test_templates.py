"""The app's rules are sound, and their scenarios go as computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from citywise.apps.travel_planner.beginning import HORIZON_KM
from citywise.apps.travel_planner.trips import TEMPLATES
from citywise.backend.machine import REPOSITORY
from citywise.backend.notices.objects import filled
from citywise.backend.notices.wording import spoken
from citywise.backend.packs import scenario_run, scenarios
from citywise.backend.packs.check import check_pack
from citywise.backend.pipeline.recorded import concluded
from tests.api.templates import pack_of

PACK = REPOSITORY / "apps" / "travel_planner"


def test_the_check_finds_nothing() -> None:
    assert check_pack(PACK) == []


@pytest.mark.parametrize("path", scenarios.of_pack(PACK), ids=lambda path: str(path.stem))
def test_a_scenario_brings_the_notices_computed_by_hand(path: Path) -> None:
    outcome = scenario_run.run(pack_of(PACK), path, concluded)
    assert outcome.got
    assert [line for found in outcome.differences for line in found.lines()] == []


def test_every_kind_of_trip_has_a_template_and_its_values_fit() -> None:
    pack = pack_of(PACK)
    assert set(TEMPLATES.values()) == {template.name for template in pack.templates}
    for horizon in HORIZON_KM.values():
        pack.template("ahead").bind({"horizon": horizon})


def test_every_notice_is_worded_in_danish() -> None:
    pack = pack_of(PACK)
    wanted = {f"notices.{name}.{part}" for name in pack.manifest.notices for part in _PARTS}
    assert wanted <= pack.strings["da"].keys()


_PARTS = ("title", "text")


@pytest.mark.parametrize(
    ("language", "metres", "said"),
    [
        ("en", 2876, "Ringgade: accident in 2.9 km, severity 4 of 5"),
        ("da", 2876, "Ringgade: ulykke om 2,9 km, alvor 4 af 5"),
        ("en", 420, "Ringgade: accident in 420 m, severity 4 of 5"),
        ("en", None, "Ringgade: accident, severity 4 of 5"),
    ],
)
def test_notices_say_how_far_as_the_pages_do(language: str, metres: int | None, said: str) -> None:
    pack = pack_of(PACK)
    own = {name: notice.model_dump() for name, notice in pack.manifest.notices.items()}
    text = spoken("accident", own, pack.strings)[language].text
    known = {} if metres is None else {"metres": metres}
    assert filled(text, {"about": "Ringgade", "level": 4, **known}, language) == said
