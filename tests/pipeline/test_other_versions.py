"""States that other versions kept: former ones are gone on from, newer ones refused with a way
out."""

from __future__ import annotations

from typing import Any

import pytest

from citywise.backend.pipeline.requests import find
from citywise.backend.pipeline.worker import Worker
from citywise.reasoning import State, StateError
from tests.pipeline.stretches import Stretches, answer, plain, traffic

JAMS = find("traffic_jam")
LATER = "since", "last", "supplied", "resting", "late", "given"
"""What the first versions did not keep."""


@pytest.fixture(scope="module")
def stretches(tmp_path_factory: pytest.TempPathFactory) -> Stretches:
    """A road that jams, and clears in the third batch."""
    found = Stretches(tmp_path_factory.mktemp("log"))
    speeds = [20, 15, 50, 20]
    found.write(
        (300_000 * n + 1000, [traffic("1", 300_000 * n, v, 2 if v > 35 else 20)])
        for n, v in enumerate(speeds)
    )
    return found


def changes(stretches: Stretches, state: Any = None) -> list[Any]:
    """What becomes of the road, if after the second batch the state is what `state` makes of it."""
    begun, cursor = answer(Worker(), stretches.task(JAMS, 0, 2, {}))
    if state is not None:
        cursor["state"] = state(cursor["state"])
    rest, _ = answer(Worker(), stretches.task(JAMS, 2, 4, cursor))
    return [row for row in plain([*begun, *rest]) if row[2] == "change"]


@pytest.mark.parametrize("horizons", [{}, {"*": 3600.0}], ids=["in order", "revised"])
def test_a_state_of_a_former_version_is_gone_on_from(
    stretches: Stretches, horizons: dict[str, float]
) -> None:
    """It has neither what was kept later, nor a past: a jam that it knows is cleared once."""

    def former(state: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in state.items() if k not in (*LATER, "past")}

    whole = changes(stretches)
    assert [row[3]["type"] for row in whole if row[3].get("end_ms")] or len(whole) >= 3
    begun, cursor = answer(Worker(), stretches.task(JAMS, 0, 2, {}, horizons=horizons))
    cursor["state"] = former(cursor["state"])
    rest, after = answer(Worker(), stretches.task(JAMS, 2, 4, cursor, horizons=horizons))
    assert [row for row in plain([*begun, *rest]) if row[2] == "change"] == whole
    assert {*State().to_json()} <= {*after["state"]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tides": [1]}, "`tides`, which only a newer version understands"),
        ({"closed": "soon"}, "`closed` of the state is 'soon', expected a whole number"),
        ({"feedback": None}, "`feedback` of the state is None, expected a list"),
        ({"past": {"needed": 3}}, "what is kept of the past cannot be read (KeyError"),
        ({"past": [1]}, "what is kept of the past cannot be read (TypeError"),
    ],
)
def test_a_state_that_is_not_understood_is_left_and_told_of(
    stretches: Stretches, change: dict[str, Any], said: str
) -> None:
    """When the right version is back nothing is lost."""
    hour = {"*": 3600.0}
    begun, cursor = answer(Worker(), stretches.task(JAMS, 0, 2, {}, horizons=hour))
    strange = {**cursor, "state": {**cursor["state"], **change}}
    task = stretches.task(JAMS, 2, 4, strange, horizons=hour)
    rows, after = answer(Worker(), task)
    (error,) = [row.body["error"] for row in rows if row.kind == "trace"]
    assert said in error
    assert "leave the request out of `pipeline.requests` for one start" in error
    assert (after["stuck"], after["position"]) == (True, stretches.ends[2])
    assert after["state"] == strange["state"]
    rest, _ = answer(Worker(), stretches.task(JAMS, 2, 4, cursor, horizons=hour))
    found = [row for row in plain([*begun, *rest]) if row[2] == "change"]
    assert found == changes(stretches)


def test_an_app_that_reads_a_state_is_told_what_is_wrong() -> None:
    with pytest.raises(StateError, match="tides"):
        State.from_json({"tides": 1})
    assert State.from_json({}) == State()
