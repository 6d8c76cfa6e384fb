"""Items and values as what JSON can hold, and back: exactly what they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citywise.reasoning.rdf.mapping import Blank, Iri, Literal, Term, Triple
from citywise.reasoning.streams.items import Item

_SORTS: dict[str, type[Iri | Blank | Literal]] = {"i": Iri, "b": Blank, "l": Literal}
_SORT_OF = {kind: sort for sort, kind in _SORTS.items()}


def item_to_json(item: Item) -> list[Any]:
    """An item as a list that `item_from_json` reads."""
    content: Any = item.content
    if not isinstance(content, str):
        content = [[_term_to_json(term) for term in triple] for triple in content]
    return [item.time, content, item.position, item.until, item.stream]


def item_from_json(values: Sequence[Any]) -> Item:
    """The item that `item_to_json` wrote."""
    time, content, position, until, stream = values
    if not isinstance(content, str):
        content = tuple(Triple(*map(_term_from_json, triple)) for triple in content)
    return Item(time, content, position, until, stream)


def _term_to_json(term: Term) -> list[Any]:
    return [_SORT_OF[type(term)], *term]


def _term_from_json(values: Sequence[Any]) -> Any:
    # The labels of blank nodes as well: a text of RDF would give them scopes of their own.
    sort, *parts = values
    return _SORTS[sort](*parts)


def listed(value: Any) -> Any:
    """Tuples within tuples as lists."""
    return [listed(each) for each in value] if isinstance(value, tuple | list) else value


def tupled(value: Any) -> Any:
    """Lists within lists as tuples."""
    return tuple(tupled(each) for each in value) if isinstance(value, tuple | list) else value
