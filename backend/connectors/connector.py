"""The interface of all connectors, and how one is run over messages within bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from citywise.backend.connectors.desk import Desk
from citywise.backend.connectors.found import Fault, Finds, Found, Place, Refused, refused
from citywise.backend.connectors.message import Message

MOST_THINGS = 500_000
"""That one message may hold."""


class Connector(ABC):
    """Makes places, observations and events of one source's messages; does no I/O.

    It remembers what later messages refer to (a table of sites, a device's discovery), so each
    source has a connector of its own, which gets its messages in order.
    """

    name: ClassVar[str]
    """As in `citywise connect try NAME`."""
    title: ClassVar[str]
    """What it reads, in a line."""
    topics: ClassVar[tuple[str, ...]] = ()
    """Where such messages usually come over MQTT."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.following: str | None = None
        """Where the message that was read last says that it goes on."""
        self._places: dict[str, Place] = {}

    @abstractmethod
    def things(self, message: Message) -> Finds:
        """What is in a message; raises `Fault` where the whole of it is at fault."""

    def read(self, message: Message) -> list[Found]:
        """What is in a message: places first, each only if it is new or has changed."""
        self.following = None
        places: dict[str, Place] = {}
        others: list[Found] = []
        try:
            for count, found in enumerate(self.things(message), 1):
                if count > MOST_THINGS:
                    said = f"it holds more than {MOST_THINGS} things; the others are left out"
                    others.append(Refused("too-many", message.within, said))
                    break
                if isinstance(found, Place):
                    key = found.body["id"]
                    places[key] = _merged(places.get(key) or self._places.get(key), found)
                else:
                    others.append(found)
        except Fault as fault:
            others.append(refused(fault))
        except RecursionError:
            others.append(Refused("too-deep", message.within, "it nests too deep"))
        new = [place for key, place in places.items() if self._places.get(key) != place]
        self._places |= places
        return [*new, *others]


def _merged(known: Place | None, found: Place) -> Place:
    """A place as it is told now, with the sensors that were told of it before."""
    if known is None:
        return found
    kinds = dict.fromkeys([*known.body["sensors"], *found.body["sensors"]])
    kind = known.body["kind"] if known.body["sensors"] else found.body["kind"]
    body = {**found.body, "kind": kind, "sensors": list(kinds)}
    return Place(body, {**known.sensors, **found.sensors})
