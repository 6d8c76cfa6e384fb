"""What an app brings in Python beside its rules: addresses, decisions, a process of its own.

The manifest names the module (`python = "parts"`), which holds one `Parts` called `PARTS`. Apps
that are Python packages bring any, our own and those of installed packages, and folders when
somebody has agreed to it (`backend.packs.agreed`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine

from citywise.backend.errors import CitywiseError
from citywise.backend.mail.wording import Asked, Written
from citywise.backend.network.topics import Device, Topics
from citywise.backend.packs import agreed, broken
from citywise.backend.packs.library import FILE, app_name, available, package_of, said
from citywise.backend.packs.tables import Tables, upgrade, why_unusable
from citywise.backend.settings import Section, Settings

Decide = Callable[[Path, Path, int | None], Mapping[str, Any]]
"""A decision on recorded data: the request's file, the folder of the data, the time (Unix ms,
None: where the data end) → the answer as JSON. Raises `CitywiseError` for a faulty request."""
Timetabled = Callable[
    [Path, Path | None, Sequence[Path], Sequence[Path], int | None], Mapping[str, Any]
]
"""A decision by timetables: the request's file, the folder of the data (None: no streets), GTFS
archives, files of GTFS-Realtime, the time likewise."""
Service = Callable[[Settings, Engine, threading.Event], None]
"""A process of the app's own; returns when the event is set."""
Export = Callable[[Connection, Settings, str], Sequence[Mapping[str, Any]]]
"""What is known of a user, to take along."""
Withdrawn = Callable[[Connection, Settings, str, str], None]
"""Ends what needs a kind of context (`position`, `route` …) that a user allows no longer, in a
transaction that has called `backend.store.outbox.begin`."""
Forgotten = Callable[[Connection, str], None]
"""Removes what the app's tables hold of a user beside rows in a column of which they stand, in a
transaction that has called `backend.store.outbox.begin`; it may be called again."""


class Arrival(NamedTuple):
    """Where somebody is on their way to (degrees), and when they arrive there (Unix ms)."""

    lat: float
    lon: float
    at_ms: int


Arrivals = Callable[[Connection, Settings, str], Iterable[Arrival]]
"""Where a user is on their way to, as far as the app knows, with times by the city's clock."""
Letters = Callable[[Connection, Settings, Asked], Written | None]
"""The words of a letter that `mail.put_of_app` has sent, as they are true now; None: it is not to
be sent any more. Asked again at each try."""
Devices = Callable[[Connection], Iterable[Device]]
"""Who is let in at the broker now beside the devices that have tokens."""
Channels = Callable[[Connection, Collection[str]], Collection[str]]
"""Of some names of the app's channels (`backend.people.ids.channel`), those that somebody without
an account may read still; asked every two seconds while anybody does, of a few hundred at
a time."""


@dataclass(frozen=True)
class Commands:
    """A group of commands of an app: the module, which has a click group of the name that the
    command line knows it by, and its help."""

    module: str
    help: str

    @staticmethod
    def of_running(command: Callable[..., None]) -> Callable[..., None]:
        """Add the options that say which system a command is about; it gets the settings with
        which that system runs, ports and passwords that it chose itself included."""
        from citywise.backend.system_option import of_a_system  # Here, as it loads click.

        @of_a_system
        @wraps(command)
        def as_it_runs(settings: Settings, **given: Any) -> None:
            from citywise.backend.supervisor import as_run  # It knows the apps itself.

            command(as_run(settings), **given)

        return as_it_runs


@dataclass(frozen=True)
class Limit:
    """So many times in so many seconds."""

    times: int
    seconds: int


class PartsError(CitywiseError):
    """The Python of an app cannot be used; names the app and the module."""


@dataclass(frozen=True)
class CityFile:
    """A kind of file that `citywise city import` takes beside OpenStreetMap, told by content."""

    fits: Callable[[Path], bool]
    take: Callable[[Path, Path], Iterator[str]]
    """The file, and the city's folder → what is to be said of it. Raises `CitywiseError`, and then
    nothing has changed."""
    is_last: bool = False
    """For a kind that is not told by content: a file of no other is given to it, to take it or to
    say what it expected."""


