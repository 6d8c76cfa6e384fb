"""Parameters that are numbers: range, step and unit, exact in decimals."""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import JsonValue, model_validator

from citywise.backend.packs.parameter import Argument, Parameter
from citywise.backend.packs.values import BadValueError, show
from citywise.reasoning.model import atoms

LONGEST_M = 50_000
"""Metres: the most where the author of a template sets no bound, as for areas."""


class NumberParameter(Parameter):
    """A number from `min` to `max` in steps of `step` from `min` (or 0), in `unit`.

    Metres go from 0 to 50,000 where `min` or `max` does not say otherwise.

    ASP knows integers only: where `step` or `min` have decimals, the fact holds the value
    times `scale`, 10 to the number of these decimals (`step = 0.5`: 1.5 gives 15).
    """

    type: Literal["number"]
    unit: str = ""
    min: int | float | None = None
    max: int | float | None = None
    step: int | float = 1

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.step <= 0:
            raise ValueError(f"step: found {self.step}, expected a number above 0")
        low, high = self._bounds
        if low > high:
            raise ValueError(self._is_empty(low, high))
        if low * self.scale < atoms.SMALLEST or high * self.scale > atoms.LARGEST:
            raise ValueError(f"min and max times {self.scale} must fit 32 bits; narrow them")
        if self.unit == "m" and self.scale > 1:
            raise ValueError("metres are whole numbers; write min and step without decimals")
        return self

    @cached_property
    def scale(self) -> int:
        """What a value is multiplied with in its fact: a power of ten."""
        return int(10 ** max(_decimals(self.step), _decimals(self.min or 0)))

    @property
    def lowest(self) -> int | float | None:
        """The least value, where there is a bound."""
        return 0 if self.min is None and self.unit == "m" else self.min

    @property
    def highest(self) -> int | float | None:
        """The greatest value, where there is a bound."""
        return LONGEST_M if self.max is None and self.unit == "m" else self.max

    @cached_property
    def _bounds(self) -> tuple[Decimal, Decimal]:
        low, high = self.lowest, self.highest
        return (
            Decimal(atoms.SMALLEST) / self.scale if low is None else _exact(low),
            Decimal(atoms.LARGEST) / self.scale if high is None else _exact(high),
        )

    def _is_empty(self, low: Decimal, high: Decimal) -> str:
        """What to say of a least value that is above the greatest."""
        if self.min is None or self.max is None:
            missing = "max" if self.max is None else "min"
            return f"metres go from {low} to {high} unless min and max say otherwise; add {missing}"
        return f"min {self.min} is above max {self.max}; exchange them"

    def one(self, value: JsonValue, path: str) -> JsonValue:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._fault(value, path, "write it without quotes")
        number, (low, high) = _exact(value), self._bounds
        if not number.is_finite():
            raise self._fault(value, path, "write a finite number")
        if not low <= number <= high:
            nearest = low if number < low else high
            raise self._fault(value, path, f"the nearest is {_plain(nearest)}")
        base, step = _exact(self.min or 0), _exact(self.step)
        if (number - base) % step:
            below = base + (number - base) // step * step
            raise self._fault(
                value, path, f"near it are {_plain(below)} and {_plain(below + step)}"
            )
        return _plain(number)

    def _fault(self, value: JsonValue, path: str, fix: str) -> BadValueError:
        low, high = self.lowest, self.highest
        words = ["a number" if self.scale > 1 else "a whole number"]
        if low is not None or high is not None:
            words.append(_range(low, high))
        if self.step != 1:
            words.append(f"in steps of {self.step}")
        if self.unit:
            words.append(f"({self.unit})")
        return BadValueError(path, show(value), " ".join(words), fix)

    def arguments(self, value: Any) -> tuple[Argument, ...]:
        return (int(_exact(value) * self.scale),)

    def item_schema(self) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "number" if self.scale > 1 else "integer"}
        if self.lowest is not None:
            found["minimum"] = self.lowest
        if self.highest is not None:
            found["maximum"] = self.highest
        # JSON Schema divides binary fractions: of 0.3 it says that 0.1 does not divide it.
        if self.scale == 1 and not (self.min or 0) % self.step:
            found["multipleOf"] = self.step
        return {**found, "x-step": self.step, **({"x-unit": self.unit} if self.unit else {})}


def _exact(value: float) -> Decimal:
    """The decimal that was written, not the binary fraction next to it."""
    return Decimal(str(value))


def _plain(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _decimals(value: float) -> int:
    exponent = _exact(value).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return f"of at most {high}"
    return f"of at least {low}" if high is None else f"from {low} to {high}"
