"""Reasoning over streams: C-ASP, plain LARS and RIF-Core, evaluated window by window.

This is the face of the library (docs/library.md): what it lists stays as it is. Behind it are
rooms that may change: `model`, `asp`, `rdf`, `engines`, `streams`, `partition`, `explain`, `run`
and `languages`, each importing only those before it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citywise.reasoning.engines.choosing import Choice, engine_for
    from citywise.reasoning.engines.clingo.guard import limited
    from citywise.reasoning.errors import (
        Finding,
        ItemError,
        Location,
        ReasoningError,
        RequestError,
        SolvingError,
        StateError,
    )
    from citywise.reasoning.languages.casp.parsing import parse, parse_file
    from citywise.reasoning.limits import LimitError, Limits
    from citywise.reasoning.model.engine import AnswerSet, Engine, Knowledge, WindowFacts
    from citywise.reasoning.model.request import KnowledgeSource, Request, Signature
    from citywise.reasoning.rdf.knowledge import Background, background
    from citywise.reasoning.rdf.mapping import Iri, Literal, Triple
    from citywise.reasoning.run.language import MisusedError, RecordedError, check, read
    from citywise.reasoning.run.reasoner import Reasoner, State
    from citywise.reasoning.run.recorded import Recorded
    from citywise.reasoning.run.requests import revising
    from citywise.reasoning.run.revision import Revising, Revision
    from citywise.reasoning.streams.items import Encoder, Item
    from citywise.reasoning.streams.recordings import Recording, write
    from citywise.reasoning.streams.results import Evaluation, Operator
    from citywise.reasoning.streams.revised import Line

_PLACES = {
    "citywise.reasoning.engines.choosing": ("Choice", "engine_for"),
    "citywise.reasoning.engines.clingo.guard": ("limited",),
    "citywise.reasoning.errors": (
        "Finding", "ItemError", "Location", "ReasoningError", "RequestError", "SolvingError",
        "StateError",
    ),
    "citywise.reasoning.languages.casp.parsing": ("parse", "parse_file"),
    "citywise.reasoning.limits": ("LimitError", "Limits"),
    "citywise.reasoning.model.engine": ("AnswerSet", "Engine", "Knowledge", "WindowFacts"),
    "citywise.reasoning.model.request": ("KnowledgeSource", "Request", "Signature"),
    "citywise.reasoning.rdf.knowledge": ("Background", "background"),
    "citywise.reasoning.rdf.mapping": ("Iri", "Literal", "Triple"),
    "citywise.reasoning.run.language": ("MisusedError", "RecordedError", "check", "read"),
    "citywise.reasoning.run.reasoner": ("Reasoner", "State"),
    "citywise.reasoning.run.recorded": ("Recorded",),
    "citywise.reasoning.run.requests": ("revising",),
    "citywise.reasoning.run.revision": ("Revising", "Revision"),
    "citywise.reasoning.streams.items": ("Encoder", "Item"),
    "citywise.reasoning.streams.recordings": ("Recording", "write"),
    "citywise.reasoning.streams.results": ("Evaluation", "Operator"),
    "citywise.reasoning.streams.revised": ("Line",),
}  # fmt: skip
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [  # noqa: RUF022 - in the order of docs/library.md
    "Request", "parse", "parse_file", "read", "check", "Finding", "Location",
    "Reasoner", "State", "Item", "Evaluation", "AnswerSet", "Recorded", "Recording", "write",
    "Operator", "Encoder", "revising", "Revising", "Line", "Revision",
    "Triple", "Iri", "Literal", "KnowledgeSource", "Knowledge", "Background", "background",
    "Limits", "limited", "engine_for", "Choice", "Engine", "WindowFacts", "Signature",
    "ReasoningError", "RequestError", "ItemError", "RecordedError", "MisusedError", "SolvingError",
    "StateError", "LimitError",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name from its room when it is asked for: a start pays for what it uses."""
    place = _PLACE_OF.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(place), name)
    globals()[name] = found
    return found
