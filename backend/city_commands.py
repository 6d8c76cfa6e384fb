"""The commands about what is known of the city: `citywise city`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from citywise.backend import own_files
from citywise.backend.errors import CitywiseError
from citywise.backend.layers import folder as layers
from citywise.backend.packs.parts import CityFile, found
from citywise.backend.settings import Settings
from citywise.backend.system_option import of_a_system


class NoCityFileError(CitywiseError):
    """A file that no app takes; names it."""


def kind_of(file: Path) -> CityFile | None:
    """The kind that a file is by its content, among those that apps take."""
    return next((kind for kind in _kinds() if not kind.is_last and kind.fits(file)), None)


def _kinds() -> list[CityFile]:
    return [kind for parts in found().values() for kind in parts.city_files]


@click.group()
def city() -> None:
    """Import streets and layers of a city, and show what is known of it (docs/city.md)."""


@city.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to [default: the system's, where its planners find it].",
)
@click.option("--layer", help="What a layer is called [default: as FILE].")
@of_a_system
def import_file(settings: Settings, file: Path, into: Path | None, layer: str | None) -> None:
    """Take the streets of a city, a timetable, its real-time data, or a layer, out of FILE.

    From OpenStreetMap (.osm, .osm.bz2, .osm.pbf) the road network and the named points are made; a
    running system uses them after its next start. A timetable (GTFS, .zip) and real-time data
    (GTFS-Realtime, .pb) are used at once. Each keeps the others; of the timetables and the
    real-time data the one of the same file name is replaced.

    A layer is GeoJSON: districts, schools, zones (docs/layers.md). It is checked as a whole,
    replaces the one of the same name, and is used at once; its kind of place is made if there is
    none.
    """
    if into is None:
        own_files.keep_from_others()
    if layer is not None or layers.looks_like(file):
        for line in _take_layer(settings, file, into, layer):
            click.echo(line)
        return
    kind = kind_of(file) or next((kind for kind in _kinds() if kind.is_last), None)
    if kind is None:
        raise NoCityFileError(f"{file}: no app here takes such a file; install one that does")
    for line in kind.take(file, into or settings.city_dir):
        click.echo(line)


def _take_layer(
    settings: Settings, file: Path, into: Path | None, name: str | None
) -> Iterator[str]:
    """Check a layer, keep it in the city's folder, and put it into the system's database if there
    is one already."""
    from citywise.backend.layers.importing import import_layer

    yield from import_layer(settings, file, into, name or layers.name_of(file))


@city.command("remove")
@click.argument("layer")
@of_a_system
def remove_layer(settings: Settings, layer: str) -> None:
    """Remove the layer LAYER: its places, and its file from the city's folder."""
    from citywise.backend.layers.importing import remove_layer as remove

    click.echo(remove(settings, layer))


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
    for parts in found().values():
        if parts.city_shown:
            for line in parts.city_shown(folder or settings.city_dir):
                click.echo(line)
