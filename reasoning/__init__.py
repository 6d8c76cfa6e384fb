"""Reasoning over streams: C-ASP, plain LARS and RIF-Core, evaluated window by window.

This is the face of the library (docs/library.md): what it lists stays as it is. Behind it are
rooms that may change: `model`, `asp`, `rdf`, `engines`, `streams`, `partition`, `explain`, `run`
and `languages`, each importing only those before it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reasoning.engines.choosing import Choice, engine_for
    from reasoning.engines.limited import limited
    from reasoning.errors import (
        Finding,
        ItemError,
        Location,
        ReasoningError,
        RequestError,
        SolvingError,
    )
    from reasoning.languages.casp.parsing import parse, parse_file
    from reasoning.limits import LimitError, Limits
    from reasoning.model.engine import AnswerSet, Engine, Knowledge, WindowFacts
    from reasoning.model.request import KnowledgeSource, Request, Signature
    from reasoning.rdf.knowledge import Background, background
    from reasoning.rdf.mapping import Iri, Literal, Triple
    from reasoning.run.language import RecordedError, check, read
    from reasoning.run.reasoner import Reasoner, State
    from reasoning.run.recorded import Recorded
    from reasoning.streams.items import Encoder, Item
    from reasoning.streams.recordings import Recording, write
    from reasoning.streams.results import Evaluation, Operator

_PLACES = {
    "reasoning.engines.choosing": ("Choice", "engine_for"),
    "reasoning.engines.limited": ("limited",),
    "reasoning.errors": (
        "Finding", "ItemError", "Location", "ReasoningError", "RequestError", "SolvingError",
    ),
    "reasoning.languages.casp.parsing": ("parse", "parse_file"),
    "reasoning.limits": ("LimitError", "Limits"),
    "reasoning.model.engine": ("AnswerSet", "Engine", "Knowledge", "WindowFacts"),
    "reasoning.model.request": ("KnowledgeSource", "Request", "Signature"),
    "reasoning.rdf.knowledge": ("Background", "background"),
    "reasoning.rdf.mapping": ("Iri", "Literal", "Triple"),
    "reasoning.run.language": ("RecordedError", "check", "read"),
    "reasoning.run.reasoner": ("Reasoner", "State"),
    "reasoning.run.recorded": ("Recorded",),
    "reasoning.streams.items": ("Encoder", "Item"),
    "reasoning.streams.recordings": ("Recording", "write"),
    "reasoning.streams.results": ("Evaluation", "Operator"),
}  # fmt: skip
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [  # noqa: RUF022 - in the order of docs/library.md
    "Request", "parse", "parse_file", "read", "check", "Finding", "Location",
    "Reasoner", "State", "Item", "Evaluation", "AnswerSet", "Recorded", "Recording", "write",
    "Operator", "Encoder",
    "Triple", "Iri", "Literal", "KnowledgeSource", "Knowledge", "Background", "background",
    "Limits", "limited", "engine_for", "Choice", "Engine", "WindowFacts", "Signature",
    "ReasoningError", "RequestError", "ItemError", "RecordedError", "SolvingError", "LimitError",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name from its room when it is asked for: a start pays for what it uses."""
    place = _PLACE_OF.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(place), name)
    globals()[name] = found
    return found
