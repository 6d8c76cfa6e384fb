"""Where a document's imports are, and what their profiles mean (W3C RIF RDF and OWL
Compatibility, second edition, section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Literal as OneOf
from typing import TypeAlias
from urllib.parse import urlsplit
from urllib.request import url2pathname

from reasoning.asp.statements import Source
from reasoning.errors import Location, RequestError
from reasoning.languages.casp.parsing import text_of
from reasoning.languages.rif.document import Import
from reasoning.languages.rif.xml_tree import XmlElement, tree
from reasoning.rdf import parsing

Regime: TypeAlias = OneOf["simple", "rdf", "rdfs", "owl-rl"]
REGIMES: tuple[Regime, ...] = ("simple", "rdf", "rdfs", "owl-rl")
"""From the weakest to the strongest; each infers what those before it do."""

CATALOGUE = "catalog-v001.xml"
"""A file that says which files stand for which locations (OASIS XML Catalogs 1.1: its `uri`
elements), as ontology editors write it."""
_CATALOGUES = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
_DOCUMENTS = (".rif", ".rifps")
_GRAPHS = tuple(f".{name}{packed}" for name in parsing.FORMATS for packed in ("", ".gz"))

_ENTAILMENT = "http://www.w3.org/ns/entailment/"
_GENERIC = "http://www.w3.org/2007/rif-import-profile#Generic"
_DIRECT = _ENTAILMENT + "OWL-Direct"
_BASED = _ENTAILMENT + "OWL-RDF-Based"
_PROFILES: dict[str, Regime] = {
    _GENERIC: "simple",
    _ENTAILMENT + "Simple": "simple",
    _ENTAILMENT + "RDF": "rdf",
    _ENTAILMENT + "RDFS": "rdfs",
    _ENTAILMENT + "D": "rdfs",
    _DIRECT: "owl-rl",
    _BASED: "owl-rl",
}
_ORDERS = (tuple(name for name in _PROFILES if name != _DIRECT), (_GENERIC, _DIRECT, _BASED))
"""Profiles that have an order, from the lowest (section 5.1.1). The generic profile, whose
meaning is left to the reader, is below all."""


def find(wanted: Import, at: Location) -> Path:
    """The file that an import, written in the file of `at`, means.

    A relative location is a file relative to that file, and so is what `file:` says. For any
    other, nothing is fetched: it is what the folder's `CATALOGUE` says, or the file beside the
    importing one that is called like the location's last part, its extension added. Raises
    `RequestError` that says what to do.
    """
    folder = Path(at.file).parent
    try:
        path = _path(wanted, folder)
        found = path is not None and path.is_file()
    except (OSError, ValueError) as error:  # as of a name that is too long
        reason = getattr(error, "strerror", None) or error
        message = f"<{wanted.location[:200]}> is no location of a file: {reason}"
        raise RequestError(at, "import", message) from None
    if path is None or not found:
        raise RequestError(at, "import", _not_found(wanted, path, folder))
    return path


def regime(profiles: Iterable[tuple[Import, Location]]) -> tuple[Regime | None, bool]:
    """The regime of the highest profile, and whether that is OWL 2 Direct Semantics.

    None without profiles. Raises `RequestError` for an unknown profile, and where none is
    the highest (section 5.2).
    """
    named = {_known(wanted.profile or "", at): at for wanted, at in profiles}
    if not named:
        return None, False
    for profile in named:
        if all(_is_below(other, profile) for other in named):
            return _PROFILES[profile], profile == _DIRECT
    first, second = next(pair for pair in combinations(named, 2) if _is_without_order(*pair))
    raise RequestError(named[second], "profile", _without_order(first, second))


def is_owl(wanted: Import) -> bool:
    """Whether the import is of an ontology, so that what the ontology imports belongs to it."""
    return wanted.profile in (_DIRECT, _BASED)


def _known(profile: str, at: Location) -> str:
    if profile in _PROFILES:
        return profile
    known = ", ".join(f"<{each}>" for each in _PROFILES)
    raise RequestError(
        at, "profile", f"<{profile}> is no profile of an import; expected one of {known}"
    )


def _is_below(profile: str, other: str) -> bool:
    """Whether a profile is the other one or below it."""
    return any(
        {profile, other} <= set(order) and order.index(profile) <= order.index(other)
        for order in _ORDERS
    )


def _is_without_order(profile: str, other: str) -> bool:
    return not _is_below(profile, other) and not _is_below(other, profile)


def _without_order(profile: str, other: str) -> str:
    return (
        f"the profiles <{profile}> and <{other}> do not go together: none is the highest, so "
        "what the imports mean is not defined; import both graphs with one of them"
    )


def _path(wanted: Import, folder: Path) -> Path | None:
    parts = urlsplit(wanted.location)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Path(url2pathname(parts.path))
    if len(parts.scheme) > 1:  # one letter is a drive
        return _catalogued(wanted, folder)
    return folder / wanted.location


def _catalogued(wanted: Import, folder: Path) -> Path | None:
    catalogue = folder / CATALOGUE
    listed = _catalogue(catalogue) if catalogue.is_file() else {}
    if wanted.location in listed:
        return listed[wanted.location]
    extensions = _DOCUMENTS if wanted.profile is None else _GRAPHS
    name = _last_part(wanted.location)
    beside = (folder / (name + extension) for extension in ("", *extensions) if name)
    return next(filter(Path.is_file, beside), None)


def _last_part(location: str) -> str:
    name = urlsplit(location).path.rstrip("/").rpartition("/")[2]
    return name if name.strip(".") else ""


def _catalogue(path: Path) -> Mapping[str, Path]:
    """What a catalogue maps; raises `RequestError` if it is no XML."""
    root = tree(Source(text_of(path), str(path)))
    return {
        uri["name"]: path.parent / url2pathname(urlsplit(uri["uri"]).path)
        for uri in _uris(root)
        if {"name", "uri"} <= uri.keys()
    }


def _uris(element: XmlElement) -> Iterator[Mapping[str, str]]:
    """The attributes of the `uri` elements in an element, and in the groups in it."""
    for child in element.children:
        if child.namespace == _CATALOGUES and child.name == "uri":
            yield child.attributes
        yield from _uris(child)


def _not_found(wanted: Import, path: Path | None, folder: Path) -> str:
    if path is not None:
        return f"<{wanted.location}> is to be imported, but there is no file `{path}`"
    name = _last_part(wanted.location) or "NAME"
    extension = ".rif" if wanted.profile is None else ".ttl"
    return (
        f"<{wanted.location}> is to be imported, and nothing is fetched from the network; save it "
        f"as `{folder / (name + extension)}`, or say in `{folder / CATALOGUE}` which file it is: "
        f'`<catalog xmlns="{_CATALOGUES}"><uri name="{wanted.location}" uri="FILE"/></catalog>`'
    )
