"""The map of a plan as one file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from citywise.apps.travel_planner import api_export
from citywise.backend.api import limits
from tests.travel_planner.conftest import HOME, WORK

JOURNEY = {"from": HOME, "to": WORK, "mode": "car"}


def test_a_plan_is_drawn_aside_and_says_what_conflicts(
    planning: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[bool] = []

    def aside(work: Callable[[], Any]) -> Any:
        drawn.append(True)
        return work()

    monkeypatch.setattr(api_export, "aside", aside)
    limit = {"on": "time", "op": "<=", "value": 1}
    plan = planning.post("/api/v1/plans/travel", json=JOURNEY | {"constraints": [limit]}).json
    file = planning.get(f"/plan/export?plan={plan['plan']}&lang=en")
    assert file.status_code == 200, file.text
    assert drawn == [True]
    assert "Your limits are too tight" in file.text
    assert plan["conflict"]["relaxation"] in file.text


def test_exports_count_as_plans_do(app: Flask) -> None:
    view = app.view_functions["plan_export.export_plan"]
    assert getattr(view, limits._COUNTED) == "plans"
