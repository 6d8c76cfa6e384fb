"""The deployment's files fit each other, the settings and the documentation."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from citywise.backend.machine import REPOSITORY
from citywise.backend.settings import Settings, load

DEPLOY = REPOSITORY / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCS = (REPOSITORY / "docs" / "deployment.md").read_text(encoding="utf-8")


def test_every_image_is_pinned_by_its_version() -> None:
    images = [service["image"] for service in SERVICES.values()]
    base = re.findall(r"^FROM (\S+)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    for image in [*images, *base]:
        assert re.fullmatch(r"[\w/.-]+:\d+\.\d+(\.\d+)?[\w.-]*", image), image


def test_our_containers_write_only_their_volumes_and_gain_nothing() -> None:
    ours = [service for service in SERVICES.values() if service["image"].startswith("citywise:")]
    assert len(ours) == 5
    for service in ours:
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    for service in SERVICES.values():
        assert service["mem_limit"]
        assert service["logging"]["options"]["max-size"]
    (user,) = re.findall(r"useradd --system --uid (\d+) ", (DEPLOY / "Dockerfile").read_text())
    assert f"uid={user}" in SERVICES["spark-worker-1"]["tmpfs"][1]


def test_every_variable_is_in_the_example_of_the_environment() -> None:
    used = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()))
    given = set(re.findall(r"^(\w+)=", (DEPLOY / "env.example").read_text(), re.MULTILINE))
    assert used == given


def test_every_service_network_volume_and_file_that_is_named_exists() -> None:
    for service in SERVICES.values():
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (DEPLOY / source).is_file(), source


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The configuration as the container has it: the file, and the compose file's variables."""
    for name, value in SERVICES["citywise"]["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{\w+:\?\}", "a secret of some length", value))
    return load(DEPLOY / "citywise.toml")


def test_the_configuration_names_the_services_and_their_ports(settings: Settings) -> None:
    names = set(SERVICES) | set(SERVICES["citywise"]["networks"]["inside"]["aliases"])
    assert settings.broker.host in names
    assert "@postgres/" in settings.database_url
    assert {settings.ingest.serve_host, settings.pipeline.cluster.driver_host} <= names
    master = SERVICES["spark-master"]["command"]
    address = f"spark://{master[master.index('--host') + 1]}:{master[master.index('--port') + 1]}"
    assert settings.pipeline.master == address
    published = [port.rsplit(":", 1)[1] for port in SERVICES["citywise"]["ports"]]
    assert published == [str(settings.web.port)]


def test_the_workers_go_to_the_master_and_have_the_cores_that_are_asked_for(
    settings: Settings,
) -> None:
    workers = [s["command"] for name, s in SERVICES.items() if name.startswith("spark-worker")]
    assert {command[2] for command in workers} == {settings.pipeline.master}
    cores = sum(int(command[command.index("--cores") + 1]) for command in workers)
    assert cores == settings.pipeline.cluster.cores


def test_secrets_are_in_no_committed_file() -> None:
    values = tomllib.loads((DEPLOY / "citywise.toml").read_text())
    assert "password" not in values["broker"]
    assert "serve_token" not in values["ingest"]
    assert "secret" not in values["pipeline"]["cluster"]
    secrets = re.findall(r"^\w+_(?:PASSWORD|TOKEN|SECRET)=(.*)$",
                         (DEPLOY / "env.example").read_text(), re.MULTILINE)  # fmt: skip
    assert len(secrets) == 4
    assert not any(secrets)


def test_the_image_has_the_database_driver_that_the_tests_use() -> None:
    (image,) = re.findall(r"psycopg\[binary\]==([\d.]+)", (DEPLOY / "Dockerfile").read_text())
    lock = (REPOSITORY / "requirements-dev.lock").read_text()
    assert f"psycopg=={image} " in lock


def test_the_broker_is_set_as_the_documentation_asks() -> None:
    delivery = (REPOSITORY / "docs" / "delivery.md").read_text()
    lines = (DEPLOY / "mosquitto.conf").read_text().splitlines()
    asked = re.findall(r"^      (\w+ \w+)$", delivery, re.MULTILINE)
    assert len(asked) == 5
    assert set(asked) <= set(lines)


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", DOCS, re.DOTALL))
def test_the_configurations_in_the_documentation_are_valid(block: str, tmp_path: Path) -> None:
    """The cluster's needs a token, which the documentation takes from the environment."""
    values = tomllib.loads(block)
    if "serve_port" in values.get("ingest", {}):
        values["ingest"]["serve_token"] = "a secret of some length"
    Settings.model_validate(values)
