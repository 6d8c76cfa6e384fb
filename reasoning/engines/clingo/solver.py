"""clingo in this process: from text to answer sets, and to the best one within a time."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from operator import eq
from threading import Event
from typing import cast

import clingo
from clingo._internal import _ffi, _handle_error, _lib  # type: ignore[attr-defined]

from citywise.reasoning.errors import SolvingError
from citywise.reasoning.limits import Limits, exceeded, too_many
from citywise.reasoning.model.engine import (
    OURS,
    AnswerSet,
    AspProgram,
    Knowledge,
    WindowFacts,
    program,
)
from citywise.reasoning.model.request import Request, Signature

LARGE = 10_000
"""Symbols from which on they are printed together: 10,000 in 8 ms instead of 33 ms."""
_TOGETHER = 128
_SEPARATOR = clingo.Function("\n")
"""A constant that no rule can write, and no other text contains: strings escape it."""


def sorted_texts(symbols: Sequence[clingo.Symbol]) -> tuple[str, ...]:
    """The texts of symbols in ASP syntax, sorted, each once.

    Printing `LARGE` symbols and more leaves 16 bytes of each in this process: clingo
    keeps every term it ever saw.
    """
    if len(symbols) < LARGE:
        return tuple(sorted(set(map(str, symbols))))
    texts = list(_texts(symbols))
    texts.sort()
    # A term that `#show` gives may read as an atom that is shown as well.
    if any(map(eq, texts, islice(texts, 1, None))):
        texts = list(dict.fromkeys(texts))
    return tuple(texts)


def _texts(symbols: Sequence[clingo.Symbol]) -> Iterator[str]:
    """The texts of symbols, in their order."""
    printer = _Printer()
    # A model's symbols are numbers in an array of C, which need not become objects of Python first.
    if (found := getattr(symbols, "_p_symbols", None)) is None:
        numbers = array("Q", [symbol._rep for symbol in symbols])
    else:
        numbers = array("Q", bytes(_ffi.buffer(found)))
    for start in range(0, len(symbols), _TOGETHER):
        texts = printer.together(numbers[start : start + _TOGETHER])
        # Where the pieces are too few or too many, each is asked for by itself.
        whole = len(texts) == len(numbers[start : start + _TOGETHER])
        yield from texts if whole else map(str, symbols[start : start + _TOGETHER])


class _Printer:
    """Has clingo print symbols together, as one tuple.

    What clingo's own `str` does, but for three things: no list of objects is made of the symbols,
    none of the numbers, and clingo does not print twice, first to say how long the text is.
    """

    def __init__(self) -> None:
        self._size = 0
        self._text = _ffi.new("char[]", 1)
        self._tuple = _ffi.new("clingo_symbol_t *")
        self._separator = array("Q", [_SEPARATOR._rep])

    def together(self, numbers: array[int]) -> list[str]:
        """The texts between separators."""
        separated = self._separator * (2 * len(numbers) + 1)
        separated[1::2] = numbers
        given = _ffi.from_buffer("clingo_symbol_t[]", separated)
        made = _lib.clingo_symbol_create_function(b"", given, len(separated), True, self._tuple)
        _handle_error(made)
        if not _lib.clingo_symbol_to_string(self._tuple[0], self._text, self._size):
            self._make_room()
        # `(\n,a,\n,b,\n)` without its first and last three characters, cut at the separators.
        text: str = _ffi.string(self._text).decode()
        return text[3:-3].split(",\n,")

    def _make_room(self) -> None:
        """Print once more, into more room."""
        size = _ffi.new("size_t *")
        _handle_error(_lib.clingo_symbol_to_string_size(self._tuple[0], size))
        self._size = 2 * size[0]
        self._text = _ffi.new("char[]", self._size)
        printed = _lib.clingo_symbol_to_string(self._tuple[0], self._text, self._size)
        _handle_error(printed)


_COUNTED = 50_000
# `--project` makes answer sets that agree on what is shown one already in the search, which else
# would go through all that differ in the rest. `optN` gives all optimal ones, but first those on
# the way, which `_models` leaves out.
_ALL_OPTIMAL = ("--project=show", "--opt-mode=optN")


class SolverEngine:
    """Evaluates with a fresh clingo control each time, in this process.

    Of the limits it keeps those on atoms and models; grounding and solving cannot be
    interrupted within a process (`reasoning.engines.clingo.guard` does that).
    """

    def __init__(
        self, request: Request, knowledge: Knowledge | None = None, limits: Limits | None = None
    ) -> None:
        self._request = request
        self._text = knowledge.text if knowledge else ""
        self._supplied = knowledge.supplied if knowledge else frozenset()
        self._limits = limits

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `Engine`."""
        what = program(self._request, window.supplied | self._supplied)
        solving = Solving(what, self._limits)
        solving.add("base", what.rules, self._text, window.text)
        solving.ground("base")
        return solving.answer_sets(models)

    def close(self) -> None:
        """Nothing is held."""


