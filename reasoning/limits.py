"""What an evaluation may use, and the error when it wants more (docs/reason.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from citywise.reasoning.errors import SolvingError


@dataclass(frozen=True)
class Limits:
    """Bounds on one evaluation of one request."""

    seconds: float = 60.0
    """CPU time of grounding and solving together, so that it says what is too expensive on a
    machine that does much else, too."""
    megabytes: int = 4096
    """Resident memory of a process that evaluates; what it gains where it evaluates others too."""
    atoms: int = 10_000_000
    """Ground atoms."""
    models: int = 100_000
    """Answer sets, where not fewer were asked for."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value > 0:
                raise ValueError(f"limit `{name}` must be more than 0, not {value}")


UNLIMITED = Limits(seconds=1e9, megabytes=10**9, atoms=2**31, models=10**9)


def patience_s(seconds: float) -> float:
    """Wall time to wait for what may use so many seconds of CPU: far more, because a loaded
    machine gives it little, but not for ever, because it may hang without using any."""
    return 20 * seconds + 60


class LimitError(SolvingError):
    """An evaluation was stopped at a limit; the message says which, and what grew."""

    limit: str = ""
    """Which limit, in words; empty if it is not `exceeded` that made the error."""
    grown: Mapping[str, int] = {}
    """The predicates with most ground atoms, and their numbers."""
    seconds: float = 0.0
    """CPU time it had taken in other processes, of the one that took most."""


class TooManyAnswersError(LimitError):
    """An evaluation has more answer sets than allowed: so it has, however it is evaluated."""


def too_long(seconds: float) -> str:
    """That an evaluation took more than so many seconds, in words."""
    return f"it took more than {seconds:g} s"


def too_large(megabytes: int) -> str:
    """That an evaluation used more than so much memory, in words."""
    return f"it used more than {megabytes:,} MB"


def exceeded(name: str, limit: str, phase: str, grown: Mapping[str, int]) -> LimitError:
    """The error for request `name`, stopped at `limit` while it was in `phase`.

    `grown` are the predicates with most ground atoms and their numbers.
    """
    most = ", ".join(f"{predicate} ({count:,} atoms)" for predicate, count in grown.items())
    grew = f"; what grew: {most}" if most else ""
    error = LimitError(f"request `{name}` was stopped in {phase}: {limit}{grew}")
    error.limit, error.grown = limit, grown
    return error


def too_many(name: str, most: int) -> TooManyAnswersError:
    """The error for request `name`, which has more than `most` answer sets."""
    limit = f"it has more than {most:,} answer sets; add constraints or ask for fewer"
    return TooManyAnswersError(str(exceeded(name, limit, "solving", {})))