@dataclass(frozen=True)
class Parts:
    """What an app brings beside its rules.

    The functions are called where they are needed only: a process without HTTP imports no view.
    """

    api: Callable[[], Sequence[Any]] = tuple
    """Flask blueprints below `/api/v1`; each view declares its access."""
    pages: Callable[[], Sequence[Any]] = tuple
    """Flask blueprints at the root: pages, and messages of others' formats."""
    navigation: Mapping[str, str] = field(default_factory=dict)
    """Pages that the shell leads to: key of the page and its string (`nav.<key>`) → address."""
    shortcuts: Mapping[str, str] = field(default_factory=dict)
    """What people may start directly where Citywise is installed: key of a text of the app
    (`pages.…`) → address."""
    installable: Mapping[str, str] = field(default_factory=dict)
    """Pages that can be installed alone: key of a text of the app → address. The manifest is at the
    address with `.webmanifest` behind, which templates name in the block `manifest`."""
    everywhere: Sequence[str] = ()
    """Modules in `static/` that every page loads, also those of others; keep them small."""
    openapi: Path | None = None
    """`paths` and `components.schemas` of what `api` serves; without it `openapi.json` in the
    app's folder, if there is one."""
    decisions: Mapping[str, Decide] = field(default_factory=dict)
    """By the name that `citywise decide` knows them by."""
    timetables: Mapping[str, Timetabled] = field(default_factory=dict)
    """What `citywise decide NAME --gtfs` answers."""
    city_files: Sequence[CityFile] = ()
    city_shown: Callable[[Path], Iterator[str]] | None = None
    """What the app knows of the city whose folder it is given, for `citywise city show`."""
    prepare: Callable[[Settings, Mapping[str, Any] | None], None] | None = None
    """Called before the processes of a system start, with what it plays (`--replay`, the simulated
    city; None: nothing), so that what they look for is in the city's folder."""
    service: Service | None = None
    tables: Tables | None = None
    """Its own tables, made and upgraded when the system starts."""
    settings: Mapping[str, type[Section]] = field(default_factory=dict)
    """Its sections of the configuration, by name; `Settings.section` gives what stands there."""
    limits: Mapping[str, Limit] = field(default_factory=dict)
    """How often in which time one person, or one address, may do what only this app knows."""
    export: Mapping[str, Export] = field(default_factory=dict)
    """By the name of the part of a person's export."""
    withdrawn: Withdrawn | None = None
    """Called when somebody withdraws a consent, in the same transaction."""
    forgotten: Forgotten | None = None
    """Called when somebody is forgotten."""
    arrivals: Arrivals | None = None
    """For an app that follows trips; `backend.people.arrivals` asks it."""
    letters: Letters | None = None
    """For an app that writes to people by e-mail (`mail.put_of_app`)."""
    ready: Callable[[Settings], None] | None = None
    """Called once in the web process when it has started to serve."""
    topics: Topics = field(default_factory=Topics)
    """What is published and read at the broker."""
    devices: Devices | None = None
    """Whoever changes what it gives calls `handing.tell_broker` afterwards, or a view
    `state().tell_broker()`."""
    channels: Channels | None = None
    """For an app that tells something to people without accounts; streams of others end."""
    commands: Mapping[str, Commands] = field(default_factory=dict)
    """By the name of the group, `citywise <name> …`."""


@dataclass(frozen=True)
class Brought:
    """What the apps of a system bring: their parts by the app's name, and the names of those
    whose Python cannot be used, which `backend.packs.broken` tells of."""

    parts: Mapping[str, Parts]
    unusable: tuple[str, ...]
    folders: Mapping[str, Path]
    """Of every app that has Python."""
    installed: Mapping[str, Path]
    """Of every app."""

    def usable(self, engine: Engine) -> Mapping[str, Parts]:
        """The parts of the apps whose tables are as they need them; others are noted."""
        found: dict[str, Parts] = {}
        with engine.connect() as connection:
            for app, parts in self.parts.items():
                if why := why_unusable(connection, app, parts.tables):
                    broken.note(app, "tables", PartsError(why))
                else:
                    broken.mended(app, "tables")
                    found[app] = parts
        return found


def brought(paths: Iterable[Path] = ()) -> Brought:
    """What all apps bring that there are."""
    usable: dict[str, Parts] = {}
    folders: dict[str, Path] = {}
    sections: dict[str, str] = {}
    installed = {app_name(folder): folder for folder in available(tuple(paths))}
    for name, folder in installed.items():
        if (module := said(folder, "python")) is None:
            continue
        folders[name] = folder
        try:
            parts = load(folder, module)
            _refuse_taken(name, folder, parts, sections)
            usable[name] = parts
            sections |= dict.fromkeys(parts.settings, name)
            broken.mended(name, "python")
        except PartsError as error:
            broken.note(name, "python", error)
    unusable = tuple(sorted(folders.keys() - usable.keys()))
    return Brought(usable, unusable, folders, installed)


