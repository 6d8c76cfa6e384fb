"""What operators get beside the program names what there is: metrics, commands, files."""

from __future__ import annotations

import importlib
import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from flask import Flask
from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase

from citywise.backend.api import metrics
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


def labels(app: Flask) -> dict[str, set[str]]:
    """The labels of each measure, with the endings that Prometheus adds to its name."""
    for folder in ("backend", "apps"):
        for path in (REPOSITORY / folder).rglob("*.py"):
            if "prometheus_client import" in path.read_text("utf-8"):
                parts = path.relative_to(REPOSITORY).with_suffix("").parts
                importlib.import_module(".".join(("citywise", *parts)))
    found: dict[str, set[str]] = {}
    for collector in list(REGISTRY._collector_to_names):
        if isinstance(collector, MetricWrapperBase):
            for name in REGISTRY._collector_to_names[collector]:
                buckets = {"le"} if name.endswith("_bucket") else set()
                found[name] = {*collector._labelnames} | buckets
    with app.app_context():
        _, system = metrics.registries()
        for family in system.collect():
            found[family.name] = set(getattr(family, "_labelnames", ()))
    return found


def asked(expression: str, legend: str = "") -> Iterator[tuple[str, set[str]]]:
    """Each measure that is asked for, and the labels that are named beside it."""
    grouped = {
        label
        for group in re.findall(r"by \(([\w, ]+)\)", expression)
        for label in re.split(r", *", group)
    }
    shown = set(re.findall(r"\{\{ *(?:\$labels\.)?(\w+) *\}\}", legend))
    for name, chosen in re.findall(r"(citywise_\w+)(?:\{([^}]*)\})?", expression):
        yield name, grouped | shown | set(re.findall(r"(\w+)[=!]", chosen))


def test_dashboard_and_rules_ask_for_measures_that_there_are_with_their_labels(app: Flask) -> None:
    known = labels(app)
    shown = [
        (t["expr"], t.get("legendFormat", "")) for p in DASHBOARD["panels"] for t in p["targets"]
    ]
    ruled = [(rule["expr"], str(rule["annotations"])) for rule in RULES]
    seen = set()
    for expression, legend in [*shown, *ruled]:
        for name, wanted in asked(expression, legend):
            assert name in known, expression
            assert wanted <= known[name], (expression, known[name])
            seen.add(name)
    assert len(seen) > 15


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool here (package prometheus)")
def test_prometheus_reads_the_rules() -> None:
    command = ["promtool", "check", "rules", str(DEPLOY / "prometheus" / "alerts.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_expression_is_closed_and_each_rule_is_whole() -> None:
    """What can be said of them without Prometheus."""
    for text in expressions():
        for opening, closing in ("()", "{}", "[]"):
            assert text.count(opening) == text.count(closing), text
    for rule in RULES:
        assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+[smh]", rule["for"])


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


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
@pytest.mark.parametrize("unit", [u for u in UNITS if u.suffix == ".service"], ids=lambda u: u.name)
def test_what_a_unit_is_exposed_to_is_little(unit: Path) -> None:
    """In systemd's own measure, from 0 to 10: at most 2."""
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=20"]
    done = subprocess.run([*command, unit], capture_output=True, text=True, check=False)
    if "unrecognized option" in done.stderr:
        pytest.skip("an old systemd-analyze")
    assert done.returncode == 0, done.stdout[-200:]


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
