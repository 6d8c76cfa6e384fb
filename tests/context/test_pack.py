"""The app pack of contextual filtering is sound, and its scenarios go as computed by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from citywise.backend.machine import REPOSITORY
from citywise.backend.packs import scenario_run, scenarios
from citywise.backend.packs.check import check_pack
from citywise.backend.pipeline.recorded import concluded
from tests.api.templates import pack_of
from tests.context.situation import PACK


def test_the_check_finds_nothing() -> None:
    assert check_pack(PACK) == []


@pytest.mark.parametrize("path", scenarios.of_pack(PACK), ids=lambda path: str(path.stem))
def test_a_scenario_brings_the_notices_computed_by_hand(path: Path) -> None:
    outcome = scenario_run.run(pack_of(PACK), path, concluded)
    assert outcome.got
    assert [line for found in outcome.differences for line in found.lines()] == []


def test_the_document_names_every_parameter_and_reason() -> None:
    document = (REPOSITORY / "docs" / "contextual-filtering.md").read_text(encoding="utf-8")
    template = pack_of(PACK).template("critical_events")
    reasons = set(re.findall(r'(?:closed|left_out)\(Me,[^:]*"(\w+)"\) :-', template.rules))
    assert {"passed", "off_route", "not_affected", "less_critical"} <= reasons
    missing = [name for name in {*template.parameters, *reasons} if f"`{name}`" not in document]
    assert missing == []
