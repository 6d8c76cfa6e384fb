"""What plans say: quantities, reasons and differences in words, in both languages."""

from __future__ import annotations

from typing import Any

from citywise.apps.travel_planner.decisions import Constraint, Op, Reason
from citywise.apps.travel_planner.wording import Among, Words, _tables

Json = dict[str, Any]
LANGUAGES = ("en", "da")


def test_a_reason_names_the_wishes_in_which_the_next_is_equal() -> None:
    reason = Reason("best", "cost", 10.0, "r2", 20.0, 10.0, wished=True, level=("time",))
    words = [
        Words(language).why("r1", [reason], Among("3 ways", False, "r1")) for language in LANGUAGES
    ]
    assert words == [
        "Equal to the next in time, and 10 DKK cheaper.",
        "Samme tid som den næste, og 10 kr. billigere.",
    ]


def test_lengths_and_times_are_said_in_units_one_reads() -> None:
    words = Words("da")
    assert [words.duration(seconds) for seconds in (40, 60, 119, 754, 3600, 3900)] == [
        "40 s",
        "1 min",
        "2 min",
        "13 min",
        "1 t",
        "1 t 5 min",
    ]
    assert [words.length(metres) for metres in (7.4, 999, 1400)] == ["7 m", "999 m", "1,4 km"]
    limit = Constraint("time", "<=", 754.5)
    assert words.limit(limit) == "tid ≤ 12 min 34 s"
    assert words.difference({"cost": 3.0}, {"cost": 13.0}) == "10 kr. billigere"
    assert Words("en").difference({"time": 500, "distance": 9}, {"time": 603, "distance": 900}) == (
        "2 min faster, 891 m shorter"
    )


def test_a_value_beyond_a_limit_is_seen_to_be_beyond_it() -> None:
    def said(on: str, value: float, op: Op, bound: float) -> str:
        limit = Constraint(on, op, bound)
        reason = Reason("violates", on, value, other=bound, constraint=limit)
        return Words("da" if on == "cost" else "en").why("r1", [reason], Among("", True, None))

    assert said("time", 900.3, "<=", 900) == (
        "Your limit is time ≤ 15 min, but time is 15 min 1 s."
    )
    assert said("distance", 9612.34, ">=", 9613) == (
        "Your limit is distance ≥ 9.613 km, but distance is 9.612 km."
    )
    assert said("pollution", 12.5, "<=", 10) == "25 % over your limit of pollution ≤ 10."
    assert said("pollution", 120.5, "<=", 10) == "far over your limit of pollution ≤ 10."
    assert said("cost", 20, "<", 15) == "Din grænse er pris < 15 kr., men pris er 20 kr."


def test_every_sentence_is_there_in_both_languages() -> None:
    def keys(table: Json, prefix: str = "") -> set[str]:
        return {
            key
            for name, found in table.items()
            for key in (
                keys(found, f"{prefix}{name}.") if isinstance(found, dict) else {prefix + name}
            )
        }

    assert keys(_tables("en")) == keys(_tables("da"))
