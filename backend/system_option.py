"""Which system a command is about: the options `--config` and `--state`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from citywise.backend import settings as configuration
from citywise.backend import times
from citywise.backend.settings import Settings


def of_a_system(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say which system is meant; the command gets its settings."""

    @click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Configuration of the system [none: as `citywise run --host` without one].",
    )
    @click.option(
        "--state",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Folder of a demo (`citywise demo --state`).",
    )
    @wraps(command)
    def with_settings(config: Path | None, state: Path | None, **given: Any) -> None:
        if config is not None and state is not None:
            raise click.UsageError("give --config or --state: they mean two systems")
        settings = configuration.load(config) if state is None else Settings(data_dir=state)
        times.use_zone(settings.city.zone)
        command(settings, **given)

    return with_settings


kind_folders = click.option(
    "--kinds",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of kinds beside those that come along (docs/kinds.md); repeatable.",
)


class LaterGroup(click.Group):
    """A group of commands that is imported when it is used: others need not wait for it."""

    def __init__(self, name: str, module: str, help: str) -> None:  # noqa: A002
        super().__init__(name, help=help)
        self._module = module

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of its commands."""
        return self._group.list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of its commands, or None."""
        return self._group.get_command(ctx, cmd_name)

    @property
    def _group(self) -> click.Group:
        assert self.name is not None
        group = getattr(import_module(self._module), self.name)
        assert isinstance(group, click.Group)
        return group


class GroupWithApps(click.Group):
    """A group that has the groups of apps, too; they are looked for where a name is none of its
    own, or all names are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of its commands and of the apps' groups."""
        return sorted({*super().list_commands(ctx), *_of_apps()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them, or None."""
        return super().get_command(ctx, cmd_name) or _of_apps().get(cmd_name)


def _of_apps() -> dict[str, LaterGroup]:
    try:
        from citywise.backend.packs.parts import found
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("citywise"):
            raise
        return {}  # The reasoner alone is installed: it runs no apps.
    brought = (item for parts in found().values() for item in parts.commands.items())
    return {name: LaterGroup(name, group.module, group.help) for name, group in brought}
