"""Small numbers for names, so that arrays can be indexed by them."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Kind = TypeVar("Kind", bound=np.generic)


class Slots:
    """Names and their numbers; a released number is given out again."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._slots: dict[str, int] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        """One more than the largest number ever given out."""
        return len(self.names)

    def of(self, name: str) -> int:
        """The name's number, a new one if it has none."""
        slot = self._slots.get(name)
        if slot is None:
            slot = self._free.pop() if self._free else len(self.names)
            self.names[slot : slot + 1] = [name]
            self._slots[name] = slot
        return slot

    def get(self, name: str) -> int | None:
        """The name's number, if it has one."""
        return self._slots.get(name)

    def release(self, slot: int) -> None:
        """Forget a number's name."""
        if self._slots.pop(self.names[slot], None) is not None:
            self._free.append(slot)


def grown(array: npt.NDArray[Kind], size: int) -> npt.NDArray[Kind]:
    """The array, if need be in a larger one (zeros behind) that has room for `size`."""
    if len(array) >= size:
        return array
    larger = np.zeros(max(size, 2 * len(array), 64), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def marked(slots: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.bool_]:
    """An array of `size` that is true at the slots."""
    marks = np.zeros(size, dtype=bool)
    marks[slots] = True
    return marks