class Solving:
    """One clingo control on its way from text to answer sets.

    `phase` and `grown` may be asked from another thread, to say where it stands.
    """

    def __init__(
        self, what: AspProgram, limits: Limits | None = None, options: Sequence[str] = _ALL_OPTIMAL
    ) -> None:
        self.name = what.name
        self.phase = "grounding"
        self._priorities = what.priorities
        self._limits = limits
        self._messages: list[str] = []
        self.control = clingo.Control(
            # clingo warns of atoms that no rule derives, in every window that has none; `check`
            # has said what there is to say about the program.
            [*options, "--warn=none"],
            logger=lambda _code, message: self._messages.append(message),
        )

    def add(self, part: str, *texts: str) -> None:
        """Add texts to a part of the program."""
        with self._in_its_words():
            for text in filter(None, texts):
                self.control.add(part, [], text)

    def ground(self, *parts: str) -> None:
        """Ground parts of the program, in this order and together."""
        with self._in_its_words():
            self.control.ground([(part, []) for part in parts])

    def answer_sets(self, models: int = 0) -> tuple[AnswerSet, ...]:
        """Solve; see `Engine.answer_sets`."""
        self._check_atoms()
        self.phase = "solving"
        most = self._limits.models if self._limits else 0
        configuration = cast("clingo.Configuration", self.control.configuration.solve)
        # One more than allowed: then it is known that there are too many, without all of them.
        configuration.models = str(models or (most + 1 if most else 0))
        with self._in_its_words():
            candidates = self._models()
            found = list(islice(candidates, 2))
            if len(found) > 1:
                found = sorted({*found, *candidates})  # one alone needs no hash
        if most and not models and len(found) > most:
            raise too_many(self.name, most)
        return tuple(found)

    def atoms(self) -> int:
        """The number of ground atoms so far."""
        return len(self.control.symbolic_atoms)

    def grown(self, most: int = 3) -> dict[str, int]:
        """The predicates with most ground atoms, and how many (the largest is what the
        others leave, the rest are counted up to a bound)."""
        # Asked at a limit, perhaps of millions of atoms: counting stops at a bound, and only the
        # largest is worked out from the total.
        atoms = self.control.symbolic_atoms
        total = len(atoms)
        counts: dict[str, int] = {}
        for name, arity, positive in atoms.signatures:
            if name.startswith(OURS):
                continue
            signature = Signature(name if positive else f"-{name}", arity)
            counted = zip(range(_COUNTED), atoms.by_signature(name, arity, positive), strict=False)
            counts[str(signature)] = sum(1 for _ in counted)
        largest = sorted(counts, key=lambda s: (-counts[s], s))[:most]
        if largest and counts[largest[0]] == _COUNTED:
            others = sum(count for s, count in counts.items() if s != largest[0])
            counts[largest[0]] = max(total - others, _COUNTED)
        return {signature: counts[signature] for signature in largest if counts[signature]}

    def _check_atoms(self) -> None:
        if self._limits and self.atoms() > self._limits.atoms:
            limit = f"it has more than {self._limits.atoms:,} ground atoms"
            raise exceeded(self.name, limit, self.phase, self.grown())

    def _models(self) -> Iterator[AnswerSet]:
        with self.control.solve(yield_=True) as handle:
            for model in handle:
                # Where nothing to minimise is ground there is no cost, and nothing to prove.
                if model.cost and not model.optimality_proven:
                    continue
                yield AnswerSet(sorted_texts(model.symbols(shown=True)), self.cost(model))

    def cost(self, model: clingo.Model) -> tuple[int, ...]:
        """A model's cost, one entry for each priority of the program (docs/reason.md)."""
        # clingo tells a cost only for priorities of which something is ground in this window.
        cost = dict(zip(model.priority, model.cost, strict=True))
        priorities = sorted({*self._priorities, *cost}, reverse=True)
        return tuple(cost.get(priority, 0) for priority in priorities)

    @contextmanager
    def _in_its_words(self) -> Iterator[None]:
        """clingo's failures as `SolvingError`s with what it said."""
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            detail = "; ".join(self._messages) or str(error)
            raise SolvingError(f"request `{self.name}`: {detail.strip()}") from None


