"""Bounds of constraints in whole thousandths, and how far they have to move for a value."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from citywise.apps.travel_planner.decisions.question import LARGEST, Constraint, Op

_THOUSAND = Decimal(1000)
_DECIMALS = 3
_HALF = Decimal("0.5")
_FINEST = Decimal("0.001")
_BEYOND = Decimal(LARGEST + 1)
"""More than any value, also when one is rounded."""


def thousandths(value: float) -> int:
    """A value as the rules compare it."""
    return round(value * 1000)


def bounds(constraint: Constraint) -> tuple[tuple[Op, int], ...]:
    """What a value in whole thousandths has to be, exactly: comparisons that must all hold."""
    value, op = _decimal(constraint.value), constraint.op
    if op == "=":
        unit = _unit(value)
        value = _rounded(_limited(value), unit)
        return (">=", _whole(value - unit / 2, up=True)), ("<", _whole(value + unit / 2, up=True))
    return ((op, _whole(value, up=op in ("<", ">="))),)


def needed(constraint: Constraint, value: float, step: float | None) -> Decimal:
    """The bound nearest to the constraint's own with which `value` meets it.

    It is a multiple of `step`, or of a thousandth; of `=` it is the value as rounded.
    """
    exact = Decimal(thousandths(value)) / _THOUSAND
    if constraint.op == "=":
        return _rounded(exact, _unit(_decimal(constraint.value)))
    unit = _FINEST if step is None else _decimal(step)
    rounding = ROUND_CEILING if constraint.op in ("<=", ">") else ROUND_FLOOR
    bound = (exact / unit).quantize(Decimal(1), rounding) * unit
    return bound + {"<": unit, ">": -unit}.get(constraint.op, Decimal(0))


def change(constraint: Constraint, bound: Decimal) -> Decimal:
    """How far a bound is from the constraint's own, relative to that; 1 if that is 0."""
    value = _decimal(constraint.value)
    return abs((bound - value) / value) if value else Decimal(1)


def _decimal(value: float) -> Decimal:
    """A number as it is written, not as it is stored."""
    return Decimal(str(float(value)))


def _unit(value: Decimal) -> Decimal:
    """What the last decimal that a number is written with counts; at least a thousandth."""
    places = -int(value.normalize().as_tuple().exponent)
    return Decimal(1).scaleb(-min(max(places, 0), _DECIMALS))


def _rounded(value: Decimal, unit: Decimal) -> Decimal:
    """The nearest multiple of a unit; of two the larger, also below 0."""
    return (value / unit + _HALF).to_integral_value(ROUND_FLOOR) * unit


def _whole(value: Decimal, *, up: bool) -> int:
    """Thousandths, rounded up or down."""
    exact = _limited(value) * _THOUSAND
    return int(exact.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))


def _limited(value: Decimal) -> Decimal:
    return max(-_BEYOND, min(_BEYOND, value))
