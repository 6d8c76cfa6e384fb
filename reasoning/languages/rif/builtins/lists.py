"""Built-ins on lists (W3C RIF-DTB, 4.11); places count from 0, negative ones from the end."""

from __future__ import annotations

from collections.abc import Callable

from citywise.reasoning.model.values import Value


def _is_list(value: Value) -> bool:
    return isinstance(value, tuple)


def _contains(items: Value, item: Value) -> bool:
    return isinstance(items, tuple) and item in items[1:]


def _make_list(*items: Value) -> Value:
    return ("", *items)


def _count(items: Value) -> Value | None:
    return len(items) - 1 if isinstance(items, tuple) else None


def _place(items: tuple[Value, ...], place: Value) -> int | None:
    """Where in the tuple the item of a place is; None if there is none."""
    count = len(items) - 1
    if not isinstance(place, int) or not -count <= place < count:
        return None
    return place + 1 if place >= 0 else place + count + 1


def _get(items: Value, place: Value) -> Value | None:
    at = _place(items, place) if isinstance(items, tuple) else None
    return None if at is None else items[at]  # type: ignore[index]


def _sublist(items: Value, start: Value, stop: Value | None = None) -> Value | None:
    """The items from `start` to before `stop`, which may lie after the end."""
    if not isinstance(items, tuple) or not isinstance(start, int):
        return None
    count = len(items) - 1
    end = count if stop is None else stop
    if not isinstance(end, int) or not -count <= start <= count or end < -count:
        return None
    return ("", *items[1:][start:end])


def _append(items: Value, *more: Value) -> Value | None:
    return (*items, *more) if isinstance(items, tuple) else None


def _concatenate(*lists: Value) -> Value | None:
    if not all(isinstance(items, tuple) for items in lists):
        return None
    return ("", *(item for items in lists for item in items[1:]))  # type: ignore[index]


def _insert_before(items: Value, place: Value, item: Value) -> Value | None:
    at = _place(items, place) if isinstance(items, tuple) else None
    return None if at is None else (*items[:at], item, *items[at:])  # type: ignore[index]


def _remove(items: Value, place: Value) -> Value | None:
    at = _place(items, place) if isinstance(items, tuple) else None
    return None if at is None else (*items[:at], *items[at + 1 :])  # type: ignore[index]


def _reverse(items: Value) -> Value | None:
    return ("", *items[:0:-1]) if isinstance(items, tuple) else None


def _index_of(items: Value, item: Value) -> Value | None:
    if not isinstance(items, tuple):
        return None
    return ("", *(place for place, found in enumerate(items[1:]) if found == item))


def _distinct(items: Value) -> Value | None:
    return ("", *dict.fromkeys(items[1:])) if isinstance(items, tuple) else None


def _union(*lists: Value) -> Value | None:
    together = _concatenate(*lists)
    return None if together is None else _distinct(together)


def _intersect(first: Value, second: Value, *more: Value) -> Value | None:
    if not all(isinstance(items, tuple) for items in (first, second, *more)):
        return None
    others = [items[1:] for items in (second, *more)]  # type: ignore[index]
    return ("", *(item for item in first[1:] if all(item in items for items in others)))  # type: ignore[index]


def _except(left: Value, right: Value) -> Value | None:
    if not isinstance(left, tuple) or not isinstance(right, tuple):
        return None
    return ("", *(item for item in left[1:] if item not in right[1:]))


FUNCTIONS: dict[str, Callable[..., Value | None]] = {
    "make-list": _make_list,
    "count": _count,
    "get": _get,
    "sublist": _sublist,
    "append": _append,
    "concatenate": _concatenate,
    "insert-before": _insert_before,
    "remove": _remove,
    "reverse": _reverse,
    "index-of": _index_of,
    "union": _union,
    "distinct-values": _distinct,
    "intersect": _intersect,
    "except": _except,
}
PREDICATES: dict[str, Callable[..., bool]] = {"is-list": _is_list, "list-contains": _contains}
