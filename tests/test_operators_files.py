"""What operators get beside the program names what there is: metrics, commands, files."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from citywise.backend.cli import cli
from citywise.backend.machine import REPOSITORY
from citywise.backend.operations.readiness import check_all
from citywise.backend.settings import Settings, load
from tests.databases import begun

DEPLOY = REPOSITORY / "deploy"
ALERTS: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text("utf-8"))
RULES: list[dict[str, Any]] = [rule for group in ALERTS["groups"] for rule in group["rules"]]
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "citywise.json").read_text("utf-8"))
UNITS = sorted((DEPLOY / "systemd").iterdir())


def expressions() -> list[str]:
    shown = [t["expr"] for panel in DASHBOARD["panels"] for t in panel["targets"]]
    return [*shown, *(rule["expr"] for rule in RULES)]


def metrics() -> set[str]:
    """What our code counts, with the endings that Prometheus adds."""
    code = "\n".join(
        p.read_text("utf-8") for f in ("backend", "apps") for p in (REPOSITORY / f).rglob("*.py")
    )
    names = set(re.findall(r'"(citywise_[a-z_]+)"', code))
    ended = {f"{name}{end}" for name in names for end in ("_total", "_bucket", "_sum", "_count")}
    return names | ended


def test_dashboard_and_rules_ask_for_metrics_that_there_are() -> None:
    asked = {name for text in expressions() for name in re.findall(r"citywise_\w+", text)}
    assert len(asked) > 15
    assert asked - metrics() == set()


def test_rules_ask_for_checks_that_there_are(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    engine = begun(settings.database_url)
    known = {check.name for check in check_all(engine, settings)}
    engine.dispose()
    asked = {name for text in expressions() for name in re.findall(r'check="(\w+)"', text)}
    assert asked
    assert asked <= known


def test_each_rule_says_what_it_means_and_what_to_do() -> None:
    for rule in RULES:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert {"summary", "todo"} <= rule["annotations"].keys()
    assert len({rule["alert"] for rule in RULES}) == len(RULES)


def test_the_dashboard_is_what_its_script_writes() -> None:
    made = runpy.run_path(str(REPOSITORY / "scripts" / "dashboard.py"))["dashboard"]()
    assert made == DASHBOARD


def test_units_run_commands_that_there_are_with_settings_that_can_be(tmp_path: Path) -> None:
    for unit in UNITS:
        for command in re.findall(r"bin/citywise (\w+)", unit.read_text("utf-8")):
            assert command in cli.commands
    (tmp_path / "citywise.toml").write_text('data_dir = "/var/lib/citywise"\n')
    load(tmp_path / "citywise.toml")
    service = (DEPLOY / "systemd" / "citywise.service").read_text("utf-8")
    for right in ("User=citywise", "NoNewPrivileges=yes", "ProtectSystem=strict", "UMask=0077"):
        assert right in service


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_reads_the_units_without_a_complaint(tmp_path: Path, unit: Path) -> None:
    for path in UNITS:  # what they execute is not installed here
        text = re.sub(r"(?m)^(Exec\w+)=.*", r"\1=/bin/true", path.read_text("utf-8"))
        (tmp_path / path.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / unit.name],
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "citywise" in line]
    assert said == []


def test_the_bill_of_materials_names_what_is_pinned() -> None:
    bill = runpy.run_path(str(REPOSITORY / "scripts" / "sbom.py"))["bill"]()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    named = {part["purl"] for part in bill["components"]}
    pins = re.findall(
        r"(?m)^([\w.-]+)==([^\s;\\]+)", (REPOSITORY / "requirements.lock").read_text()
    )
    assert len(pins) > 60
    assert {f"pkg:pypi/{name.lower()}@{version}" for name, version in pins} <= named
    assert any(purl.startswith("pkg:npm/leaflet@") for purl in named)
    assert not any("axe-core" in purl or "oidc-provider" in purl for purl in named)
    without = [part["name"] for part in bill["components"] if not part.get("licenses")]
    assert len(without) < 5
    forbidden = re.compile(r"\b(?:A?GPL|SSPL|BUSL)\b")
    told = {
        p["name"]: p["licenses"][0]["license"]["name"]
        for p in bill["components"]
        if p.get("licenses")
    }
    assert {name: said for name, said in told.items() if forbidden.search(said)} == {}
