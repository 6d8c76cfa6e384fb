"""Parameters that are numbers: range, step and unit, exact in decimals."""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import JsonValue, model_validator

from backend.packs.parameter import Argument, Parameter
from backend.packs.values import BadValueError, show
from reasoning import atoms


class NumberParameter(Parameter):
    """A number from `min` to `max` in steps of `step` from `min` (or 0), in `unit`.

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
            raise ValueError(f"min {self.min} is above max {self.max}; exchange them")
        if low * self.scale < atoms.SMALLEST or high * self.scale > atoms.LARGEST:
            raise ValueError(f"min and max times {self.scale} must fit 32 bits; narrow them")
        if self.unit == "m" and self.scale > 1:
            raise ValueError("metres are whole numbers; write min and step without decimals")
        return self

    @cached_property
    def scale(self) -> int:
        """What a value is multiplied with in its fact: a power of ten."""
        return int(10 ** max(_decimals(self.step), _decimals(self.min or 0)))

    @cached_property
    def _bounds(self) -> tuple[Decimal, Decimal]:
        low = Decimal(atoms.SMALLEST) / self.scale if self.min is None else _exact(self.min)
        high = Decimal(atoms.LARGEST) / self.scale if self.max is None else _exact(self.max)
        return low, high

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
        low, high = self.min, self.max
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
        if self.min is not None:
            found["minimum"] = self.min
        if self.max is not None:
            found["maximum"] = self.max
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
