"""Kinds in apps: streams, scales, scenarios, an app's own kinds, and requests of the city."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from citywise.backend.cli import cli as command
from citywise.backend.kinds import Kinds, builtin
from citywise.backend.kinds.sources import with_folders
from citywise.backend.packs.check import check_pack, checked
from citywise.backend.packs.library import built_in, missing
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.pipeline.requests import find, possible

MANIFEST = """\
name = "loud"
version = "1.0.0"
title = "Noise at home"
streams = ["places", "noise"]

[templates.above]
version = 1
title = "Loud near me"

[templates.above.parameters.home]
type = "area"
title = "Where I live"

[templates.above.parameters.limit]
type = "number"
title = "From how loud on"
unit = "dB"
min = 40
max = 120
step = 0.1
default = 65

[notices.loud]
title = "Loud: {about}"
"""
RULES = """\
#prefix city : <https://w3id.org/citywise/city#>.

notice(Me,"loud",Place,3) :- limit(Me,L), inside(Me,Place,"home"),
        city_noise_level(Place,V), V > L.
"""
HOME = {"center": {"lat": 56.15, "lon": 10.2}, "radius_m": 300}
METER = {
    "id": "n1",
    "kind": "noise_meter",
    "name": "Torvet",
    "geometry": {"type": "Point", "coordinates": [10.2, 56.15]},
    "sensors": ["noise"],
}


def evening(kind: str, *levels: float) -> str:
    """A meter, somebody who lives there, and a reading a minute."""
    mine = {"id": "mine", "template": "above", "user": "anna", "values": {"home": HOME}}
    lines: list[dict[str, object]] = [{"place": {**METER, "sensors": [kind]}}, {"instance": mine}]
    lines += [{"reading": {"kind": kind, "sensor": "n1", "level": level}} for level in levels]
    times = [0, 0, *range(1, len(levels) + 1)]
    told = zip(times, lines, strict=True)
    return "".join(json.dumps({"t": f"2026-05-04T20:{t:02}:00Z", **one}) + "\n" for t, one in told)


def cli(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


@pytest.fixture
def app(tmp_path: Path) -> Path:
    folder = tmp_path / "loud"
    (folder / "templates").mkdir(parents=True)
    (folder / "scenarios").mkdir()
    (folder / "app.toml").write_text(MANIFEST, encoding="utf-8")
    (folder / "templates" / "above.casp").write_text(RULES, encoding="utf-8")
    (folder / "scenarios" / "evening.jsonl").write_text(evening("noise", 64.96, 67.24, 60))
    return folder


def own_kind(app: Path, name: str = "din", step: str = "0.01") -> None:
    """Let an app bring a kind like noise, and read that."""
    kind = (Path(__file__).parents[2] / "backend/kinds/builtin/noise.toml").read_text()
    (app / "kinds").mkdir()
    kind = kind.replace('kind = "noise"', f'kind = "{name}"').replace(
        "step = 0.1", f"step = {step}"
    )
    (app / "kinds" / f"{name}.toml").write_text(kind, encoding="utf-8")
    for path in (app / "app.toml", app / "templates" / "above.casp"):
        text = path.read_text().replace('"noise"', f'"{name}"').replace("noise_", f"{name}_")
        path.write_text(text.replace("step = 0.1", f"step = {step}"))
    (app / "scenarios" / "evening.jsonl").write_text(evening(name, 64.96, 67.24, 60))


def test_a_scenario_warns_above_65_db_and_not_at_65_after_rounding(app: Path) -> None:
    assert check_pack(app) == []
    done = cli("app", "test", str(app))
    assert done.exit_code == 1
    opened, closed = (json.loads(line[2:]) for line in done.output.splitlines() if line[:2] == "+ ")
    assert (opened["t"], opened["change"]) == ("2026-05-04T20:02:00Z", "opened")
    assert (closed["t"], closed["change"]) == ("2026-05-04T20:03:00Z", "closed")
    assert cli("app", "test", str(app), "--update").exit_code == 0
    assert cli("app", "test", str(app)).exit_code == 0


@pytest.mark.parametrize(
    ("rule", "step", "is_fault"),
    [
        ("V > L", "0.1", False),
        ("V > L", "1", True),
        ("V >= L", "0.01", True),
        ("L < V", "1", True),
        ("V > 10*L", "1", False),
        ("V = L", "1", True),
        ("V > 650", "1", False),
    ],
)
def test_a_field_and_a_parameter_of_other_scales_are_told_apart_by_name(
    app: Path, rule: str, step: str, is_fault: bool
) -> None:
    (app / "app.toml").write_text(MANIFEST.replace("step = 0.1", f"step = {step}"))
    (app / "templates" / "above.casp").write_text(RULES.replace("V > L", rule))
    found = [f.message for f in check_pack(app) if f.code == "scale"]
    assert bool(found) == is_fault
    for message in found:
        assert "`noise.level` is in rules times 10" in message
        assert "the parameter `limit` times" in message


def test_the_same_variable_in_both_is_a_comparison_too(app: Path) -> None:
    (app / "app.toml").write_text(MANIFEST.replace("step = 0.1", "step = 1"))
    rule = RULES.replace("city_noise_level(Place,V), V > L", "city_noise_level(Place,L)")
    (app / "templates" / "above.casp").write_text(rule)
    assert [f.code for f in check_pack(app) if f.severity == "error"] == ["scale"]


def test_a_scale_that_the_rules_say_holds(app: Path) -> None:
    text = RULES.replace("\n\n", "\n#scale city_noise_level 1.\n\n", 1)
    (app / "templates" / "above.casp").write_text(text)
    assert any("times 1, the parameter `limit` times 10" in f.message for f in check_pack(app))


def test_an_app_brings_kinds_of_its_own(app: Path) -> None:
    own_kind(app)
    assert check_pack(app) == []
    pack = checked(app)
    assert list(pack.own_kinds) == ["din"]
    done = cli("app", "test", str(app))
    assert '"t": "2026-05-04T20:02:00Z", "change": "opened"' in done.output
    (template,) = pack.templates
    again = TemplateVersion.from_json(template.to_json())
    assert (again.kinds["din"], again.digest) == (pack.kinds["din"], template.digest)


def test_another_resolution_is_another_version_of_a_template(app: Path) -> None:
    own_kind(app)
    rules = app / "templates" / "above.casp"
    rules.write_text(rules.read_text().replace("V > L", "V > 1*L"))
    (before,) = checked(app).templates
    path = app / "kinds" / "din.toml"
    path.write_text(path.read_text().replace("step = 0.01", "step = 0.25"))
    (after,) = checked(app).templates
    assert after.digest != before.digest
    assert after.request.scales == {"city_din_level": 4}
    rules.write_text(RULES.replace("noise_", "din_"))
    (fault,) = [f.message for f in check_pack(app) if f.code == "scale"]
    assert fault.endswith("one unit; multiply in the rule")


def test_an_app_that_reads_a_citys_kind_is_checked_with_its_folder(app: Path) -> None:
    own_kind(app)
    shutil.move(app / "kinds", app.parent / "kinds")
    done = cli("check", str(app))
    assert (done.exit_code, 'found "din", expected one of' in done.output) == (1, True)
    assert cli("check", str(app), "--kinds", str(app.parent / "kinds")).exit_code == 0
    done = cli("app", "test", str(app), "--kinds", str(app.parent / "kinds"))
    assert '"change": "opened"' in done.output
    (asked,) = [line for line in done.output.splitlines() if line.startswith("why: citywise ")]
    why = cli(*asked.removeprefix("why: citywise ").split())
    assert (why.exit_code, "din" in why.output) == (0, True), why.output


# --- A city without the kinds of the first version -------------------------------------------


@pytest.fixture
def alone(app: Path) -> Kinds:
    own_kind(app)
    return with_folders(Kinds(), [app / "kinds"])


def test_requests_of_ours_that_read_other_kinds_are_left_out_and_apps_ask_for_roles(
    alone: Kinds,
) -> None:
    requests = [find(name) for name in ("traffic_jam", "garage_nearly_full")]
    assert list(possible(requests, alone)) == []
    assert list(possible(requests, builtin())) == requests
    assert [missing(folder, kinds) for folder in built_in() for kinds in (alone, builtin())] == [
        [] for _ in range(2 * len(built_in()))
    ]
    for folder in built_in():
        assert [f for f in check_pack(folder, alone) if f.severity == "error"] == []


def test_an_app_runs_where_its_own_kind_is_the_only_one(app: Path, alone: Kinds) -> None:
    assert list(alone) == ["din"]
    assert [f for f in check_pack(app, alone) if f.severity == "error"] == []
