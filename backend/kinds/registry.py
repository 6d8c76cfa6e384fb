"""All kinds that a system knows: those that come along, a city's and its apps'."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

from citywise.backend.errors import CitywiseError
from citywise.backend.kinds import files
from citywise.backend.kinds.kind import Kind, PlaceKind
from citywise.backend.kinds.observation import Reader
from citywise.backend.packs.guesses import did_you_mean
from citywise.reasoning import Finding, Location

FOLDER = "kinds"
"""What the folder of kinds is called in that of a city or an app."""
BUILTIN = Path(__file__).parent / "builtin"


class KindError(CitywiseError):
    """Files of kinds are at fault; says all that is wrong with them."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("\n".join(map(str, findings)))
        self.findings = tuple(findings)


class Kinds(Mapping[str, Kind]):
    """Kinds of observations by name, and of `places`; does not change.

    Iterates over names in the order in which the kinds were added.
    """

    def __init__(self, kinds: Iterable[Kind] = (), places: Iterable[PlaceKind] = ()) -> None:
        self._kinds = {kind.kind: kind for kind in kinds}
        self.places: Mapping[str, PlaceKind] = {place.place: place for place in places}
        self._readers: dict[str, Reader] = {}

    def __getitem__(self, name: str) -> Kind:
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def __hash__(self) -> int:
        return hash((tuple(self._kinds), tuple(self.places)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kinds):
            return NotImplemented
        return self._kinds == other._kinds and self.places == other.places

    def __reduce__(self) -> tuple[Any, ...]:
        return Kinds, (tuple(self._kinds.values()), tuple(self.places.values()))

    def reader(self, name: str) -> Reader:
        """What reads observations of a kind; raises `KeyError` where there is none."""
        found = self._readers.get(name)
        if found is None:
            found = self._readers[name] = Reader(self._kinds[name])
        return found

    @property
    def described(self) -> tuple[Kind | PlaceKind, ...]:
        """All kinds, of observations and of places."""
        return (*self._kinds.values(), *self.places.values())

    @property
    def layers(self) -> dict[str, PlaceKind]:
        """The kinds of place that are layers (`PlaceKind.layer`)."""
        return {name: place for name, place in self.places.items() if place.layer}

    def only(self, names: Iterable[str]) -> Self:
        """Those of some names, without places."""
        wanted = set(names)
        return type(self)(kind for name, kind in self._kinds.items() if name in wanted)

    def of(self, names: Iterable[str]) -> Self:
        """Those of some names, with all places; raises `KeyError`."""
        return type(self)((self[name] for name in names), self.places.values())

    def beyond(self, others: Kinds) -> Self:
        """Those that `others` do not have."""
        kinds = (kind for name, kind in self._kinds.items() if name not in others)
        places = (place for name, place in self.places.items() if name not in others.places)
        return type(self)(kinds, places)

    def to_json(self) -> list[dict[str, Any]]:
        """All kinds as JSON."""
        return [kind.model_dump(mode="json", exclude_defaults=True) for kind in self.described]

    @classmethod
    def from_json(cls, bodies: Iterable[Mapping[str, Any]]) -> Self:
        """What `to_json` gave."""
        return cls().with_kinds(*map(of_json, bodies))

    def filling(self, roles: Iterable[str]) -> Iterator[str]:
        """The names of those with a field of any of some roles."""
        wanted = set(roles)
        return (n for n, k in self._kinds.items() if wanted & k.roles.keys())

    def having(self, role: str) -> list[tuple[Kind, str]]:
        """The kinds and their fields that fill a role."""
        return [(kind, name) for kind in self._kinds.values() for name in kind.having(role)]

    def with_kinds(self, *more: Kind | PlaceKind) -> Self:
        """These and more; one of the same name is replaced."""
        kinds = {**self._kinds, **{k.kind: k for k in more if isinstance(k, Kind)}}
        places = {**self.places, **{p.place: p for p in more if isinstance(p, PlaceKind)}}
        return type(self)(kinds.values(), places.values())

    def with_folder(self, folder: Path, *, replaces: bool = True) -> Self:
        """These and those of a folder's files; raises `KindError` with all that is wrong.

        A city may replace a kind by one of the same name; an app may not (`replaces`).
        """
        findings: list[Finding] = []
        found = self.and_folder(folder, findings, replaces=replaces)
        if errors := [finding for finding in findings if finding.severity == "error"]:
            raise KindError(errors)
        return found

    def and_folder(self, folder: Path, findings: list[Finding], *, replaces: bool = True) -> Self:
        """As `with_folder`, of the files that are sound; `findings` gets what is to be said."""
        read = [(path, files.read(path, findings)) for path in sorted(folder.glob("*.toml"))]
        more: dict[tuple[type, str], tuple[Path, Kind | PlaceKind]] = {}
        for path, kind in read:
            if kind is None:
                continue
            key = type(kind), name_of(kind)
            known = self.places.get(key[1]) if isinstance(kind, PlaceKind) else self.get(key[1])
            if key in more:
                message = f"`{key[1]}` stands in {more[key][0].name} too; remove one"
            elif not replaces and known is not None and known != kind:
                message = f"there is another `{key[1]}` already; rename this one"
            else:
                more[key] = path, kind
                continue
            findings.append(Finding(Location(str(path), 1, 1), "error", "name", message))
        found = self.with_kinds(*(kind for _path, kind in more.values()))
        for path, kind in more.values():
            if isinstance(kind, Kind):
                findings += found.unknown_places(str(path), kind)
        return found

    def unknown_places(self, file: str, kind: Kind) -> Iterator[Finding]:
        """Kinds of place that a kind names and that there are not; `file` is its own."""
        for place in kind.places:
            if place not in self.places:
                cure = did_you_mean(place, self.places, f"write {place}.toml beside this file")
                message = f"`places`: there is no kind of place `{place}`; {cure}"
                yield Finding(Location(file, 1, 1), "warning", "unknown-place", message)


def of_json(body: Mapping[str, Any]) -> Kind | PlaceKind:
    """A kind from its JSON; raises pydantic's `ValidationError`."""
    return (Kind if "kind" in body else PlaceKind).model_validate(body)


def name_of(kind: Kind | PlaceKind) -> str:
    """The name of a kind of observation or place."""
    return kind.kind if isinstance(kind, Kind) else kind.place


@cache
def builtin() -> Kinds:
    """The kinds that come with Citywise."""
    return Kinds().with_folder(BUILTIN)


def is_kind_path(path: Path) -> bool:
    """Whether a path is a file of a kind, or a folder that holds nothing else of ours."""
    if not path.is_dir():
        return path.suffix == ".toml" and path.name != "app.toml"
    return bool(_folders(path))


def check_path(path: Path) -> list[Finding]:
    """All findings about a file of a kind, or about all kinds in a folder."""
    findings: list[Finding] = []
    if not path.is_dir():
        if is_kind_path(path):
            builtin().and_folder(path.parent, findings)
        return [finding for finding in findings if Path(finding.location.file) == path]
    for folder in _folders(path):
        builtin().and_folder(folder, findings)
    return findings


def _folders(path: Path) -> list[Path]:
    """The folders of kinds at a path: itself, or those called `kinds` within."""
    if path.resolve().name == FOLDER:
        return [path] if any(path.glob("*.toml")) else []
    if any(files.looks_like(file) for file in path.glob("*.toml")):
        return [path]
    found = (folder for folder in path.rglob(FOLDER) if folder.is_dir())
    return sorted(
        folder
        for folder in found
        if any(files.looks_like(file) for file in folder.glob("*.toml"))
        and not any(part.startswith(".") for part in folder.relative_to(path).parts)
    )
