"""Programs and streams of the Laser paper's experiments.

The paper names programs, window sizes and rates; its generators are not printed, so what an
atom of each stream is says the experiment here. Streams are endless and seeded.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

Stream: TypeAlias = Iterator[list[str]]
"""The ground atoms of each point of time."""
LIFE = 160
"""Points of time that an atom of `lasting` holds at most."""
READINGS = 200

_COOLING = """
(r1) @T steam(V) :- @T temp(V) [{n}], V >= 100.
(r2) @T liquid(V) :- @T temp(V) [{n}], V >= 1, V < 100.
(r3) @T isSteam :- @T steam(V) [{n}].
(r4) @T isLiquid :- @T liquid(V) [{n}].
(r5) alarm :- [] isSteam [{n}].
(r6) normal :- [] isLiquid [{n}].
(r7) freeze :- not alarm, not normal.
(r8) veryHot(T) :- @T steam(V) [{n}], V >= 150.
(r9) veryCold(T) :- @T liquid(V) [{n}], V = 1.
"""
_COOLING_ASP = """
steam(V,T) :- temp(V,T), V >= 100.
liquid(V,T) :- temp(V,T), V >= 1, V < 100.
isSteam(T) :- steam(V,T).
isLiquid(T) :- liquid(V,T).
alarm :- isSteam(T) : T = since..now.
normal :- isLiquid(T) : T = since..now.
freeze :- not alarm, not normal.
veryHot(T) :- steam(V,T), V >= 150.
veryCold(T) :- liquid(1,T).
#show alarm/0. #show normal/0. #show freeze/0. #show veryHot/1. #show veryCold/1.
#show steam(V) : steam(V,now). #show liquid(V) : liquid(V,now).
#show isSteam : isSteam(now). #show isLiquid : isLiquid(now).
"""
_BOX_ASP = """
time(since..now).
missing(A,B) :- p(A,B,now), time(T), not p(A,B,T).
q(A,B) :- p(A,B,now), not missing(A,B).
#show q/2.
"""
_ARRIVING = """
q(A,C,(T,t)) :- p(A,B,t), p(B,C,T), alive(T), alive(t).
q(A,C,(T,t)) :- p(B,C,t), p(A,B,T), T < t, alive(T), alive(t)."""


@dataclass(frozen=True)
class Experiment:
    """A program over a stream, in LARS and in ASP over the facts of one window."""

    lars: str
    """With `{n}` for the size of the window."""
    asp: str
    """Over the window's facts, in its fastest form that we found; constants `since` and
    `now` are the window's first and last point of time."""
    stamped: bool
    """Whether ASP's facts have the point of time as last argument."""
    stream: Callable[[int, int], Stream]
    """By atoms a point of time and window size."""
    arriving: str = ""
    """Rules of ASP multi-shot for what arrives at `t`, in whose heads a third argument is
    added; without them there is no such baseline."""

    def program(self, width: int) -> str:
        """The rules in LARS for a window size."""
        return self.lars.replace("{n}", str(width))


def unique(rate: int, _width: int) -> Stream:
    """Atoms of which none occurs twice (the paper's stream for ◇)."""
    return _numbered(lambda number: f"p(n{number},m{number % rate})", rate)


def lasting(rate: int, _width: int) -> Stream:
    """Atoms of which each holds at 1 to `LIFE` points of time in a row, whatever the window:
    one in eighty is replaced at each point, and in a window of 80 some two fifths have held
    throughout."""
    chance = random.Random(1)
    ends = [chance.randrange(LIFE) for _ in range(rate)]
    atoms = [f"p(n{place},m0)" for place in range(rate)]
    now = 0
    while True:
        for place, end in enumerate(ends):
            if end < now:
                atoms[place] = f"p(n{place},m{now})"
                ends[place] = now + chance.randrange(LIFE)
        yield list(atoms)
        now += 1


def walking(rate: int, _width: int) -> Stream:
    """Steps of walkers, in random order: each goes on from where the one before led, so that
    it has one partner, of the point of time before."""
    chance, now = random.Random(1), 0
    while True:
        steps = [f"p(n{now * rate + place},n{(now + 1) * rate + place})" for place in range(rate)]
        chance.shuffle(steps)
        yield steps
        now += 1


def scattered(rate: int, width: int) -> Stream:
    """Pairs of as many values as a window has atoms: each finds one partner on average on
    either side, anywhere in the window."""
    chance, values = random.Random(1), (width + 1) * rate
    pick = chance.randrange
    while True:
        yield [f"p(n{pick(values)},n{pick(values)})" for _ in range(rate)]


def readings(rate: int, _width: int) -> Stream:
    """Temperatures from 0 to `READINGS`, so at most 201 different atoms a point of time."""
    chance = random.Random(1)
    while True:
        yield [f"temp({chance.randint(0, READINGS)})" for _ in range(rate)]


def _numbered(atom: Callable[[int], str], rate: int) -> Stream:
    start = 0
    while True:
        yield [atom(number) for number in range(start, start + rate)]
        start += rate


def joins(rules: int) -> Experiment:
    """The same join so many times, for heads of their own (the paper's standing queries)."""
    heads = [f"q{number}" for number in range(1, rules + 1)]
    return Experiment(
        "\n".join(f"{head}(A,C) :- <> p(A,B) [{{n}}], <> p(B,C) [{{n}}]." for head in heads),
        "\n".join(f"{head}(A,C) :- p(A,B), p(B,C). #show {head}/2." for head in heads),
        False,
        walking,
        "\n".join(_ARRIVING.replace("q(", f"{head}(") + f" #show {head}/3." for head in heads),
    )


_JOIN = joins(1)
_DIAMOND = Experiment(
    "q(A,B) :- <> p(A,B) [{n}].",
    "q(A,B) :- p(A,B). #show q/2.",
    False,
    unique,
    "q(A,B,t) :- p(A,B,t), alive(t). #show q/3.",
)
_BOX = Experiment("q(A,B) :- [] p(A,B) [{n}].", _BOX_ASP, True, lasting)
EXPERIMENTS = {
    "diamond": _DIAMOND,
    "box": _BOX,
    "box, unique": replace(_BOX, stream=unique),
    "join": _JOIN,
    "join, scattered": replace(_JOIN, stream=scattered),
    "cooling": Experiment(_COOLING, _COOLING_ASP, True, readings),
}
"""Those of the issue, and two that are harder: a box of which nothing is, a join whose
partners are anywhere."""
