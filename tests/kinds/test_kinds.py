"""Kinds as files: what they may say, what is said of faults, and which come along."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from citywise.backend.kinds import Kind, KindError, Kinds, builtin, check_path, is_kind_path
from citywise.backend.kinds.kind import CITY

NOISE = """\
kind = "noise"
places = ["noise_meter"]
label = { en = "Noise", da = "Støj" }
period_s = 60
stale_s = 600

[fields.level]
type = "decimal"
unit = "dB"
range = [0, 140]
step = 0.1
required = true

[map]
show = "level"
steps = [[0, "good"], [55, "fair"], [65, "poor"]]
"""


def file(folder: Path, text: str, name: str = "noise.toml") -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_kind_says_all_that_is_to_be_known_of_it(tmp_path: Path) -> None:
    kinds = Kinds().with_folder(file(tmp_path / "kinds", NOISE).parent)
    noise = kinds["noise"]
    level = noise.fields["level"]
    assert (noise.called("da"), noise.silent_s, noise.places) == ("Støj", 600, ("noise_meter",))
    assert (level.unit, level.range, level.scale) == ("dB", (0, 140), 10)
    assert noise.rdf("level") == CITY + "noise_level"
    assert noise.map
    assert noise.map.steps[-1] == (65, "poor")


def test_the_kinds_of_the_first_version_and_the_new_ones_come_along() -> None:
    kinds = builtin()
    first = {"traffic", "parking", "weather", "air"}
    assert set(kinds) == first | {"air_quality", "climate", "noise", "bikes"}
    assert [name for name in kinds if not set(kinds[name].places) <= set(kinds.places)] == []
    assert list(kinds["air_quality"].fields) == ["pm25", "pm10", "no2", "o3", "so2", "co"]
    assert {f.unit for f in kinds["air_quality"].fields.values()} == {"ug/m3"}
    assert [(kind.kind, name) for kind, name in kinds.having("road_speed")] == [
        ("traffic", "speed_kmh")
    ]
    assert all(kind.label.keys() == {"en", "da", "de"} for kind in kinds.values())
    assert kinds["traffic"].rdf("speed_kmh") == CITY + "averageSpeed"


def test_the_built_in_files_are_found_sound() -> None:
    assert check_path(Path(__file__).parents[2] / "backend/kinds/builtin") == []


@pytest.mark.parametrize(
    ("old", "new", "line", "code", "said"),
    [
        ('kind = "noise"', 'kind = "Noise"', 1, "name", 'found "Noise"'),
        ('kind = "noise"', "kind = noise", 1, "syntax", 'kind = "noise"'),
        ('kind = "noise"', 'kind = "clock"', 1, "value", "means something else"),
        ("period_s = 60", 'period_s = "60"', 4, "value", "expected a number"),
        ("stale_s = 600", "stale = 600", 5, "unknown-key", "did you mean `stale_s`?"),
        ('type = "decimal"', 'type = "decimals"', 8, "value", "did you mean `decimal`?"),
        ('type = "decimal"\n', "", 7, "missing-key", 'add `type = "decimal"`'),
        ('type = "decimal"', 'type = "text"', 9, "value", "a field of type text has none"),
        ("range = [0, 140]", "range = [140, 0]", 10, "value", "exchange them"),
        ("range = [0, 140]", "range = [0, 9e9]", 10, "value", "must fit 32 bits"),
        ("step = 0.1", "step = 0.3", 11, "value", "1/0.3 is no whole number"),
        ('show = "level"', 'show = "loud"', 15, "value", "there are level"),
        ('[0, "good"], [55, "fair"]', '[60, "good"], [55, "fair"]', 16, "value", "sort them"),
        ('unit = "dB"', 'unit = "µg m"', 9, "value", "a unit of UCUM"),
        ('unit = "dB"', 'unit = "dB"\nrdf = "x"', 10, "value", "expected an IRI"),
    ],
)
def test_a_fault_names_its_line_and_key_and_what_to_do(
    tmp_path: Path, old: str, new: str, line: int, code: str, said: str
) -> None:
    path = file(tmp_path / "kinds", NOISE.replace(old, new, 1))
    found = check_path(path)[0]
    assert (found.location.line, found.severity, found.code) == (line, "error", code)
    assert said in found.message
    with pytest.raises(KindError, match=r"noise\.toml"):
        builtin().with_folder(path.parent)


def test_what_is_merely_suspicious_is_a_warning(tmp_path: Path) -> None:
    text = NOISE.replace('"noise_meter"', '"noise_metre"')
    found = check_path(file(tmp_path / "kinds", text, "sound.toml"))
    assert [(f.severity, f.code) for f in found] == [
        ("warning", "name"),
        ("warning", "unknown-place"),
    ]
    assert "did you mean `noise_meter`?" in found[1].message


def test_one_name_stands_in_one_file_and_an_app_replaces_nothing(tmp_path: Path) -> None:
    folder = file(tmp_path / "kinds", NOISE).parent
    louder = NOISE.replace("140", "150")
    assert builtin().with_folder(folder)["noise"].fields["level"].range == (0, 140)
    with pytest.raises(KindError, match="there is another `noise` already"):
        builtin().with_folder(file(tmp_path / "app", louder).parent, replaces=False)
    with pytest.raises(KindError, match=r"stands in again\.toml too"):
        builtin().with_folder(file(folder, louder, "again.toml").parent)


def test_other_files_of_toml_are_not_taken_for_kinds(tmp_path: Path) -> None:
    other = file(tmp_path / "else", "[broker]\nport = 1883\n", "citywise.toml")
    assert not is_kind_path(other.parent)
    assert is_kind_path(file(tmp_path / "kinds", NOISE).parent)
    assert [f.location.file for f in check_path(tmp_path)] == []


def test_kinds_travel_to_other_processes() -> None:
    again = pickle.loads(pickle.dumps(builtin()))
    assert again == builtin()
    assert hash(again) == hash(builtin())
    assert isinstance(again["noise"], Kind)
