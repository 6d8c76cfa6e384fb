"""The commands about what foreign systems send: `citywise connect`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from citywise.backend.times import parse_ms


@click.group()
def connect() -> None:
    """List connectors, and show what they make of messages (docs/connectors.md)."""


@connect.command("list")
def list_connectors() -> None:
    """List the connectors that come with Citywise."""
    from citywise.backend.connectors import BUILTIN

    for name, connector in BUILTIN.items():
        click.echo(f"{name}\t{connector.title}")


@connect.command("try")
@click.argument("connector")
@click.argument("files", nargs=-1, required=True, metavar="[TOPIC=]FILE...")
@click.option(
    "--kinds",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with kinds of a city's own (docs/kinds.md).",
)
@click.option("--at", metavar="ISO", help="When the messages were received, with a zone.")
def try_connector(
    connector: str, files: tuple[str, ...], folder: Path | None, at: str | None
) -> None:
    """Show what CONNECTOR makes of messages, one line of JSON for each thing.

    CONNECTOR is a name that `citywise connect list` gives, or a mapping file. Each FILE is a
    message, in this order; TOPIC=FILE gives its MQTT topic. A .jsonl file holds one message a line.
    Nothing is stored. Ends with 1 if anything was refused; stderr says why.
    """
    from citywise.backend import connectors
    from citywise.backend.connectors import MOST_BYTES, Desk, Message, Refused
    from citywise.backend.kinds import builtin

    at_ms = _time(at)
    kinds = builtin().with_folder(folder) if folder else builtin()
    try:
        reader = connectors.connector(connector, Desk(kinds, source=connector))
    except LookupError:
        said = f"there is no connector or mapping file `{connector}`; see citywise connect list"
        raise click.UsageError(said) from None
    refusals = 0
    for given in files:
        topic, path = _split(given)
        with path.open("rb") as file:  # no more than what is refused as too large
            whole = Message(file.read(MOST_BYTES + 1), topic, at_ms)
        for found in connectors.told(reader, whole):
            if isinstance(found, Refused):
                refusals += 1
                place = f" at {found.at}" if found.at else ""
                click.echo(f"{path}{place}: {found.reason}: {found.said}", err=True)
            line = json.dumps(found.to_json(), ensure_ascii=False)
            click.echo(line.encode("utf-8", "replace"))
    if refusals:
        sys.exit(1)


def _time(told: str | None) -> int | None:
    try:
        return None if told is None else parse_ms(told)
    except ValueError as error:
        raise click.UsageError(f"--at: found `{told}`, expected e.g. 2026-05-04T09:00Z") from error


def _split(given: str) -> tuple[str | None, Path]:
    """The topic and the file of `TOPIC=FILE`; both may have a `=` in them."""
    if (whole := Path(given)).is_file():
        return None, whole
    parts = given.split("=")
    for count in range(1, len(parts)):
        file = Path("=".join(parts[count:]))
        if file.is_file():
            return "=".join(parts[:count]), file
    raise click.UsageError(f"{given}: there is no such file (as FILE or TOPIC=FILE)")
