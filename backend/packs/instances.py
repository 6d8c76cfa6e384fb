"""The instances of a template, and what is looked up by them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citywise.backend.packs.notices import Owner
from citywise.backend.packs.template import TemplateVersion, Values
from citywise.backend.space import Area
from citywise.reasoning.rdf.mapping import quote


@dataclass(frozen=True)
class Instance:
    """An instance, ready for facts."""

    id: str
    body: Mapping[str, Any]
    """As it stands in the log."""
    user: str
    key: str
    """Its term: `Me`."""
    traveller: str
    """Who goes its way: the user, or nobody but this instance, if the way is its own."""
    radii: tuple[int, ...]
    """In metres, the smallest first: for which near things are told."""
    areas: Mapping[str, list[Area]]
    spans: Mapping[str, list[tuple[int, int]]]
    route: list[list[float]] | None
    """A way of its own."""
    places: Sequence[tuple[str, str]] = ()
    """Parameters and the ids of the places that they name."""

    @classmethod
    def of(
        cls, key: str, body: Mapping[str, Any], template: TemplateVersion, values: Values
    ) -> Instance:
        """An instance from its entry in the log and its bound values."""
        route = template.route(values)
        return cls(
            id=key,
            body=body,
            user=body["user"],
            key=quote(key),
            traveller=f"#{key}" if route else body["user"],
            radii=tuple(sorted(template.radii | template.thresholds(values))),
            areas={n: [Area.of(a) for a in v] for n, v in template.areas(values).items()},
            spans=template.spans(values),
            route=route,
            places=[(name, place) for name, place, _kind in template.named_places(values)],
        )


class Instances:
    """The instances there are, and those there were until `forget_gone`."""

    def __init__(self) -> None:
        self._all: dict[str, Instance] = {}
        self._of_user: dict[str, set[str]] = defaultdict(set)
        self._of_traveller: dict[str, set[str]] = defaultdict(set)
        self._with_spans: set[str] = set()
        self._gone: dict[str, Owner] = {}

    def get(self, key: str) -> Instance | None:
        """The instance of an id."""
        return self._all.get(key)

    def add(self, instance: Instance) -> None:
        """There is an instance from now on."""
        self._all[instance.id] = instance
        self._of_user[instance.user].add(instance.id)
        self._of_traveller[instance.traveller].add(instance.id)
        if instance.spans:
            self._with_spans.add(instance.id)

    def remove(self, instance: Instance) -> None:
        """There is an instance no longer."""
        del self._all[instance.id]
        for index, name in (
            (self._of_user, instance.user),
            (self._of_traveller, instance.traveller),
        ):
            index[name].discard(instance.id)
            if not index[name]:
                del index[name]
        self._with_spans.discard(instance.id)
        self._gone[instance.key] = Owner(instance.id, instance.user)

    def of_user(self, user: str) -> Iterator[Instance]:
        """A user's instances."""
        return self._instances(self._of_user.get(user, ()))

    def of_traveller(self, traveller: str) -> Iterator[Instance]:
        """The instances that are about a traveller's way."""
        return self._instances(self._of_traveller.get(traveller, ()))

    @property
    def with_spans(self) -> Iterator[Instance]:
        """The instances that are about times of the day."""
        return self._instances(self._with_spans)

    def owner(self, key: str) -> Owner:
        """Instance and user of a term."""
        instance = self._all.get(key[1:-1])
        return Owner(instance.id, instance.user) if instance else self._gone[key]

    def forget_gone(self) -> None:
        """Forget those that are no more."""
        self._gone.clear()

    def _instances(self, keys: Iterable[str]) -> Iterator[Instance]:
        return (self._all[key] for key in sorted(keys))
