"""Random programs that can often be cut: islands of predicates, each with a key of its own
that most atoms of a rule share; now and then a rule, a preference or a sign joins what was
apart. As text, for clingo's own answer to the whole is what parts are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from citywise.reasoning.model.atoms import signature
from citywise.reasoning.model.request import Signature
from citywise.reasoning.rdf.knowledge import Background

T = TypeVar("T")

VALUES = ("1", "2", "3", "a", "k", '"a"', '"x,(y"', "-1", "f(1)", "f(k,b)", '"\\"\\\\"', "4", "b")
"""Arguments of facts; `k` may be a constant with a value, 2."""
NUMBERS = ("1", "2", "3", "0")
_VARIABLES = ("K", "X", "Y", "X")
_ISLANDS = "abc"


@dataclass(frozen=True)
class Example:
    """A program, its knowledge, and windows: the facts of each."""

    program: str
    knowledge: tuple[str, ...]
    windows: tuple[tuple[str, ...], ...]
    told: bool = True
    """Whether the engine is told what the streams supply."""
    costs: int = 0
    """From which the weights follow that choose among keys; 0: all are equal."""

    def __str__(self) -> str:
        windows = "\n".join(f"window: {' '.join(f'{a}.' for a in w)}" for w in self.windows)
        return f"{self.program}\nknowledge: {' '.join(self.knowledge)}\n{windows}\n"

    @property
    def text(self) -> str:
        """A request."""
        return f"#from stream <urn:s> [time 1s step 1s].\n{self.program}"

    @property
    def weights(self) -> dict[Signature, int]:
        """What the planner is told of the numbers of facts."""
        if not self.costs:
            return {}
        chance = Random(self.costs)
        names = [f"{island}{n}" for island in _ISLANDS for n in "012pqr"]
        return {Signature(n, arity): chance.randint(1, 50) for n in names for arity in (1, 2, 3)}

    @property
    def background(self) -> Background:
        """Its knowledge."""
        return Background(self.knowledge, supplied=frozenset(map(signature, self.knowledge)))


@dataclass
class Island:
    """Predicates with the position of their key, and the rules over them."""

    name: str
    inputs: dict[str, tuple[int, int]]
    """Arity and position of the key, from 0, by name."""
    derived: dict[str, tuple[int, int]]
    rules: list[str] = field(default_factory=list)


def pick(draw: DrawFn, options: Sequence[T]) -> T:
    """One of the options; the first is the simplest."""
    return draw(st.sampled_from(options))


class Writer:
    """Writes safe rules over the predicates of an island."""

    def __init__(self, draw: DrawFn, island: Island, others: Sequence[Island] = ()) -> None:
        self.draw = draw
        self.island = island
        self.readable = island.inputs | island.derived
        for other in others:
            self.readable |= other.inputs | other.derived

    def chance(self, one_in: int) -> bool:
        """True once in so many; False is the simpler."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def atom(self, name: str, terms: Sequence[str], predicates: dict[str, tuple[int, int]]) -> str:
        """An atom, its key most often `K` if that is among the terms."""
        arity, position = predicates[name]
        others = [term for term in terms if term != "K"]
        if "K" not in terms or not others or self.chance(10):
            arguments = [pick(self.draw, terms) for _ in range(arity)]
        else:
            arguments = [pick(self.draw, others) for _ in range(arity)]
            place = (position + self.chance(6)) % max(arity, 1)
            arguments[place : place + 1] = ["K"] * bool(arity)
        return f"{name}({','.join(arguments)})" if arity else name

    def positive(self, most: int = 3) -> list[str]:
        """Positive atoms of a body."""
        terms = [*_VARIABLES, *([pick(self.draw, VALUES)] if self.chance(6) else [])]
        number = min(most, pick(self.draw, (1, 1, 2, 2, 3)))
        names = [pick(self.draw, list(self.readable)) for _ in range(number)]
        names[:1] = [pick(self.draw, list(self.island.inputs))] if not self.chance(4) else names[:1]
        return [self.atom(name, terms, self.readable) for name in names]

    def bound(self, atoms: Sequence[str]) -> list[str]:
        """The variables of atoms; constants if there are none."""
        text = ",".join(atoms)
        found = [v for v in dict.fromkeys(_VARIABLES) if v in text]
        return found or ["1", "a"]

    def condition(self, terms: Sequence[str]) -> str:
        """A literal that only restricts."""
        kind = pick(self.draw, ("not", "not", "not", "compared", "not not", "anonymous", "all"))
        if kind == "compared":
            relation = pick(self.draw, ("!=", "<", "=", ">="))
            return f"{pick(self.draw, terms)} {relation} {pick(self.draw, [*terms, *VALUES])}"
        name = pick(self.draw, list(self.readable))
        if kind == "anonymous" and not name.startswith("-"):  # where clingo calls it unsafe
            terms = [*terms, "_"]
        if kind == "all":
            other = pick(self.draw, list(self.island.inputs))
            wide = [*terms, "V"]
            condition = self.atom(other, wide, self.island.inputs)
            inner = self.atom(name, wide if "V" in condition else terms, self.readable)
            return f"{inner} : {condition}"
        sign = "not not" if kind == "not not" else "not"
        return f"{sign} {self.atom(name, terms, self.readable)}"

    def body(self, most: int = 3) -> tuple[str, list[str]]:
        """A safe body, and its variables."""
        atoms = self.positive(most)
        terms = self.bound(atoms)
        more = [self.condition(terms) for _ in range(pick(self.draw, (0, 0, 1, 1, 2)))]
        return "; ".join([*atoms, *more]), terms

    def head(self, terms: Sequence[str]) -> str:
        """An atom that the island derives; now and then the key is not in it."""
        if self.chance(6):
            terms = [term for term in terms if term != "K"] or terms
        return self.atom(pick(self.draw, list(self.island.derived)), terms, self.island.derived)

    def normal(self) -> str:
        body, terms = self.body()
        return f"{self.head(terms)} :- {body}."

    def counting_on(self) -> str:
        """Recursion through arithmetic, within bounds."""
        atom = self.atom(pick(self.draw, list(self.readable)), ["K", "X"], self.readable)
        if "X" not in atom:
            return f"{self.head(self.bound([atom]))} :- {atom}."
        return f"{self.head(['K' if 'K' in atom else 'X', 'X+1'])} :- {atom}; -2 < X; X < 3."

    def disjunctive(self) -> str:
        body, terms = self.body(2)
        heads = [self.head(terms) for _ in range(2)]
        return f"{' | '.join(heads)} :- {body}."

    def choice(self) -> str:
        body, terms = self.body(2)
        low = pick(self.draw, ("", "", "", "1 ", "0 "))
        high = pick(self.draw, ("", " 1", ""))
        inputs = self.island.inputs
        inner = self.atom(pick(self.draw, list(inputs)), [*terms, "V"], inputs)
        within = [*terms, "V"] if "V" in inner else terms
        element = f"{self.head(within)} : {inner}" if self.chance(2) else self.head(terms)
        return f"{low}{{ {element} }}{high} :- {body}."

    def shared(self) -> str:
        """For each key a choice of one among atoms that are not its own."""
        inputs = self.island.inputs
        own, outer = (self.atom(pick(self.draw, list(inputs)), t, inputs) for t in ("KV", "KX"))
        if "V" not in own or "K" not in outer:
            return self.choice()
        return f"{{ {self.head(['V'])} : {own} }} 1 :- {outer}."

    def rivals(self) -> str:
        body, terms = self.body(2)
        one, other = self.head(terms), self.head(terms)
        return f"{one} :- {body}; not {other}.\n{other} :- {body}; not {one}."

    def constraint(self) -> str:
        return f":- {self.body()[0]}."

    def aggregate(self, terms: Sequence[str], value: str) -> str:
        """An aggregate over inputs."""
        inputs = self.island.inputs
        inner = self.atom(pick(self.draw, list(inputs)), [*terms, "V", "W"], inputs)
        counted = [v for v in ("V", "W", *terms) if v in inner] or ["1"]
        more = f",{pick(self.draw, counted)}" if self.chance(2) else ""
        function = pick(self.draw, ("#count", "#sum", "#min", "#max"))
        return f"{function} {{ {pick(self.draw, counted)}{more} : {inner} }} {value}"

    def aggregating(self) -> str:
        body, terms = self.body(2)
        if self.chance(2):
            return f"{self.head([*terms, 'N'])} :- {body}; {self.aggregate(terms, '= N')}."
        bound = pick(self.draw, (">= 1", "> 1", "!= 2", "< 2"))
        sign = pick(self.draw, ("", "not "))
        return f"{self.head(terms)} :- {body}; {sign}{self.aggregate(terms, bound)}."

    def preference(self) -> str:
        body, terms = self.body(2)
        weight = pick(self.draw, ("1", "2", "-1", *terms))
        priority = pick(self.draw, ("0", "1", "1", "2"))
        more = "".join(f",{pick(self.draw, terms)}" for _ in range(self.draw(st.integers(0, 2))))
        if more and self.chance(2):
            more = f",{self.island.name}{more}"
        if " : " not in body and self.chance(3):
            kind = pick(self.draw, ("#minimize", "#maximize"))
            return f"{kind} {{ {weight}@{priority}{more} : {body.replace('; ', ', ')} }}."
        return f":~ {body}. [{weight}@{priority}{more}]"

    def rules(self, likely: Sequence[str]) -> list[str]:
        """Some rules of the kinds that are likely."""
        kinds: dict[str, Callable[[], str]] = {
            "normal": self.normal,
            "counting": self.counting_on,
            "aggregating": self.aggregating,
            "choice": self.choice,
            "rivals": self.rivals,
            "shared": self.shared,
            "disjunctive": self.disjunctive,
            "constraint": self.constraint,
        }
        chosen = [pick(self.draw, likely) for _ in range(self.draw(st.integers(1, 4)))]
        return [kinds[kind]() for kind in chosen]


