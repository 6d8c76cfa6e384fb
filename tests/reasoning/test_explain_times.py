"""What explanations say of times: since when, how long, how long was asked for."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from citywise.backend.cli import cli
from citywise.reasoning.explain.durations import duration

PROGRAM = """#from stream <s> [time 5m step 1m].
#held slow/1. #last told/1 1d.
(slow) slow(X) :- speed(X,V), V < 10.
(jam) jam(X) :- since_slow(X,T), now(N), {condition}.
(told) told(X) :- jam(X), not last_told(X,_).
(quiet) quiet(X) :- last_told(X,T), now(N), N < T+600.
#show told/1. #show jam/1. #show quiet/1.
"""
LONG = "N-T >= 900"
BEGIN = datetime(2026, 11, 27, 7, 5, tzinfo=UTC)


def written(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


def said(folder: Path, minutes: int, atom: str, condition: str = LONG) -> str:
    """The explanation of an atom so long after 07:05; the road is slow from the beginning."""
    program, stream = folder / "jam.casp", folder / "s.jsonl"
    program.write_text(PROGRAM.format(condition=condition))
    times = [BEGIN + timedelta(minutes=minute) for minute in range(-5, 40)]
    lines = [{"t": written(time), "atom": "speed(a,5)"} for time in times]
    stream.write_text("".join(json.dumps(line) + "\n" for line in lines))
    at = written(BEGIN + timedelta(minutes=minutes))
    options = ["--stream", str(stream), "--at", at, "--atom", atom]
    result = CliRunner().invoke(cli, ["explain", str(program), *options])
    assert "citywise_" not in result.stdout
    return result.stdout


def test_it_says_since_when_how_long_that_is_and_how_long_was_asked_for(tmp_path: Path) -> None:
    text = said(tmp_path, 17, "jam(a)")
    assert "since_slow(a,1795763100)  slow(a) has held since 2026-11-27T07:05:00Z\n" in text
    assert "that is 17 min; you asked for at least 15 min\n" in text
    assert "now(1795764120)  it is 2026-11-27T07:22:00Z\n" in text


def test_it_says_when_a_duration_will_be_over(tmp_path: Path) -> None:
    assert (
        "slow(a) has held since 2026-11-27T07:05:00Z, that is 12 min; you asked for at least "
        "15 min: in 3 min, unless a reading says otherwise\n"
    ) in said(tmp_path, 12, "jam(a)")


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("N > T+900", "more than 15 min: in 3 min 1 s, unless"),
        ("T <= N-900", "at least 15 min: in 3 min, unless"),
        ("900 <= N-T", "at least 15 min: in 3 min, unless"),
        ("N-T = 900", "exactly 15 min\n"),
        ("N-T < 600", "less than 10 min\n"),
        ("V = 15*60, N-T >= V", "at least 15 min: in 3 min, unless"),
    ],
)
def test_it_understands_a_duration_however_it_is_written(
    tmp_path: Path, condition: str, words: str
) -> None:
    assert f"that is 12 min; you asked for {words}" in said(tmp_path, 12, "jam(a)", condition)


@pytest.mark.parametrize("condition", ["2*N-T >= 900", "V = N, N-T+V >= 0", "T >= 0"])
def test_it_says_nothing_of_a_duration_that_a_comparison_does_not_speak_of(
    tmp_path: Path, condition: str
) -> None:
    assert "you asked" not in said(tmp_path, 2, "jam(a)", condition)


def test_it_says_when_an_atom_held_last(tmp_path: Path) -> None:
    text = said(tmp_path, 17, "told(a)")
    assert "last_told(a,1795764000)  held last at 2026-11-27T07:20:00Z\n" in text
    told = "told(a) held last at 2026-11-27T07:20:00Z"
    assert f"{told}, that is 2 min ago; you asked for less than 10 min\n" in said(
        tmp_path, 17, "quiet(a)"
    )
    assert f"└─ {told}\n" in said(tmp_path, 17, "last_told(a,5)")
    assert "told(b) has not held before" in said(tmp_path, 17, "last_told(b,5)")


def test_of_a_time_that_is_not_since_when_it_says_which_one_is(tmp_path: Path) -> None:
    assert "└─ slow(a) has held since 2026-11-27T07:05:00Z\n" in said(
        tmp_path, 12, "since_slow(a,5)"
    )
    assert "└─ slow(b)  is not in the answer\n" in said(tmp_path, 12, "since_slow(b,5)")
    assert "└─ it is 2026-11-27T07:17:00Z\n" in said(tmp_path, 12, "now(5)")


@pytest.mark.parametrize(
    ("units", "per_second", "words"),
    [
        (0, 1, "0 s"), (61, 1, "1 min 1 s"), (90_000, 1, "1 d 1 h"), (1_500, 1000, "1 s 500 ms"),
        (-5, 1, "-5 s"),
    ],
)  # fmt: skip
def test_a_duration_is_written_in_words(units: int, per_second: int, words: str) -> None:
    assert duration(units, per_second) == words
