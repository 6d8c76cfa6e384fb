"""The commands `citywise backup` and `citywise restore` (docs/backup.md)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citywise.backend.settings import Settings
from citywise.backend.system_option import of_a_system

if TYPE_CHECKING:
    from citywise.backend.backup.restoring import Restored
    from citywise.backend.backup.taking import Taken

PASSPHRASE = "CITYWISE_PASSPHRASE"  # noqa: S105 - the name of the variable
_LONGEST = 4096
_FILE = click.Path(dir_okay=False, path_type=Path)


def with_passphrase(command: Callable[..., None]) -> Callable[..., None]:
    """Add where a passphrase comes from; it is never an argument."""

    @click.option(
        "--passphrase-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help=f"Read the passphrase from this file's first line [{PASSPHRASE}, else asked for].",
    )
    @wraps(command)
    def reading(*, passphrase_file: Path | None, **given: Any) -> None:
        found = os.environ.get(PASSPHRASE)
        if passphrase_file is not None:
            found = _first_line(passphrase_file)
        command(passphrase=found or None, **given)

    return reading


def _first_line(file: Path) -> str:
    with file.open("rb") as opened:
        line = opened.readline(_LONGEST).rstrip(b"\r\n")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise click.UsageError(
            f"{file}: its first line is no text, so it is no passphrase"
        ) from error


@click.command()
@click.argument("file", type=_FILE, required=False)
@click.option("--encrypt", is_flag=True, help="Encrypt the file with a passphrase.")
@click.option(
    "--drill",
    "is_drill",
    is_flag=True,
    help="Make a backup, restore it elsewhere, compare, and remove both.",
)
@click.option("--database", metavar="URL", help="With --drill: an empty PostgreSQL database.")
@with_passphrase
@of_a_system
def backup(
    settings: Settings,
    file: Path | None,
    encrypt: bool,
    is_drill: bool,
    database: str | None,
    passphrase: str | None,
) -> None:
    """Write a backup of a system, which may be running, into the new FILE (docs/backup.md).

    It holds the database, the log, the keys, the city, apps and the configuration, as they were
    at one moment.
    """
    from citywise.backend import own_files
    from citywise.backend.backup.taking import back_up
    from citywise.backend.privacy import tombstones
    from citywise.backend.supervisor import as_left

    if (file is None) != is_drill:
        raise click.UsageError("name the FILE to write, or give --drill, which keeps none")
    if database is not None and not is_drill:
        raise click.UsageError("--database is for --drill")
    own_files.keep_from_others()
    secret = _asked(passphrase) if encrypt else None
    config = click.get_current_context().params["config"]
    settings = as_left(settings)
    if file is None:
        _drill(settings, secret, database)
        return
    taken = back_up(settings, file, config=config, passphrase=secret)
    # Who is forgotten from now on is noted beside the backup, too.
    tombstones.keep_beside(settings.data_dir.resolve(), file.resolve().parent)
    _tell_of_backup(taken)


def _asked(passphrase: str | None) -> str:
    if passphrase is not None:
        return passphrase
    given: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True)
    return given


def _drill(settings: Settings, passphrase: str | None, database: str | None) -> None:
    from citywise.backend.backup.drill import drill

    found = drill(settings, passphrase, database)
    click.echo(
        f"A backup of {found.bytes:,} bytes was made in {found.backup_s:.1f} s, restored and "
        f"compared: {found.rows:,} rows, {found.records:,} records of the log, {found.sealed:,} "
        "sealed entries; all as they were."
    )


def _tell_of_backup(taken: Taken) -> None:
    click.echo(
        f"{taken.file}: {taken.bytes:,} bytes in {taken.seconds:.1f} s; the state of "
        f"{taken.head.made}"
    )
    for path in taken.left_out:
        click.echo(f"left out, as it cannot be read: {path}", err=True)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The new folder of the system; it must be empty, or not there.",
)
@click.option("--database", metavar="URL", help="An empty PostgreSQL database, of one that had it.")
@click.option(
    "--forgotten",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A list of who was forgotten since, beside that which lies beside FILE; repeatable.",
)
@with_passphrase
def restore(
    file: Path,
    state: Path,
    database: str | None,
    forgotten: tuple[Path, ...],
    passphrase: str | None,
) -> None:
    """Bring the backup FILE back into a new folder: all of it, verified, or nothing."""
    from citywise.backend.backup import restoring
    from citywise.backend.backup.errors import PassphraseError

    bring_back = partial(restoring.restore, file, state, database=database, forgotten=forgotten)
    try:
        found = bring_back(passphrase=passphrase)
    except PassphraseError:
        if passphrase is not None or not sys.stdin.isatty():
            raise
        found = bring_back(passphrase=click.prompt("Passphrase", hide_input=True, err=True))
    _tell_of_restored(found, state)


def _tell_of_restored(found: Restored, state: Path) -> None:
    click.echo(f"{state}: the state of {found.head.made}, by Citywise {found.head.citywise}")
    if found.forgotten:
        click.echo(f"{found.forgotten} accounts were forgotten since then, and are again.")
    if not found.knows_forgotten:
        click.echo(
            "Who was forgotten since then is not known: no file `citywise-forgotten` lies beside "
            "the backup. If there is one, remove this folder and give it with --forgotten.",
            err=True,
        )
    apps = "".join(f" --app {path}" for path in found.apps)
    if found.config is not None:
        start = f"citywise run --config {found.config}"
    elif found.played:
        start = f"citywise demo --state {state}{apps}"
    else:
        start = f"CITYWISE_SET__DATA_DIR={state} citywise run --host ADDRESS"
    click.echo(f"Go on with: {start}")
