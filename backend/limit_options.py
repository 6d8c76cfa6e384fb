"""The options that limit what a command may spend: CPU time, memory, ground atoms."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from citywise.reasoning import Limits, budget

_SUBJECTS = "program", "path", "document", "request", "app", "data"
"""What a command is about: the first of its arguments that is given."""
COUNT = click.IntRange(1, 2**31 - 1)


class Seconds(click.FloatRange):
    """A time to wait at most."""

    def __init__(self) -> None:
        super().__init__(min=0.001, max=1_000_000)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"`{value}` is not a number of seconds", param, ctx)
        return seconds


LIMITS = (
    click.option(
        "--time-limit",
        type=Seconds(),
        default=60,
        show_default=True,
        help="Seconds of CPU time for one evaluation, or to read one file.",
    ),
    click.option(
        "--memory-limit",
        type=COUNT,
        default=4096,
        show_default=True,
        help="Megabytes for one evaluation, or to read one file.",
    ),
    click.option(
        "--atom-limit",
        type=COUNT,
        default=10_000_000,
        show_default=True,
        help="Ground atoms of one evaluation.",
    ),
)


def limits(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options."""
    for add in reversed(LIMITS):
        command = add(command)
    return command


def metered(command: Callable[..., None]) -> Callable[..., None]:
    """The limits on time and memory hold for the whole command, from the first byte it reads:
    for each file, each evaluation, and each inference."""

    @wraps(command)
    def within_limits(**given: Any) -> None:
        most = Limits(given["time_limit"], given["memory_limit"])
        what = next(str(given[name]) for name in _SUBJECTS if given.get(name))
        with budget.metered(most, say, what):
            command(**given)

    return within_limits


def bounded(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a command that evaluates nothing: it does not take the limits itself."""

    @wraps(command)
    def without_limits(time_limit: float, memory_limit: int, **given: Any) -> None:  # noqa: ARG001
        command(**given)

    found = metered(without_limits)
    for add in reversed(LIMITS[:2]):
        found = add(found)
    return found


def say(text: str) -> None:
    """Tell something besides results."""
    click.echo(f"citywise: {text}", err=True)
