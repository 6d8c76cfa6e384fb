"""Random C-ASP requests over long recordings, whose predicates come and go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from hypothesis.vendor.pretty import RepresentationPrinter

from citywise.reasoning.model.atoms import signature
from citywise.reasoning.model.request import CountWindow, StreamSource, TimeWindow
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.streams.items import Item
from tests.incremental import programs
from tests.incremental.programs import INPUTS, LAYERS, NUMBERS, VALUES
from tests.incremental.rules import one_in, pick
from tests.reasoning.reference import plain
from tests.reasoning.reference.plain import Arrival, Named

_FEEDBACK = (
    "{p} :- prev_{p}; not d(X).",
    "{p} :- prev_{p}; not e(X,_).",
    "{p} :- prev_{p}; e(X,Y); d(Y).",
    "new({a}) :- {p}; not prev_{p}.",
    "new({a}) :- prev_{p}; not {p}.",
    "new(N) :- N = #count {{ {a} : prev_{p} }}.",
)
"""Rules that read what was shown; `{p}` is an atom over `{a}`."""
_TIMES = (
    "old({a}) :- {since}; now(N); N-T >= 3.",
    "since({a},N-T) :- {since}; now(N).",
    "began({a}) :- {since}; now(T).",
    "since(N) :- N = #sum {{ T,{a} : {since} }}.",
    "since(T) :- {since}; not e(X,_); {{ d(X) }} 9.",
    "again({a}) :- {p}; {last}.",
    "new({a}) :- {p}; not {seen}.",
    "gone({a},N-T) :- {last}; not {p}; now(N).",
    "{p} :- {last}; now(N); N-T < 4; d(X).",
    "{p} :- {last}; not d(X); not e(X,_).",
    "late(T) :- T = #max {{ U : now(U) }}.",
)
"""Rules that read times; `{p}` is an atom over `{a}`."""
_AGES = (None, 0, 1, 3, 10)
_STEPS: Sequence[Sequence[int]] = ((0, 1), (0, 0, 1), (1, 2), (0, 1, 4))
"""How time goes on from item to item."""
_MOOD = 30
"""Items, about, after which others are likely."""


@dataclass(frozen=True)
class Recording:
    """A request, and the items of its streams in order of arrival."""

    plain: plain.Request
    seed: int
    """For whatever else is left to chance."""

    @property
    def text(self) -> str:
        """The request in C-ASP."""
        what = self.plain
        lines = [f"#from stream <{source.iri}> {_window(source)}." for source in what.streams]
        lines += [f"#lateness {what.lateness}s."] * bool(what.lateness)
        lines += [f"#feedback {name}/{arity}." for name, arity in sorted(what.feedback)]
        lines += [f"#held {name}/{arity}." for name, arity in sorted(what.held)]
        for (name, arity), age in sorted(what.last):
            lines += [f"#last {name}/{arity}{'' if age is None else f' {age}s'}."]
        lines += [f"#show {name}/{arity}." for name, arity in sorted(what.shows or ())]
        return "\n".join([*lines, what.rules])

    @property
    def items(self) -> list[Item]:
        """What arrives."""
        arrivals = enumerate(self.plain.arrivals)
        return [Item(a.time, a.atom, n, a.end if a.end > a.time else None, a.stream)
                for n, a in arrivals]  # fmt: skip

    @property
    def background(self) -> Background:
        """The facts of its knowledge base."""
        known = self.plain.knowledge
        return Background(known, supplied=frozenset(map(signature, known)))

    def __str__(self) -> str:
        items = (f"{a.time}..{a.end} <{a.stream}> {a.atom}" for a in self.plain.arrivals)
        known = " ".join(f"{fact}." for fact in self.plain.knowledge)
        return "\n".join([self.text, f"knowledge: {known}", f"seed: {self.seed}", *items])

    def _repr_pretty_(self, printer: RepresentationPrinter, _cycle: bool) -> None:
        printer.text(f"\n{self}\n")


def _window(source: StreamSource) -> str:
    width, slide = source.window.width, source.window.slide
    if isinstance(source.window, CountWindow):
        return f"[count {width} step {slide}]"
    return f"[time {width}s step {slide}s]"


@st.composite
def recordings(
    draw: DrawFn, evaluations: int, guessing: bool = False, timed: bool = False
) -> Recording:
    """Requests of one to three streams with windows of all kinds, some with lateness, feedback
    and knowledge, that are evaluated about so many times; `timed` ones look at times."""
    number = pick(draw, (1, 1, 1, 2, 3))
    streams = tuple(StreamSource(f"urn:{n}", draw(windows(guessing))) for n in range(number))
    lateness = draw(st.integers(1, 4)) if one_in(draw, 4) else 0
    rules = draw(programs.programs(guessing))
    shows: frozenset[Named] | None = None
    if "#show" in rules:
        rules, _, shown = rules.rpartition("#show ")
        name, _, arity = shown.rstrip(".\n").partition("/")
        shows = frozenset({(name, int(arity))})
    feedback: frozenset[Named] = frozenset()
    derived = {n: a for layer in LAYERS for n, a in layer.items()
               if a and n[0] != "-" and f"\n{n}(" in f"\n{rules}"}  # fmt: skip
    if derived and one_in(draw, 2):
        name = pick(draw, [*derived])
        arguments = "X,Y"[: 2 * derived[name] - 1]
        lines = draw(st.lists(st.sampled_from(_FEEDBACK), min_size=1, max_size=3, unique=True))
        rules += "".join(f"{one.format(p=f'{name}({arguments})', a=arguments)}\n" for one in lines)
        feedback = frozenset({(name, derived[name])})
        shows = None if shows is None else shows | feedback
    held: set[Named] = set()
    last: dict[Named, int | None] = {}
    if timed:
        everything = {n: a for layer in LAYERS for n, a in layer.items()} | {"e": 2, "-p": 1}
        for name in draw(st.lists(st.sampled_from([*(derived or "e")]), min_size=1, max_size=2)):
            rules += _timing(draw, name, everything[name])
            held.add((name, everything[name]))
            last[name, everything[name]] = pick(draw, _AGES)
        if one_in(draw, 4):
            rules += _timing(draw, "-p", 1)
            held.add(("-p", 1))
            last["-p", 1] = pick(draw, _AGES)
        if shows is not None:
            shows |= {("old", 1), ("since", 1), ("new", 1), ("again", 2)}
    seed = draw(st.integers(0, 2**32))
    arrivals = _arrivals(Random(seed), streams, lateness, evaluations)
    known = draw(programs.facts(3)) if one_in(draw, 3) else ()
    return Recording(
        plain.Request(
            rules, streams, arrivals, known, lateness, feedback, shows,
            frozenset(held), tuple(last.items()),
        ),
        seed,
    )  # fmt: skip


def _timing(draw: DrawFn, name: str, arity: int) -> str:
    """Rules that look at the times of a predicate."""
    arguments = "X,Y"[: 2 * arity - 1]
    sign, bare = ("-", name[1:]) if name[0] == "-" else ("", name)
    forms = {
        "a": arguments,
        "p": f"{name}({arguments})",
        "since": f"{sign}since_{bare}({arguments},T)",
        "last": f"{sign}last_{bare}({arguments},T)",
        "seen": f"{sign}last_{bare}({arguments},_)",
    }
    # Of `not -p(X,_)` clingo says that `_` is unsafe.
    written = [line for line in _TIMES if not (sign and "{seen}" in line)]
    if name == "e":
        # It would depend on its own absence.
        written = [line for line in written if not line.startswith("{p}")]
    lines = draw(st.lists(st.sampled_from(written), min_size=1, max_size=4, unique=True))
    return "".join(f"{line.format(**forms)}\n" for line in lines)


@st.composite
def windows(draw: DrawFn, guessing: bool) -> TimeWindow | CountWindow:
    """A window and its slide; small ones where each item may double the answers."""
    if one_in(draw, 4):
        return CountWindow(draw(st.integers(1, 4 if guessing else 7)), draw(st.integers(1, 3)))
    width = draw(st.integers(0, 2) if guessing else st.integers(0, 9))
    return TimeWindow(width, pick(draw, (1, 1, 2, 3)))


def _arrivals(
    random: Random, streams: Sequence[StreamSource], lateness: int, evaluations: int
) -> tuple[Arrival, ...]:
    """Items with repeats, gaps and intervals, of which some come late: for a while some
    predicates and values are likely, and then others."""
    slide = min(source.window.slide for source in streams)
    found: list[Arrival] = []
    now = begun = random.randint(0, 9)
    atoms, steps = _mood(random), _STEPS[0]
    while now - begun < evaluations * slide:
        if random.randrange(_MOOD) == 0:
            atoms, steps = _mood(random), random.choice(_STEPS)
        time = now - random.randint(0, lateness + 1) if random.randrange(6) == 0 else now
        time = max(time, 0)
        end = time + random.randint(1, 9) if random.randrange(9) == 0 else time
        found.append(Arrival(time, random.choice(atoms), random.choice(streams).iri, end))
        now += random.choice(steps)
    return tuple(found)


def _mood(random: Random) -> list[str]:
    """Atoms that are likely for a while; now and then of a predicate that rules derive."""
    predicates = {name: arity for name, arity in INPUTS.items() if random.random() < 0.7}
    if random.random() < 0.03:
        predicates |= LAYERS[0]
    return [_atom(random, predicates or INPUTS) for _ in range(random.randint(2, 12))]


def _atom(random: Random, predicates: dict[str, int]) -> str:
    name = random.choice([*predicates])
    if name == "flag" and random.random() < 0.7:
        name = "d"
    values = NUMBERS if name == "n" else VALUES
    arity = {**INPUTS, **LAYERS[0]}[name]
    arguments = ",".join(random.choice(values) for _ in range(arity))
    return f"{name}({arguments})" if arity else name