def _refuse_taken(name: str, folder: Path, parts: Parts, sections: Mapping[str, str]) -> None:
    """Raise `PartsError` where an app declares a section of the configuration that another has:
    each would read the other's."""
    for section in sorted(parts.settings.keys() & sections.keys()):
        raise PartsError(
            f"{folder / FILE}: `python`: `settings` declares `{section}`, a section of the app "
            f"`{sections[section]}`; call it `{name}`"
        )


def brought_to(settings: Settings) -> Brought:
    """What the apps of a system bring."""
    return brought(Path(folder) for folder in settings.apps.folders)


def found(paths: Iterable[Path] = ()) -> Mapping[str, Parts]:
    """The parts of all apps there are that bring any that can be used, by the app's name."""
    return brought(paths).parts


def of_settings(settings: Settings) -> Mapping[str, Parts]:
    """The parts of the apps that a system has, as far as they can be used."""
    return brought_to(settings).parts


def upgrade_tables(engine: Engine, settings: Settings) -> None:
    """Make and upgrade the tables of a system's apps; one whose tables cannot be is left out."""
    upgrade(engine, {app: parts.tables for app, parts in brought_to(settings).parts.items()})


def within(connection: Connection, app: str, part: str, work: Callable[[], None]) -> bool:
    """Call an app within a transaction that is to succeed without it, too: whether it did its
    work. Where it raises an exception, what it wrote is undone."""
    try:
        with connection.begin_nested():
            work()
    except (Exception, SystemExit) as error:  # noqa: BLE001
        broken.note(app, part, error)
        return False
    broken.mended(app, part)
    return True


def load(folder: Path, module: str) -> Parts:
    """The parts in a module of the app in `folder`; raises `PartsError`."""
    package = package_of(folder)
    if package is None:
        try:
            package = agreed.package(folder)
        except (agreed.NotAgreedError, OSError) as error:
            raise PartsError(str(error)) from None
    name = f"{package}.{module}"
    try:
        parts = import_module(name).PARTS
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        raise PartsError(f"{folder / FILE}: `python`: cannot use `{name}`: {why}") from error
    if not isinstance(parts, Parts):
        raise PartsError(f"{folder / FILE}: `python`: `{name}.PARTS` is no {Parts.__qualname__}")
    if fault := _misdeclared(parts):
        raise PartsError(f"{folder / FILE}: `python`: {fault}")
    described = folder / "openapi.json"
    is_usual = parts.openapi is None and described.is_file()
    return replace(parts, openapi=described) if is_usual else parts


def _misdeclared(parts: Any) -> str | None:
    """What of some parts is not of the kind that it has to be for all who read it."""
    if not isinstance(parts.tables, Tables | None):
        return f"`tables` is {parts.tables!r}, no `Tables`"
    for name, declared, kind in (
        ("settings", parts.settings, type),
        ("limits", parts.limits, Limit),
        ("shortcuts", parts.shortcuts, str),
        ("installable", parts.installable, str),
    ):
        is_sound = isinstance(declared, Mapping) and all(
            isinstance(key, str) and isinstance(value, kind) for key, value in declared.items()
        )
        if not is_sound:
            return f"`{name}` is {declared!r}, no mapping from names to {kind.__name__}s"
    everywhere: Any = parts.everywhere
    is_list = isinstance(everywhere, list | tuple)
    if not is_list or not all(isinstance(path, str) for path in everywhere):
        return f"`everywhere` is {everywhere!r}, no list of paths in `static/`"
    for kept, limit in parts.limits.items():
        if min(limit.times, limit.seconds) < 1:
            return (
                f"`limits`: `{kept}` allows {limit.times} in {limit.seconds} s; write one or more"
            )
    for section, model in parts.settings.items():
        if section in Settings.model_fields:
            return (
                f"`settings` declares `{section}`, a section of Citywise's own; call it as the app"
            )
        if not issubclass(model, Section):
            return f"`settings`: {model.__name__} is no `Section`; let it be one"
    return None
