"""Connectors: what foreign systems say, as places, observations and events (docs/connectors.md).

A `Connector` is pure: it makes what it finds of a `Message`, or says what is wrong with which part.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from citywise.backend.connectors.builtin import BUILTIN
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.desk import Desk
from citywise.backend.connectors.found import Event, Fault, Found, Place, Reading, Refused, Unknown
from citywise.backend.connectors.mapping import MappingError
from citywise.backend.connectors.message import MOST_BYTES, Message, recorded

__all__ = [
    "BUILTIN",
    "MOST_BYTES",
    "Connector",
    "Desk",
    "Event",
    "Fault",
    "Found",
    "MappingError",
    "Message",
    "Place",
    "Reading",
    "Refused",
    "Unknown",
    "connector",
    "recorded",
    "told",
]


def connector(name: str, desk: Desk, mapping: str | None = None) -> Connector:
    """The connector of a name, of a mapping file, or of the text of one; raises `MappingError`,
    or `LookupError`."""
    if mapping is None and (known := BUILTIN.get(name)) is not None:
        return known(desk)
    path = Path(name)
    if mapping is None and not path.is_file():
        raise LookupError(name)
    from citywise.backend.connectors.mapped import Mapped  # needs libraries that others do not
    from citywise.backend.connectors.mapping import load, parse

    found, where = (load(path), str(path)) if mapping is None else (parse(mapping), "mapping")
    try:
        return Mapped(replace(desk, source=found.connector), found)
    except MappingError as error:
        raise MappingError(f"{where}: {error}") from error


def told(reader: Connector, whole: Message) -> Iterator[Found]:
    """What a connector makes of a message, or of each of a recording's."""
    for message in recorded(whole):
        yield from reader.read(message)
