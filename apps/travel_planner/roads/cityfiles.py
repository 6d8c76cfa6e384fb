"""The files of a city: its road network and its named points, made once and kept."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from citywise.apps.travel_planner.roads.basemap import Basemap
from citywise.apps.travel_planner.roads.gazetteer import Gazetteer, garages
from citywise.apps.travel_planner.roads.network import Mode, RoadNetwork
from citywise.backend.app import Settings
from citywise.backend.ingest.payloads import Place

log = logging.getLogger(__name__)

NETWORK, GAZETTEER, MADE_OF = "network.npz", "gazetteer.json", "made-of.txt"
BASEMAP = "basemap.geojson"
VERSION = "2"
"""Of how the files are made: another one makes them again."""


@dataclass(frozen=True, eq=False)
class City:
    """Where one moves, and what has a name there."""

    network: RoadNetwork
    gazetteer: Gazetteer
    basemap: Basemap = field(default_factory=Basemap)

    def save(self, folder: Path) -> None:
        """Write the files of the city into a folder."""
        self.gazetteer.save(folder / GAZETTEER)
        self.basemap.save(folder / BASEMAP)
        self.network.save(folder / NETWORK)

    @classmethod
    def load(cls, folder: Path) -> City:
        """Read what `save` wrote; raises `NetworkError`, which says what to do."""
        network = RoadNetwork.load(folder / NETWORK)
        return cls(network, Gazetteer.load(folder / GAZETTEER), Basemap.load(folder / BASEMAP))

    def shown(self) -> Iterator[str]:
        """Streets by mode, what they were made of, named points: a line for each."""
        network = self.network
        west, south, east, north = network.bounds
        yield f"source\t{network.source}"
        yield f"licence\t{network.licence}"
        yield f"area\t{south:.4f}..{north:.4f} N, {west:.4f}..{east:.4f} E"
        yield f"nodes\t{network.nodes}"
        for mode in Mode:
            edges = network.allows(mode)
            km = float(network.length_m[edges].sum()) / 1000
            yield f"{mode}\t{int(edges.sum())} directed edges, {km:.0f} km"
        yield f"streets\t{len(network.names)} names"
        yield f"sensors\t{len(network.sensors)} that tell of edges"
        yield f"places\t{len(self.gazetteer.entries)} named points"
        yield f"addresses\t{len(self.gazetteer.addresses)} house numbers"


def network_file(settings: Settings) -> Path:
    """Where the road network of a system is."""
    return settings.city_dir / NETWORK


def city_of(settings: Settings, places: Iterable[Place] | None = None) -> City:
    """The city of a system, as its files have it; raises `NetworkError` where none is.

    Of `places`, which are garages, those that the files do not know are added to the named points.
    """
    city = City.load(settings.city_dir)
    known = {entry.id for entry in city.gazetteer.entries}
    new = [entry for entry in garages(places or ()) if entry.id not in known]
    if not new:
        return city
    return replace(city, gazetteer=city.gazetteer.with_entries(new))


def prepare(settings: Settings, play: Mapping[str, Any] | None) -> None:
    """Make the files for what a system plays (`backend.process.city`): the simulated town's,
    or the data pack's; kept where they were made of the same before.

    Without a source nothing is touched, nor is what `citywise city import` wrote.
    """
    folder = settings.city_dir
    if play is None or _is_imported(folder):
        return
    pack = Path(play["data"]) if play.get("data") else None
    wanted = _made_of(pack)
    if (folder / NETWORK).is_file() and _text(folder / MADE_OF) == wanted:
        return
    made = simulated_city() if pack is None else pack_city(pack)
    made.save(folder)
    (folder / MADE_OF).write_text(wanted, encoding="utf-8")
    log.info("city: %d edges from %s", made.network.edges, made.network.source)


def shown(folder: Path) -> Iterator[str]:
    """What is known of the city in a folder; raises `NetworkError`."""
    return City.load(folder).shown()


def take(file: Path, folder: Path) -> Iterator[str]:
    """Make a city's files of OpenStreetMap's, and say so; raises `NetworkError`."""
    from citywise.apps.travel_planner.roads import osm

    begin = time.monotonic()
    made = osm.city(file, lambda text: click.echo(text, err=True))
    import_into(folder, made)
    yield f"{folder}: written in {time.monotonic() - begin:.1f} s"
    yield from made.shown()


def import_into(folder: Path, made: City) -> None:
    """Write a city that starts of the system are to leave alone."""
    made.save(folder)
    (folder / MADE_OF).unlink(missing_ok=True)


def _is_imported(folder: Path) -> bool:
    """Whether there is a city that no start of the system made."""
    return (folder / NETWORK).is_file() and not (folder / MADE_OF).is_file()


def pack_city(pack: Path) -> City:
    """The city of the Aarhus pack in a folder; raises `PackError`."""
    from citywise.apps.travel_planner.roads import aarhus

    network = aarhus.network(pack)
    return City(network, aarhus.gazetteer(pack, network))


def simulated_city() -> City:
    """The simulated town."""
    from citywise.apps.travel_planner.roads import simulated

    network = simulated.network()
    return City(network, simulated.gazetteer(network), simulated.basemap())


def _made_of(pack: Path | None) -> str:
    """What tells whether files would be made the same again."""
    if pack is None:
        from citywise.apps.travel_planner.roads import simulated
        from citywise.backend.city.simulated import faces, land, streets, town, venues

        modules = [
            Path(str(each.__file__)) for each in (simulated, faces, land, streets, town, venues)
        ]
        content = hashlib.sha256(b"".join(path.read_bytes() for path in modules))
        return f"{VERSION} simulation {content.hexdigest()}\n"
    from citywise.apps.travel_planner.roads import aarhus

    stats = [(path.name, path.stat()) for path in aarhus.files(pack)]
    marks = [f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats]
    return "\n".join([f"{VERSION} pack", *marks, ""])


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
