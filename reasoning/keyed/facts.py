"""Facts that stand until they change, by the entity they are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Facts that come and go together: one `atom.` a line, and the entities they name."""

    text: str
    names: tuple[str, ...] = ()


_NOTHING = Group("")


class StandingFacts:
    """Facts by entity, and which entities name which.

    Entities are terms of ASP as text. `changed` are those whose facts changed since it was
    emptied; the caller empties it.
    """

    def __init__(self) -> None:
        self._facts: dict[str, dict[Hashable, Group]] = {}
        self._named_by: dict[str, dict[str, int]] = defaultdict(dict)
        self.changed: set[str] = set()

    def put(
        self, entity: str, group: Hashable, facts: Iterable[str], names: Iterable[str] = ()
    ) -> None:
        """Let a group of an entity's facts be these atoms from now on; none removes it.

        `names` are the other entities the atoms name.
        """
        text = "".join(f"{fact}.\n" for fact in facts)
        new = Group(text, tuple(names)) if text else _NOTHING
        groups = self._facts.setdefault(entity, {})
        old = groups.get(group, _NOTHING)
        if new == old:
            return
        self.changed.add(entity)
        if new.text:
            groups[group] = new
        else:
            del groups[group]
            if not groups:
                del self._facts[entity]
        self._rename(entity, old.names, new.names)

    def _rename(self, entity: str, before: Sequence[str], after: Sequence[str]) -> None:
        for name in before:
            known = self._named_by[name]
            known[entity] -= 1
            if not known[entity]:
                del known[entity]
                if not known:
                    del self._named_by[name]
        for name in after:
            known = self._named_by[name]
            known[entity] = known.get(entity, 0) + 1

    def groups(self, entity: str) -> list[Hashable]:
        """The groups of facts there are about an entity."""
        return list(self._facts.get(entity, ()))

    def names(self, entity: str) -> set[str]:
        """The entities that the facts about an entity name."""
        return {name for group in self._facts.get(entity, {}).values() for name in group.names}

    def forget(self, entity: str) -> None:
        """Remove all facts about an entity."""
        for group in self.groups(entity):
            self.put(entity, group, ())

    def reaching(self, entities: Iterable[str]) -> set[str]:
        """The entities from which any of some can be reached, themselves included."""
        found = set(entities)
        queue = list(found)
        for entity in queue:
            new = [name for name in self._named_by.get(entity, ()) if name not in found]
            found.update(new)
            queue += new
        return found

    def reached(self, entities: Iterable[str]) -> set[str]:
        """The entities with facts that can be reached from some, themselves included."""
        found = {entity for entity in entities if entity in self._facts}
        queue = list(found)
        for entity in queue:
            for group in self._facts[entity].values():
                new = [n for n in group.names if n in self._facts and n not in found]
                found.update(new)
                queue += new
        return found

    def text(self, entities: Iterable[str]) -> Iterator[str]:
        """The facts about entities, as text."""
        for entity in entities:
            for group in self._facts.get(entity, {}).values():
                yield group.text

    @property
    def entities(self) -> Iterable[str]:
        """All entities that facts are about."""
        return self._facts.keys()
