"""The commands that look after a system: `citywise doctor`, `reload` and `upgrade`."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citywise.backend import settings as configuration
from citywise.backend.errors import CitywiseError
from citywise.backend.settings import Settings
from citywise.backend.system_option import of_a_system

if TYPE_CHECKING:
    from citywise.backend.operations.doctor import Finding
    from citywise.backend.operations.upgrading import Change
    from citywise.backend.reloading import Reloaded

_PATIENCE_S = 120
"""Processes are ended and begun one after the other."""


@click.command()
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Configuration of the system [none: as `citywise run --host` without one].",
)
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of a system, such as that of `citywise demo --state`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(config: Path | None, state: Path | None, as_json: bool) -> None:
    """Look at a system, running or stopped: what is wrong, and what to do (docs/operations.md).

    Ends with 1 if anything is an error.
    """
    if config is not None and state is not None:
        raise click.UsageError("give --config or --state: they mean two systems")
    found = list(_examined(config, state))
    wrong = any(finding.severity == "error" for finding in found)
    if as_json:
        click.echo(json.dumps({"ok": not wrong, "findings": list(map(asdict, found))}, indent=2))
    else:
        for finding in found:
            _show(finding)
    if wrong:
        sys.exit(1)


def _examined(config: Path | None, state: Path | None) -> Iterator[Finding]:
    from citywise.backend.operations.doctor import Finding, examine
    from citywise.backend.supervisor import as_left, as_run, is_used

    try:
        settings = Settings(data_dir=state) if state is not None else configuration.load(config)
    except CitywiseError as error:
        yield Finding("error", "configuration", str(error), "docs/configuration.md lists its keys")
        return
    try:
        running = settings.data_dir.is_dir() and is_used(settings.data_dir.resolve())
    except OSError as error:
        yield Finding(
            "error", "disk", f"{settings.data_dir}: {error.strerror}", "run it as its owner"
        )
        return
    yield from examine(as_run(settings) if running else as_left(settings), running=running)


@click.command()
@of_a_system
def reload(settings: Settings) -> None:
    """Have a running system read its configuration anew, and use a renewed certificate.

    Says what is used from now on, and what takes a restart (docs/configuration.md). Ends with 1
    where nothing was changed because it cannot be read, or where something takes a restart.
    """
    from citywise.backend.reloading import FILE, Reloaded
    from citywise.backend.supervisor import StartError, supervisor_of

    folder = settings.data_dir.resolve()
    supervisor = supervisor_of(folder)
    (folder / FILE).unlink(missing_ok=True)
    os.kill(supervisor, signal.SIGUSR1)
    deadline = time.monotonic() + _PATIENCE_S
    while (found := Reloaded.read(folder)) is None:
        if time.monotonic() > deadline:
            raise StartError(f"the system has not answered for {_PATIENCE_S} s; see its console")
        time.sleep(0.05)
    for line in told(found):
        click.echo(line)
    if found.error or found.kept:
        sys.exit(1)


def told(found: Reloaded) -> Iterator[str]:
    """What a reload came to, in words."""
    if found.error is not None:
        yield f"Nothing was changed: {found.error}"
        return
    if found.changed:
        yield f"Changed: {', '.join(found.changed)}"
    if found.kept:
        yield f"These take a restart, and stay as they were: {', '.join(found.kept)}"
    if not found.changed and not found.kept:
        yield "The configuration is as it was; a certificate that was renewed is used now."


def _show(finding: Finding) -> None:
    colour = {"error": "red", "warning": "yellow", "fine": "green"}.get(finding.severity)
    cure = f"\n    {finding.cure}" if finding.cure else ""
    severity = click.style(f"{finding.severity:8}", fg=colour)
    click.echo(f"{severity}{finding.part}: {finding.found}{cure}")


@click.command()
@click.option(
    "--check", "only_look", is_flag=True, help="Say what would change, and change nothing."
)
@click.option("--back-to", metavar="REVISION", help="Undo changes of the schema, to an older one.")
@click.option("--json", "as_json", is_flag=True, help="With --check: print it as JSON.")
@of_a_system
def upgrade(settings: Settings, only_look: bool, back_to: str | None, as_json: bool) -> None:
    """Bring a stopped system's database to this version, or say what that would change.

    `demo` and `run` do it themselves at their start (docs/backup.md).
    """
    from citywise.backend.operations import upgrading
    from citywise.backend.supervisor import as_left

    if only_look and back_to is not None:
        raise click.UsageError("--check changes nothing, --back-to does: give one of them")
    if as_json and not only_look:
        raise click.UsageError("--json is for --check")
    settings = as_left(settings)
    if only_look:
        found = upgrading.foresee(settings)
        click.echo(json.dumps(asdict(found), indent=2) if as_json else "\n".join(_told(found)))
        return
    _refuse_running(settings)
    if back_to is not None:
        for step in upgrading.go_back(settings, back_to):
            click.echo(f"undone: {step.revision} {step.text}")
        return
    _upgrade(settings)


def _refuse_running(settings: Settings) -> None:
    from citywise.backend.operations.upgrading import UpgradeError
    from citywise.backend.supervisor import is_used

    if settings.data_dir.is_dir() and is_used(settings.data_dir.resolve()):
        raise UpgradeError(f"{settings.data_dir}: a system runs in this folder; stop it first")


def _upgrade(settings: Settings) -> None:
    from citywise.backend import own_files
    from citywise.backend.packs import broken
    from citywise.backend.packs.parts import upgrade_tables
    from citywise.backend.store.database import create_engine_for, migrate

    own_files.keep_from_others()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    engine = create_engine_for(settings.database_url)
    try:
        migrate(engine)
        upgrade_tables(engine, settings)
    finally:
        engine.dispose()
    for fault in broken.known():
        click.echo(f"The app {fault.app} is left out: {fault.part}: {fault.reason}")
    click.echo("The database is as this version needs it.")


def _told(found: Change) -> Iterator[str]:
    if not found.steps:
        yield "The database is as this version needs it."
    for step in found.steps:
        back = "" if step.has_way_back else " (no way back)"
        yield f"schema {step.revision}: {step.text}{back}"
    if found.seconds is not None:
        yield f"Tried on a copy: {found.seconds:.1f} s, during which nothing else runs."
    if any(step.has_way_back for step in found.steps):
        yield (
            f"Back: `citywise upgrade --back-to {found.revision}` by this version, then the older "
            "one. What is only in tables and columns that are new is lost then."
        )
    if any(not step.has_way_back for step in found.steps):
        yield "Make a backup before: some of it can only be undone by restoring one."
    yield from found.apps