_BETTER_AND_BETTER = (
    "--opt-mode=opt",
    "--models=0",
    "--configuration=crafty",
    "--heuristic=Domain",
)
"""`#heuristic` statements are followed. Of clingo's configurations this one was in front with
agendas, of 8 items (time to the proof) and of 20 (the best after a second)."""


@dataclass(frozen=True)
class Found:
    """The best answer set that was found, and whether it is proved that there is no better."""

    answer: AnswerSet
    is_best: bool


class AnytimeEngine:
    """Evaluates a request that minimises with a fresh clingo control, in this process.

    Solving ends when its time is over. Grounding cannot be interrupted: the rules are to be
    ours. Threads may share an engine.
    """

    def __init__(self, request: Request, limits: Limits | None = None) -> None:
        self._request = request
        self._limits = limits

    def best(
        self,
        window: WindowFacts,
        seconds: float,
        patience: float = 0,
        below: tuple[int, ...] | None = None,
    ) -> Found | None:
        """The best answer set that is found in so many seconds; None: there is none at all.

        Where none is found in time, or none with costs less than `below`, the first such is
        waited for, `patience` seconds more. Raises `LimitError` if none at all was found then
        either, `SolvingError` with the solver's words.
        """
        until_s = time.monotonic() + seconds
        improving = _Improving(program(self._request, window.supplied), self._limits, below)
        improving.add("base", improving.rules, window.text)
        improving.ground("base")
        return improving.best(until_s, patience)


class _Improving(Solving):
    """Solving that goes from each answer set to a better one."""

    def __init__(
        self, what: AspProgram, limits: Limits | None, below: tuple[int, ...] | None
    ) -> None:
        super().__init__(what, limits, _BETTER_AND_BETTER)
        self.rules = what.rules
        self._below = below
        self._last: AnswerSet | None = None
        self._is_enough = Event()

    def best(self, until_s: float, patience: float) -> Found | None:
        """See `AnytimeEngine.best`; it ends at `until_s` of `time.monotonic()`."""
        self._check_atoms()
        self.phase = "solving"
        with (
            self._in_its_words(),
            self.control.solve(
                on_model=self._keep, on_finish=lambda _result: self._is_enough.set(), async_=True
            ) as handle,
        ):
            if not _over(handle, until_s):
                # A first answer is worth waiting for; a better one is not.
                self._is_enough.wait(patience)
            # `get` returns when the search has really ended; until then `_keep` may be called in
            # its thread, and `_last` may change.
            handle.cancel()
            is_done = not handle.get().interrupted
        if self._last is not None:
            return Found(self._last, is_done)
        if is_done:
            return None
        raise exceeded(self.name, "no answer was found in time", self.phase, self.grown())

    def _keep(self, model: clingo.Model) -> bool:
        """Keep a model; whether to go on: where nothing to minimise is ground all are as good."""
        self._last = AnswerSet(sorted_texts(model.symbols(shown=True)), self.cost(model))
        if self._below is None or self._last.cost < self._below:
            self._is_enough.set()
        return bool(model.cost)


def _over(handle: clingo.SolveHandle, until_s: float) -> bool:
    """Wait until solving is over or it is `until_s`; whether it is over.

    clingo's `wait` gives up at the first waking, for which the start of the solving is enough
    on a busy machine.
    """
    while (left_s := until_s - time.monotonic()) > 0:
        if handle.wait(left_s):
            return True
    return handle.wait(0)
