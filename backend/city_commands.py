"""The commands about the city's streets and named points: `citywise city`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from citywise.backend import own_files
from citywise.backend.roads import City, Mode
from citywise.backend.roads.cityfiles import import_into
from citywise.backend.settings import Settings
from citywise.backend.system_option import of_a_system


@click.group()
def city() -> None:
    """Import the streets of a city, and show what is known of them (docs/city.md)."""


@city.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to [default: the system's, where its planners find it].",
)
@of_a_system
def import_file(settings: Settings, file: Path, into: Path | None) -> None:
    """Take the streets of a city, a timetable, or real-time data of one, out of FILE.

    From OpenStreetMap (.osm, .osm.bz2, .osm.pbf) the road network and the named points are made; a
    running system uses them after its next start. A timetable (GTFS, .zip) and real-time data
    (GTFS-Realtime, .pb) are used at once. Each keeps the others; of the timetables and the
    real-time data the one of the same file name is replaced.
    """
    from citywise.backend.packs.parts import found
    from citywise.backend.roads import osm

    begin = time.monotonic()
    folder = into or settings.city_dir
    if into is None:
        own_files.keep_from_others()
    for kind in (kind for parts in found().values() for kind in parts.city_files):
        if kind.fits(file):
            for line in kind.take(file, folder):
                click.echo(line)
            return
    made = osm.city(file, lambda text: click.echo(text, err=True))
    import_into(folder, made)
    click.echo(f"{folder}: written in {time.monotonic() - begin:.1f} s")
    _show(made)


@city.command()
@click.option(
    "--in",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the files [default: the system's].",
)
@of_a_system
def show(settings: Settings, folder: Path | None) -> None:
    """Show what the road network holds: streets by mode, what it was made of, named points."""
    _show(City.load(folder or settings.city_dir))


def _show(made: City) -> None:
    network = made.network
    west, south, east, north = network.bounds
    click.echo(f"source\t{network.source}")
    click.echo(f"licence\t{network.licence}")
    click.echo(f"area\t{south:.4f}..{north:.4f} N, {west:.4f}..{east:.4f} E")
    click.echo(f"nodes\t{network.nodes}")
    for mode in Mode:
        edges = network.allows(mode)
        km = float(network.length_m[edges].sum()) / 1000
        click.echo(f"{mode}\t{int(edges.sum())} directed edges, {km:.0f} km")
    click.echo(f"streets\t{len(network.names)} names")
    click.echo(f"sensors\t{len(network.sensors)} that tell of edges")
    click.echo(f"places\t{len(made.gazetteer.entries)} named points")
