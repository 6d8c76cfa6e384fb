"""Messages between a guard and its worker: frames on a pipe, setups and answer sets in them.

Large answers travel in pieces, so that neither side holds their whole text twice.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from citywise.reasoning.limits import Limits
from citywise.reasoning.model.engine import AnswerSet, AspProgram
from citywise.reasoning.model.request import Signature

_HEADER = 8
_CHUNK = 1 << 20
_LONGEST_S = 3600.0
"""One wait: `poll` counts milliseconds in 32 bits, which is less than no limit at all."""


class EndedError(Exception):
    """The other side closed its end."""


class OverdueError(Exception):
    """No whole message came in time."""


def send(descriptor: int, message: Any) -> None:
    """Write one message as JSON; raises `EndedError` if nobody reads."""
    send_text(descriptor, orjson.dumps(message))


def send_text(descriptor: int, body: bytes) -> None:
    """Write one message; raises `EndedError` if nobody reads."""
    header = len(body).to_bytes(_HEADER, "big")
    try:
        # Header and beginning go out together, so that most messages wake the reader once; the
        # rest of a large one is not copied.
        for part in (header + body[:_CHUNK], memoryview(body)[_CHUNK:]):
            # A pipe takes what fits: `write` may stop anywhere.
            data = memoryview(part)
            while data:
                data = data[os.write(descriptor, data) :]
    except OSError as error:
        raise EndedError from error


def receive(descriptor: int, seconds: float | None = None) -> Any:
    """Read one message in JSON, waiting at most `seconds`; raises `EndedError` or
    `OverdueError`."""
    return orjson.loads(receive_text(descriptor, seconds))


def receive_text(descriptor: int, seconds: float | None = None) -> bytearray:
    """Read one message, waiting at most `seconds`; raises `EndedError` or `OverdueError`."""
    deadline = None if seconds is None else time.monotonic() + seconds
    length = int.from_bytes(_read(descriptor, _HEADER, deadline), "big")
    return _read(descriptor, length, deadline)


def _read(descriptor: int, length: int, deadline: float | None) -> bytearray:
    data = bytearray(length)
    left_over = memoryview(data)
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    while left_over:
        if deadline is not None:
            left = max(0.0, deadline - time.monotonic())
            if not ready.poll(min(left, _LONGEST_S) * 1000):
                if left > _LONGEST_S:
                    continue
                raise OverdueError
        # Straight into the place where it belongs: a large answer is not put together from
        # pieces.
        count = os.readv(descriptor, (left_over[:_CHUNK],))
        if not count:
            raise EndedError
        left_over = left_over[count:]
    return data


_PIECE = 50_000
"""Atoms in a message."""


def send_answers(sink: int, answers: Sequence[AnswerSet], seconds: float = 0.0) -> None:
    """Say `answers`, which took so many seconds of CPU.

    The first message holds for each answer set its atoms, its cost, and 0; or no atoms, and
    the number of messages with them that follow: one atom a line (strings
    escape line breaks).
    """
    # JSON wants one text of all of it; beyond this it would be there several times at once, on
    # both sides.
    small = sum(len(answer.atoms) for answer in answers) <= _PIECE
    pieces = [0 if small else -(-len(answer.atoms) // _PIECE) for answer in answers]
    said = [
        [() if count else answer.atoms, answer.cost, count]
        for answer, count in zip(answers, pieces, strict=True)
    ]
    send(sink, {"answers": said, "seconds": seconds})
    for answer, count in zip(answers, pieces, strict=True):
        for start in range(0, count * _PIECE, _PIECE):
            piece = "\n".join(answer.atoms[start : start + _PIECE])
            send_text(sink, piece.encode())


def answer_sets(first: dict[str, Any], following: Callable[[], bytearray]) -> tuple[AnswerSet, ...]:
    """The answer sets that `send` said: its first message, and what gives the others."""
    return tuple(
        _answer_set(atoms, cost, pieces, following) for atoms, cost, pieces in first["answers"]
    )


def _answer_set(
    atoms: list[str], cost: list[int], pieces: int, following: Callable[[], bytearray]
) -> AnswerSet:
    for _piece in range(pieces):
        atoms += following().decode().split("\n")
    return AnswerSet(tuple(atoms), tuple(cost))


@dataclass(frozen=True)
class Setup:
    """What a worker evaluates until the next setup.

    The program's rules and `knowledge` are grounded with every window; `once` is grounded
    now and shared by all windows (empty: nothing is).
    """

    program: AspProgram
    limits: Limits
    knowledge: str = ""
    once: str = ""
    incremental: tuple[Signature, ...] | None = None
    """Predicates of the facts of windows, where the incremental engine evaluates; None: the
    solver does."""

    def to_json(self) -> dict[str, Any]:
        """Values for a message."""
        kept = None if self.incremental is None else [list(s) for s in self.incremental]
        return {**asdict(self), "incremental": kept}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Setup:
        """The setup that `to_json` described."""
        what = values["program"] | {"priorities": tuple(values["program"]["priorities"])}
        limits, kept = Limits(**values["limits"]), values["incremental"]
        facts = None if kept is None else tuple(Signature(*signature) for signature in kept)
        return cls(AspProgram(**what), limits, values["knowledge"], values["once"], facts)

    @property
    def stays(self) -> bool:
        """Whether a process is worth most to who has it set up in this way: it keeps more
        than the text of a program."""
        return bool(self.once) or self.incremental is not None
