"""Connectors: what foreign systems say, as places, observations and events (docs/connectors.md).

A `Connector` is pure: it makes what it finds of a `Message`, or says what is wrong with which part.
"""

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
]


def connector(name: str, desk: Desk) -> Connector:
    """The connector of a name, or of a mapping file; raises `MappingError`, or `LookupError`."""
    if (known := BUILTIN.get(name)) is not None:
        return known(desk)
    path = Path(name)
    if not path.is_file():
        raise LookupError(name)
    from citywise.backend.connectors.mapped import Mapped  # needs libraries that others do not
    from citywise.backend.connectors.mapping import load

    mapping = load(path)
    try:
        return Mapped(replace(desk, source=mapping.connector), mapping)
    except MappingError as error:
        raise MappingError(f"{path}: {error}") from error
