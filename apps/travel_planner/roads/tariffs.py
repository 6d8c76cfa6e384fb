"""What parking costs."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

_DAY_MINUTES = 24 * 60


@dataclass(frozen=True)
class Tariff:
    """The price rule of a garage: each hour begun, with a most for 24 hours."""

    per_hour: float
    day_most: float | None = None
    """The most that 24 hours cost; None: there is no such limit."""
    free_minutes: float = 0
    """Who stays no longer pays nothing; who stays longer pays for the time after them."""
    currency: str = "DKK"
    assumed: bool = False
    """Nobody has said the price: it is what the settings assume."""

    def cost(self, stay_minutes: float) -> float:
        """What a stay of some minutes costs, in `currency`."""
        days, rest = divmod(max(stay_minutes - self.free_minutes, 0.0), _DAY_MINUTES)
        return days * self._part(_DAY_MINUTES) + self._part(rest)

    def _part(self, minutes: float) -> float:
        price = ceil(minutes / 60) * self.per_hour
        return price if self.day_most is None else min(price, self.day_most)


ASSUMED = Tariff(per_hour=20.0, day_most=160.0, assumed=True)
"""Where neither the garage nor the settings say one."""
