"""What clingo has shown, as text: the larger part of the cost of a large answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import eq

import clingo

LARGE = 10_000
"""Symbols from which on they are printed together: 10,000 in 15 ms instead of 33 ms."""
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
    for start in range(0, len(symbols), _TOGETHER):
        yield from _together(symbols[start : start + _TOGETHER])


def _together(symbols: Sequence[clingo.Symbol]) -> list[str]:
    """The texts of symbols out of that of one tuple, for which clingo is asked once."""
    separated = [_SEPARATOR] * (2 * len(symbols) + 1)
    separated[1::2] = symbols
    texts = str(clingo.Function("", separated))[3:-3].split(",\n,")
    return texts if len(texts) == len(symbols) else list(map(str, symbols))