_CERTAIN = ("normal", "normal", "normal", "counting", "aggregating")
_GUESSES = ("choice", "choice", "shared", "rivals", "disjunctive", "constraint")
_GUESSING = ("normal", "normal", "normal", *_GUESSES)


@st.composite
def islands(draw: DrawFn, name: str) -> Island:
    """Predicates that begin with a letter."""
    arities = [draw(st.integers(1, 2)), 2, draw(st.integers(1, 3))]
    inputs = {f"{name}{n}": (a, draw(st.integers(0, a - 1))) for n, a in enumerate(arities)}
    shapes = [(f"{name}p", 1), (f"{name}q", 2), (f"{name}r", draw(st.integers(0, 2)))]
    if draw(st.integers(0, 4)) == 4:
        shapes.append((f"-{name}p", 1))
    derived = {n: (a, draw(st.integers(0, a - 1)) if a else 0) for n, a in shapes}
    island = Island(name, inputs, derived)
    likely = pick(draw, (_CERTAIN, _GUESSING, _GUESSING))
    writer = Writer(draw, island)
    island.rules = writer.rules(likely)
    if draw(st.integers(0, 3)) == 3:
        island.rules += [writer.preference() for _ in range(draw(st.integers(1, 2)))]
    return island


@st.composite
def shows(draw: DrawFn, parts: Sequence[Island]) -> list[str]:
    """`#show` statements of all kinds."""
    kind = pick(draw, ("none", "none", "some", "some", "terms", "nothing"))
    if kind in ("none", "nothing"):
        return [] if kind == "none" else ["#show."]
    predicates = {n: a for part in parts for n, (a, _) in (part.inputs | part.derived).items()}
    likely = [name for part in parts for name in part.derived] * 3 + list(predicates)
    names = draw(st.lists(st.sampled_from(likely), min_size=1, max_size=5, unique=True))
    found = [f"#show {name}/{predicates[name]}." for name in names]
    if kind == "terms":
        body, terms = Writer(draw, pick(draw, parts)).body(2)
        found.append(f"#show {pick(draw, ('t', 'ap', 'u'))}({pick(draw, terms)}) : {body}.")
    return found


