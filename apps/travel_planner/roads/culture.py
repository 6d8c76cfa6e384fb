"""Cultural events and library venues of the Aarhus pack, as named points."""

from __future__ import annotations

import gzip
import re
from datetime import datetime
from pathlib import Path

import rdflib
from rdflib import RDF, Graph
from rdflib.plugins.parsers.notation3 import BadSyntax
from rdflib.term import Node

from citywise.apps.travel_planner.roads.gazetteer import Entry
from citywise.backend.city.aarhus import RESTORE, PackError, utc_ms

CT = rdflib.Namespace("http://www.insight-centre.org/citytraffic#")
SAO = rdflib.Namespace("http://purl.oclc.org/NET/sao/")
SSN = rdflib.Namespace("http://purl.oclc.org/NET/ssnx/ssn#")
TL = rdflib.Namespace("http://purl.org/NET/c4dm/timeline.owl#")

EVENTS, LIBRARIES = "AarhusCulturalEvents.n3.gz", "AarhusLibraryEvents.n3.gz"

KNOWN = (
    "Åby", "Egå", "Hjortshøj", "Højbjerg", "Skødstrup", "Caféen", "Fløjteaften", "Fröst",
    "Klarinetmatiné", "Knægte", "Koncertcafé", "Blå", "Lørdagskoncert", "Mørk", "Nørgård",
    "prædebut", "Rønnow", "Skatteøen", "Slagtøjskoncert", "små", "Svanesøen",
)  # fmt: skip
"""Words with letters that the pack's text lost: each stands in it as `?`."""

_TITLE = re.compile(r"Title:\s*(.*?)\s+Price:")
_LOST = re.compile(r"[^\W\d_]*\?[\w?]*")


def repaired(text: str) -> str:
    """A text in which every word that lost Danish letters to `?` is as it was, where the word
    is known; the others stay as they are, so that nothing is made up."""
    return _LOST.sub(lambda found: _word(found.group()), text)


def _word(lost: str) -> str:
    pattern = re.compile(re.escape(lost).replace(r"\?", r"[^\x00-\x7f]"), re.IGNORECASE)
    return next((word for word in KNOWN if pattern.fullmatch(word)), lost)


def events(folder: Path) -> list[Entry]:
    """The cultural events with their time; none where the pack has no such file."""
    graph = _graph(folder / EVENTS)
    entries = []
    for point in sorted(graph.subjects(RDF.type, SAO.Point), key=str):
        title = _TITLE.search(str(graph.value(point, SAO.value)))
        venue = _venue(graph, graph.value(point, SSN.featureOfInterest))
        begins = graph.value(graph.value(point, SAO.time), TL.at)
        if title and venue and begins:
            time = utc_ms(datetime.fromisoformat(str(begins)))
            name = repaired(title[1])
            identity = f"event:{str(point).rpartition('_')[2]}"
            entries.append(Entry(identity, name, "event", *venue[1], venue[0], time))
    return entries


def venues(folder: Path) -> list[Entry]:
    """The halls of the cultural events and the libraries, each once."""
    halls = _places(_graph(folder / EVENTS))
    libraries = {
        f"Bibliotek {name}": at for name, at in _places(_graph(folder / LIBRARIES)).items()
    }
    return [
        Entry(f"venue:{number}", name, "venue", *at)
        for number, (name, at) in enumerate(sorted((halls | libraries).items()), 1)
    ]


def _places(graph: Graph) -> dict[str, tuple[float, float]]:
    features = sorted(graph.subjects(RDF.type, SAO.FeatureOfInterest), key=str)
    return dict(venue for feature in features if (venue := _venue(graph, feature)))


def _venue(graph: Graph, feature: Node | None) -> tuple[str, tuple[float, float]] | None:
    node = feature and graph.value(feature, CT.hasFirstNode)
    name, lon, lat = (
        graph.value(node, CT[f"has{each}"]) for each in ("NodeName", "Longitude", "Latitude")
    )
    if name is None or lon is None or lat is None:
        return None
    return repaired(str(name)), (float(str(lon)), float(str(lat)))


def _graph(path: Path) -> Graph:
    """The triples of a gzipped N3 file, none if it is not there; raises `PackError`."""
    graph = Graph()
    try:
        with gzip.open(path) as file:
            return graph.parse(data=file.read(), format="turtle")
    except FileNotFoundError:
        return graph
    except (OSError, EOFError, BadSyntax) as error:
        raise PackError(f"{path}: not readable as N3: {error}; {RESTORE}") from error
