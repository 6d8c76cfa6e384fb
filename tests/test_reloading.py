"""A configuration is read anew while the system runs: what can be changed is, the rest is told."""

from __future__ import annotations

import json
import os
import signal
import time
from errno import ENOSPC
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from citywise.backend import cli, reloading, supervisor
from citywise.backend.care_commands import told
from citywise.backend.reloading import FILE, Reloaded, compare, taken
from citywise.backend.settings import People, Settings, SettingsError, Source, Web
from citywise.backend.supervisor import StartError
from tests.api.server import serving
from tests.databases import begun
from tests.test_supervisor import SLEEPS, Parts
from tests.test_supervisor import system as system

SOURCE = Source(name="gbfs", connector="gbfs", urls=("https://8.8.8.8/gbfs.json",))
HEARS = """
import pathlib, signal, sys, time
signal.signal(signal.SIGHUP, lambda *_: pathlib.Path("{0}/heard").touch())
pathlib.Path("{0}/listens").touch()
time.sleep(600)
"""


def changed(before: Settings, **sections: Any) -> Settings:
    return Settings.model_validate({**before.model_dump(), **sections})


def test_keys_are_told_apart_by_whether_they_can_be_changed() -> None:
    after = changed(
        Settings(),
        people={"sign_up": "closed", "demo_user": True},
        ingest={"max_age_s": 10},
        web={"port": 81, "connections": 99},
        sources=[SOURCE.model_dump()],
        an_app={"a": 1},
    )
    found = compare(Settings(), after)
    assert found.changed == ("people.sign_up", "sources", "web.connections")
    assert found.kept == ("an_app", "ingest.max_age_s", "people.demo_user", "web.port")


def test_only_what_can_be_changed_is_taken() -> None:
    before = Settings()
    after = changed(before, people={"sign_up": "closed"}, web={"port": 81, "connections": 99})
    running = taken(before, after, compare(before, after))
    assert (running.people.sign_up, running.web.connections) == ("closed", 99)
    assert running.web.port == before.web.port


def test_what_cannot_be_changed_may_forbid_what_can() -> None:
    """Else everybody behind a proxy would be an admin, as the demo's user stays."""
    before = Settings(people=People(demo_user=True))
    after = Settings(web=Web(trusted_proxies=1))
    with pytest.raises(ValueError, match="demo_user"):
        taken(before, after, compare(before, after))


def test_processes_begin_anew_but_those_that_take_in_and_evaluate(
    system: Parts, tmp_path: Path
) -> None:
    system.configured_by(system.settings)
    system.begin(ingest=SLEEPS, pipeline=SLEEPS, notifier=SLEEPS, web=HEARS.format(tmp_path))
    while not (tmp_path / "listens").exists():
        time.sleep(0.01)
    before = {role: child.process.pid for role, child in system.children.items()}
    after = changed(system.settings, people={"sign_up": "closed"}, ingest={"max_age_s": 10})
    found = system.reload(lambda: after)
    assert (found.changed, found.kept) == (("people.sign_up",), ("ingest.max_age_s",))
    assert Reloaded.read(tmp_path) == found
    pids = {role: child.process.pid for role, child in system.children.items()}
    assert [role for role in pids if pids[role] != before[role]] == ["notifier"]
    while not (tmp_path / "heard").exists():
        time.sleep(0.01)
    orders = json.loads((tmp_path / "orders.json").read_text())
    assert orders["settings"]["people"]["sign_up"] == "closed"
    assert orders["settings"]["ingest"]["max_age_s"] != 10
    again = system.reload(lambda: after)
    assert (again.changed, again.kept) == ((), ("ingest.max_age_s",))


def test_a_configuration_that_cannot_be_read_changes_nothing(system: Parts, tmp_path: Path) -> None:
    system.configured_by(system.settings)
    before = system.settings

    def read() -> Settings:
        raise SettingsError("city.toml: people.sign_up: expected open, invited or closed")

    found = system.reload(read)
    assert (found.error or "").startswith("city.toml: people.sign_up")
    assert system.settings is before
    assert Reloaded.read(tmp_path) == found