@st.composite
def facts(
    draw: DrawFn, parts: Sequence[Island], values: Sequence[str], least: int, most: int
) -> tuple[str, ...]:
    """Ground atoms, most of them of inputs; a few of what rules derive, or its opposite."""
    predicates = {name: arity for part in parts for name, (arity, _) in part.inputs.items()}
    derived = {name: arity for part in parts for name, (arity, _) in part.derived.items()}
    text = " ".join(rule for part in parts for rule in part.rules)
    read = [name for name in predicates if name in text] or list(predicates)

    def one() -> str:
        rare = draw(st.integers(0, 59))
        name = pick(draw, list(derived) if rare >= 57 else read)
        arity = (derived | predicates)[name]
        if rare == 56:
            name = f"-{name}"
        arguments = ",".join(pick(draw, values) for _ in range(arity))
        return f"{name}({arguments})" if arity else name

    return tuple(dict.fromkeys(one() for _ in range(draw(st.integers(least, most)))))


@st.composite
def examples(draw: DrawFn, windows: int = 2) -> Example:
    """Programs with knowledge and windows."""
    parts = [draw(islands(name)) for name in _ISLANDS[: draw(st.integers(1, 3))]]
    lines = [rule for part in parts for rule in part.rules]
    if len(parts) > 1 and draw(st.integers(0, 3)) == 3:
        bridge = Writer(draw, parts[0], parts[1:])
        lines += bridge.rules(("normal", "normal", "constraint", "aggregating"))[:1]
    values = [*NUMBERS[: draw(st.integers(1, 2))], pick(draw, VALUES)]
    if draw(st.integers(0, 3)) == 3:
        meant, word = pick(draw, ("1", "b", "2")), pick(draw, ("k", "k", "k'"))
        lines.append(f"#const {word} = {meant}.")
        values = [word, meant, "3"]
    lines += [f"{fact}." for fact in draw(facts(parts, values, 0, 2))]
    lines += draw(shows(parts))
    known = draw(facts(parts, values, 0, 4)) if draw(st.booleans()) else ()
    seen = [draw(facts(parts, values, 6, 14)) for _ in range(windows)]
    told = draw(st.integers(0, 5)) < 5
    if not told and draw(st.booleans()):  # an atom with one argument more
        atom = seen[0][0]
        more = f"{atom.removesuffix(')')},1)" if atom.endswith(")") else f"{atom}(1)"
        seen[0] += (more,)
    costs = draw(st.integers(0, 30)) % 16
    return Example("\n".join(lines), known, tuple(seen), told, costs)
