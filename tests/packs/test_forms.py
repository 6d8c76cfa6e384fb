"""Ready-made forms of time and change (docs/apps.md, Forms)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from citywise.backend.ingest.records import ClockReading, LogEntry, Reading, Standing
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.check import check_pack
from citywise.backend.packs.forms import AnyForm, written
from citywise.backend.packs.run import TemplateRun
from tests.packs.test_run import GARAGE, START, instance, position, steps_of, template

EXAMPLE = REPOSITORY / "examples" / "bad_air"
FORM: TypeAdapter[AnyForm] = TypeAdapter(AnyForm)
BASE = """
level(Me,P,V) :- radius(Me,R), near_me(Me,P,R), city_occupiedPlaces(P,V).
a(Me,P) :- level(Me,P,V), V > 5.
b(Me,P) :- radius(Me,R), near_me(Me,P,R), city_totalPlaces(P,N), N > 9.
notice(Me,"jam",P,1) :- out(Me,P).
"""
LASTING = 7
"""Seconds of every form below."""
Said = tuple[int, str, int, int]
"""When which garage says how many are there, and how many there could be."""
SAID: st.SearchStrategy[list[Said]] = st.lists(
    st.tuples(
        st.integers(1, 60), st.sampled_from("gh"), st.integers(0, 9), st.sampled_from([9, 10])
    ),
    min_size=4,
    max_size=16,
).map(sorted)
World = list[dict[str, tuple[int, int]]]
"""By second, what the garages said last."""


def world(said: Sequence[Said]) -> World:
    known: dict[str, tuple[int, int]] = {}
    found: World = []
    for second in range(90):
        known |= {garage: (n, of) for at, garage, n, of in said if at == second}
        found.append(dict(known))
    return found


def entries(said: Sequence[Said]) -> Iterator[LogEntry]:
    """A log with a clock each second."""
    assert isinstance(GARAGE, tuple)
    _subject, _key, body = GARAGE
    standing: list[Any] = [
        *[("place", g, {**body, "id": g}) for g in "gh"],
        instance("u", radius=500),
        position("u", 10.198),
    ]
    number = 0
    for subject, key, said_of_it in standing:
        yield Standing(subject, key, said_of_it, number << 16)
        number += 1
    for second in range(90):
        now = START + second * 1000
        for garage, n, of in [(g, n, of) for at, g, n, of in said if at == second]:
            values = {"occupied": n, "capacity": of}
            yield Reading("parking", garage, now, now, values, number << 16)
            number += 1
        yield ClockReading(now, now, number << 16)
        number += 1


def told(form: dict[str, Any], said: Sequence[Said]) -> list[set[str]]:
    """The garages of which there is a notice, by second."""
    found = written({"out": FORM.validate_python(form)}, {"out": LASTING}, {})
    run = TemplateRun(template(BASE + found.text))
    changes = steps_of(run, list(entries(said)))
    there: set[str] = set()
    seconds: list[set[str]] = []
    for second in range(90):
        for t_ms, change in changes:
            if t_ms == START + second * 1000:
                (there.add if change["change"] == "opened" else there.discard)(change["about"])
        seconds.append(set(there))
    return seconds


Out = list[set[str]]
Holds = Callable[[World, Out, int, str], bool]
"""Whether a form concludes something at a second of a garage, from the world up to then and what
it concluded before."""


def a(world: World, t: int, g: str) -> bool:
    return t >= 0 and g in world[t] and world[t][g][0] > 5


def b(world: World, t: int, g: str) -> bool:
    return t >= 0 and g in world[t] and world[t][g][1] > 9


def before(t: int, seconds: int) -> range:
    """The seconds before one, at most so many back."""
    return range(max(0, t - seconds), t)


def lasts(w: World, _out: Out, t: int, g: str) -> bool:
    return all(a(w, s, g) for s in range(t - LASTING, t + 1))


def once(w: World, out: Out, t: int, g: str) -> bool:
    goes_on = t > 0 and g in out[t - 1]
    return a(w, t, g) and (goes_on or not any(g in out[s] for s in before(t, LASTING - 1)))


def once_of_all(w: World, out: Out, t: int, g: str) -> bool:
    if t > 0 and g in out[t - 1]:
        return a(w, t, g)
    on = any(t > 0 and one in out[t - 1] and a(w, t, one) for one in "gh")
    first = min((one for one in "gh" if a(w, t, one)), default="")
    return first == g and not on and not any(out[s] for s in before(t, LASTING - 1))


def near(w: World, _out: Out, t: int, g: str) -> bool:
    recent = before(t, LASTING)
    return (a(w, t, g) and any(b(w, s, g) for s in (*recent, t))) or (
        b(w, t, g) and any(a(w, s, g) for s in recent)
    )


def after(w: World, _out: Out, t: int, g: str) -> bool:
    return a(w, t, g) and any(b(w, s, g) for s in (*before(t, LASTING), t))


def until(w: World, out: Out, t: int, g: str) -> bool:
    kept = t > 0 and g in out[t - 1] and any(a(w, s, g) for s in before(t, LASTING - 1))
    return not b(w, t, g) and (a(w, t, g) or kept)


def clearing(w: World, _out: Out, t: int, g: str) -> bool:
    return any(a(w, s, g) for s in (*before(t, LASTING - 1), t))


def high(w: World, out: Out, t: int, g: str) -> bool:
    value = w[t][g][0] if g in w[t] else 0
    return value > 6 or (t > 0 and g in out[t - 1] and value >= 3)


def low(w: World, out: Out, t: int, g: str) -> bool:
    value = w[t][g][0] if g in w[t] else 9
    return value < 3 or (t > 0 and g in out[t - 1] and value <= 6)


def rising(w: World, _out: Out, t: int, g: str) -> bool:
    return any(g in w[s] and w[t][g][0] - w[s][g][0] >= 4 for s in before(t, LASTING))


def falling(w: World, _out: Out, t: int, g: str) -> bool:
    return any(g in w[s] and w[s][g][0] - w[t][g][0] >= 4 for s in before(t, LASTING))


FORMS: dict[str, tuple[dict[str, Any], Holds]] = {
    "for": ({"form": "for", "of": "a/2", "duration": "7s"}, lasts),
    "at most once": ({"form": "at_most_once", "of": "a/2", "duration": "7s"}, once),
    "at most once per user": (
        {"form": "at_most_once", "of": "a/2", "duration": "7s", "per": "user"},
        once_of_all,
    ),
    "within, near": ({"form": "within", "of": "a/2", "near": "b/2", "duration": "7s"}, near),
    "within, after": ({"form": "within", "of": "a/2", "after": "b/2", "duration": "7s"}, after),
    "until": ({"form": "until", "of": "a/2", "until": "b/2", "duration": "7s"}, until),
    "clears after": ({"form": "clears_after", "of": "a/2", "duration": "7s"}, clearing),
    "above": ({"form": "hysteresis", "of": "level/3", "above": 6, "until_below": 3}, high),
    "below": ({"form": "hysteresis", "of": "level/3", "below": 3, "until_above": 6}, low),
    "rising": ({"form": "rising", "of": "level/3", "by": 4, "duration": "7s"}, rising),
    "falling": ({"form": "falling", "of": "level/3", "by": 4, "duration": "7s"}, falling),
}


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=6)
@given(said=SAID)
def test_a_form_concludes_what_its_definition_says(name: str, said: list[Said]) -> None:
    form, holds = FORMS[name]
    seen = world(said)
    expected: Out = []
    for second in range(90):
        expected.append({g for g in seen[second] if holds(seen, expected, second, g)})
    assert told(form, said) == expected


@pytest.fixture
def app(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path / "bad_air")
    return tmp_path / "bad_air"


@pytest.mark.parametrize(
    ("instead_of", "written", "said"),
    [
        ('of = "ozone/3"', 'of = "oxone/3"', "derives `oxone/3`; did you mean `ozone/3`?"),
        ('form = "for"', 'form = "fro"', 'found "fro", expected one of for, at_most_once'),
        ('form = "for"\n', "", "templates.bad_air.forms.lasts.form` is missing; give one of"),
        ('duration = "lasting"', 'duration = "last"', "`last` is no parameter of type duration"),
        ('duration = "lasting"', 'duration = "3x"', 'found "3x", expected a duration such as'),
        ('duration = "lasting"', 'duration = "0s"', "expected more than nothing"),
        ('above = "above"', "above = 40\nbelow = 3", "say `above` and `until_below`, or `below`"),
        ('"above"\nuntil_below = "below"', "50\nuntil_below = 70", "exchange them"),
        ('max = "7d"\n', "", "give the parameter `pause` a `max`"),
        ('max = "7d"\n', 'max = "7x"\n', 'found "7x", expected a duration'),
        ('max = "7d"\n', 'max = "1h"\n', "expected at most PT1H; shorten it"),
        (".forms.told]", ".forms.ozone]", "`ozone` is what this form concludes, and there is one"),
        ('of = "lasts/2"', 'of = "lasts/2"\nper = "everybody"', 'found "everybody", expected'),
        ('of = "lasts/2"', 'of = "told/2"', "no rule and no other form derives `told/2`"),
        ('of = "bad/2"', 'of = "told/2"', "which says since when it holds"),
    ],
)
def test_check_says_at_the_form_what_is_wrong_with_it(
    app: Path, instead_of: str, written: str, said: str
) -> None:
    manifest = app / "app.toml"
    text = manifest.read_text()
    assert instead_of in text
    manifest.write_text(text.replace(instead_of, written))
    found = check_pack(app)
    assert any(said in f.message for f in found), found
    assert all(Path(f.location.file).name == "app.toml" for f in found), found
