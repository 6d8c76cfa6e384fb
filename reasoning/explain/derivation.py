"""Well-founded derivations: for each atom of a model the cheapest rule instance behind it.

Atoms are derived from the given ones upwards, each by an instance whose positive atoms
were all derived before it; among these the one whose whole derivation has the fewest
steps (Knuth's generalisation of Dijkstra's algorithm, 1977). What aggregates and
conditional literals counted comes before the atom too. Where that is impossible, because
an aggregate is recursive, it is enough that the body holds over what has been derived:
the atoms so derived satisfy the reduct, and a stable model is minimal among those, so
every atom is reached (Definitions 2.12-2.14).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable

from clingo import Symbol

from reasoning.explain.instances import Instance


class Derivations:
    """What derives each atom of a model, without circles.

    `support` holds an instance for each derived atom, `order` the place at which each
    atom was reached; atoms that nothing derives are in neither.
    """

    def __init__(self, instances: Iterable[Instance], given: Iterable[Symbol]) -> None:
        self.support: dict[Symbol, Instance] = {}
        self.order: dict[Symbol, int] = {}
        self._costs: dict[Symbol, int] = {}
        self._queue: list[tuple[int, int]] = []
        self._instances = list(instances)
        self._missing: list[int] = []
        self._sums = [0] * len(self._instances)
        self._waiting: dict[Symbol, list[int]] = {}
        for number, instance in enumerate(self._instances):
            self._enter(number, instance.needs())
        for atom in given:
            self._reach(atom, 1)
        self._settle()

    def assume(self, atoms: Collection[Symbol]) -> None:
        """Take atoms as given that nothing explains, and derive what rests on them."""
        for atom in atoms:
            self._reach(atom, 1)
        self._settle()

    def cost(self, instance: Instance) -> int:
        """Steps of the derivation of an instance's atoms."""
        return sum(self._costs.get(atom, 0) for atom in instance.needs())

    def _enter(self, number: int, needs: set[Symbol]) -> None:
        self._missing.append(len(needs))
        for atom in needs:
            self._waiting.setdefault(atom, []).append(number)
        if not needs:
            heapq.heappush(self._queue, (1, number))

    def _reach(self, atom: Symbol, cost: int) -> None:
        """`atom` is derived: instances that wait for nothing else are ready."""
        if atom in self.order:
            return
        self.order[atom], self._costs[atom] = len(self.order), cost
        for number in self._waiting.get(atom, ()):
            self._missing[number] -= 1
            self._sums[number] += cost
            if not self._missing[number]:
                heapq.heappush(self._queue, (self._sums[number] + 1, number))

    def _settle(self) -> None:
        self._run()
        while self._release():
            self._run()

    def _run(self) -> None:
        while self._queue:
            cost, number = heapq.heappop(self._queue)
            instance = self._instances[number]
            if instance.head not in self.order:
                self.support[instance.head] = instance
                self._reach(instance.head, cost)

    def _release(self) -> bool:
        """Let through instances that hold already over what has been derived."""
        derived = set(self.order)
        found = [
            number
            for number, instance in enumerate(self._instances)
            if self._missing[number] and instance.counted and instance.head not in derived
            if instance.holds_over(derived)
        ]
        for number in found:
            heapq.heappush(self._queue, (self._sums[number] + 1, number))
        return bool(found)