def test_orders_that_cannot_be_written_change_nothing_and_can_be_given_again(
    system: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system.configured_by(system.settings)
    before = system.settings
    after = changed(before, people={"sign_up": "closed"})
    with monkeypatch.context() as full:
        full.setattr(supervisor, "replace", no_room)
        found = system.reload(lambda: after)
    assert "No space left" in (found.error or "")
    assert system.settings is before
    assert system.reload(lambda: after).changed == ("people.sign_up",)


def test_a_full_disk_that_takes_no_answer_ends_nothing(
    system: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    system.configured_by(system.settings)
    monkeypatch.setattr(reloading, "replace", no_room)
    after = changed(system.settings, people={"sign_up": "closed"})
    assert system.reload(lambda: after).changed == ("people.sign_up",)


def test_a_process_that_cannot_begin_anew_is_started_later(
    system: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    system.configured_by(system.settings)
    system.begin(notifier=SLEEPS, connectors=SLEEPS)
    before = {role: child.process.pid for role, child in system.children.items()}
    after = changed(system.settings, people={"sign_up": "closed"})
    with monkeypatch.context() as full:
        full.setattr(system, "spawn", no_room)
        assert system.reload(lambda: after).changed == ("people.sign_up",)
    while any(child.process.poll() is not None for child in system.children.values()):
        system.tend()
        time.sleep(0.01)
    assert {child.process.pid for child in system.children.values()}.isdisjoint(before.values())


def no_room(*_: object, **__: object) -> None:
    raise OSError(ENOSPC, os.strerror(ENOSPC))


def test_a_console_that_is_gone_ends_nothing(
    system: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    system.configured_by(system.settings)
    monkeypatch.setattr(click, "echo", no_room)
    cli._reload(system, lambda: system.settings, [signal.SIGUSR1])


def test_who_looks_after_a_system_is_known_while_it_still_starts(tmp_path: Path) -> None:
    """What the system before it left in its orders is another process by now."""
    (tmp_path / "lock").write_text("1")
    starting = Parts(Settings(data_dir=tmp_path))
    starting._lock(tmp_path)
    assert supervisor.supervisor_of(tmp_path) == os.getpid()
    starting.stop()
    with pytest.raises(StartError):
        supervisor.supervisor_of(tmp_path)


def test_the_command_says_that_nothing_runs(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.cli, ["reload", "--state", str(tmp_path)])
    assert isinstance(result.exception, StartError)
    assert "no system runs in this folder" in str(result.exception)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Reloaded(), "is as it was"),
        (
            Reloaded(("a.b",), ("c",)),
            "Changed: a.b\nThese take a restart, and stay as they were: c",
        ),
        (Reloaded(error="no"), "Nothing was changed: no"),
    ],
)
def test_what_it_came_to_is_said_in_words(found: Reloaded, said: str) -> None:
    assert said in "\n".join(told(found))


def test_what_is_left_in_the_folder_may_be_anything(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")
    assert Reloaded.read(tmp_path) is None


@pytest.mark.slow
def test_the_web_takes_other_settings_and_refuses_nobody_meanwhile(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    begun(settings.database_url).dispose()
    file = tmp_path / "now.json"
    before = f"""
from functools import partial
from pathlib import Path
main = partial(main, again=lambda: Settings.model_validate_json(Path({str(file)!r}).read_text()))
"""
    with serving(settings, before=before) as server:
        assert server.get("/api/v1/me")["sign_up"] == "open"
        port = int(server.url.rpartition(":")[2])
        after = settings.model_copy(
            update={"people": People(sign_up="closed"), "web": Web(port=port)}
        )
        file.write_text(after.model_dump_json())
        server.process.send_signal(signal.SIGHUP)
        while server.get("/api/v1/me")["sign_up"] == "open":
            time.sleep(0.02)
        assert server.get("/api/v1/me")["sign_up"] == "closed"
