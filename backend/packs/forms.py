"""Ready-made forms of time and change: tables of a template's manifest that become rules of it
(docs/apps.md, Forms).

A form concludes an atom named as its table from one that the rules derive, `of`. What it
remembers and when it changes its mind are directives and rules like those that people write, so
checks, explanations and scenarios know nothing of forms.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field

from citywise.backend.packs import spans
from citywise.reasoning import Signature

Predicate = Annotated[str, Field(pattern=r"^[a-z][A-Za-z0-9_]*/[1-9]$")]
"""A predicate and the number of its arguments, of which the first is the instance: `bad/2`."""
Amount = Annotated[int | str, Field(union_mode="left_to_right")]
"""A number, or the name of a parameter of type number."""
Keyword = Literal["feedback", "held", "last"]
Memory = tuple[Keyword, Signature]


class Rule(NamedTuple):
    """A rule that a form makes."""

    label: str
    head: str
    body: tuple[str, ...]

    def __str__(self) -> str:
        return f"({self.label}) {self.head} :- {', '.join(part for part in self.body if part)}."


def signature(predicate: str) -> Signature:
    """What `bad/2` names."""
    name, _slash, arity = predicate.partition("/")
    return Signature(name, int(arity))


class _Form(BaseModel):
    """What all forms say. `durations`, `numbers` and `others` are the keys with a duration, with
    a number, and with predicates about the first arguments of `of`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    of: Predicate

    of_it: ClassVar[tuple[Keyword, ...]] = ()
    """What is remembered of `of`."""
    of_mine: ClassVar[tuple[Keyword, ...]] = ()
    """What is remembered of what it concludes."""

    def durations(self) -> dict[str, str]:
        return {}

    def numbers(self) -> dict[str, int | str]:
        return {}

    def others(self) -> dict[str, str]:
        return {}

    @property
    def arguments(self) -> int:
        """Of the atom that it concludes."""
        return signature(self.of).arity

    @property
    def helpers(self) -> tuple[str, ...]:
        """Ends of the names of other predicates that its rules derive."""
        return ()

    def memory(self, name: str) -> Iterator[Memory]:
        """What is remembered."""
        yield from ((keyword, signature(self.of)) for keyword in self.of_it)
        yield from ((keyword, Signature(name, self.arguments)) for keyword in self.of_mine)

    @abstractmethod
    def rules(self, name: str) -> Iterator[Rule]:
        """What it concludes."""


class _Lasting(_Form):
    """A form with a duration: text, or the name of a parameter of type duration."""

    duration: str = Field(min_length=1)

    def durations(self) -> dict[str, str]:
        return {"duration": self.duration}


class For(_Lasting):
    """It has held for so long."""

    form: Literal["for"]
    of_it: ClassVar[tuple[Keyword, ...]] = ("held",)

    def rules(self, name: str) -> Iterator[Rule]:
        given, bound = _duration(self.duration)
        since = _atom(self.of, "since_", more="T")
        body = (since, "now(N)", given, f"N-T >= {bound}")
        yield Rule(f"{name}_for", f"{name}({_me(self.arguments)})", body)


class AtMostOnce(_Lasting):
    """As long as it holds, and not again within so long of its end: of each event, or of
    whatever it is for a user."""

    form: Literal["at_most_once"]
    per: Literal["event", "user"] = "event"
    of_mine: ClassVar[tuple[Keyword, ...]] = ("feedback", "last")

    @property
    def helpers(self) -> tuple[str, ...]:
        return ("_recent", *(("_on", "_later") if self.per == "user" else ()))

    def rules(self, name: str) -> Iterator[Rule]:
        mine = _me(self.arguments)
        given, bound = _duration(self.duration)
        told, before, of = f"{name}({mine})", f"prev_{name}({mine})", _atom(self.of)
        yield Rule(f"{name}_goes_on", told, (of, before))
        last = f"last_{name}({mine},T)"
        if self.per == "event":
            yield Rule(f"{name}_begins", told, (of, f"not {name}_recent({mine})"))
            recent = f"{name}_recent({mine})"
            yield Rule(f"{name}_recent", recent, (last, "now(N)", given, f"N-T < {bound}"))
            return
        free = (f"not {name}_recent(Me)", f"not {name}_on(Me)", f"not {name}_later({mine})")
        yield Rule(f"{name}_begins", told, (of, *free))
        recent = f"last_{name}({_me(self.arguments, '_')},T)"
        soon = (recent, "now(N)", given, f"N-T < {bound}")
        yield Rule(f"{name}_recent", f"{name}_recent(Me)", soon)
        yield Rule(f"{name}_on", f"{name}_on(Me)", (of, before))
        # Of what begins at one time the first in the order of terms is told.
        first = f"{_tuple(self.arguments, 'Y')} < {_tuple(self.arguments)}"
        body = (of, _atom(self.of, letter="Y"), first)
        yield Rule(f"{name}_later", f"{name}_later({mine})", body)


class Within(_Lasting):
    """It holds, and another thing at most so long before it; with `near` also the other way
    round."""

    form: Literal["within"]
    near: Predicate | None = None
    after: Predicate | None = None
    of_it: ClassVar[tuple[Keyword, ...]] = ("last",)

    def others(self) -> dict[str, str]:
        return {k: v for k in ("near", "after") if (v := getattr(self, k)) is not None}

    def memory(self, name: str) -> Iterator[Memory]:
        yield "last", signature(self.near or self.after or self.of)
        if self.near:
            yield from super().memory(name)

    def rules(self, name: str) -> Iterator[Rule]:
        given, bound = _duration(self.duration)
        of, other = _atom(self.of), self.near or self.after or self.of
        head = f"{name}({_me(self.arguments)})"
        near = ("now(N)", given, f"N-T <= {bound}")
        yield Rule(f"{name}_both", head, (of, _atom(other)))
        yield Rule(f"{name}_after", head, (of, _atom(other, "last_", more="T"), *near))
        if self.near:
            yield Rule(f"{name}_before", head, (_atom(other), _atom(self.of, "last_", "T"), *near))


class Until(_Lasting):
    """From when it holds until another thing does, or it has not held for so long."""

    form: Literal["until"]
    until: Predicate
    of_it: ClassVar[tuple[Keyword, ...]] = ("last",)
    of_mine: ClassVar[tuple[Keyword, ...]] = ("feedback",)

    def others(self) -> dict[str, str]:
        return {"until": self.until}

    def rules(self, name: str) -> Iterator[Rule]:
        given, bound = _duration(self.duration)
        head = f"{name}({_me(self.arguments)})"
        over, last = f"not {_atom(self.until)}", _atom(self.of, "last_", "T")
        yield Rule(f"{name}_begins", head, (_atom(self.of), over))
        kept = (f"prev_{head}", over, last, "now(N)", given, f"N-T < {bound}")
        yield Rule(f"{name}_goes_on", head, kept)


class ClearsAfter(_Lasting):
    """It holds, or has not been over for so long."""

    form: Literal["clears_after"]
    of_it: ClassVar[tuple[Keyword, ...]] = ("last",)

    def rules(self, name: str) -> Iterator[Rule]:
        given, bound = _duration(self.duration)
        head, last = f"{name}({_me(self.arguments)})", _atom(self.of, "last_", "T")
        yield Rule(f"{name}_holds", head, (_atom(self.of),))
        yield Rule(f"{name}_clearing", head, (last, "now(N)", given, f"N-T < {bound}"))


class _Valued(_Form):
    """Of an atom whose last argument is a number, which what is concluded leaves out."""

    @property
    def arguments(self) -> int:
        return signature(self.of).arity - 1


class Hysteresis(_Valued):
    """From one threshold on until another: `above`, `until_below`; or `below`, `until_above`."""

    form: Literal["hysteresis"]
    above: Amount | None = None
    until_below: Amount | None = None
    below: Amount | None = None
    until_above: Amount | None = None
    of_mine: ClassVar[tuple[Keyword, ...]] = ("feedback",)

    def numbers(self) -> dict[str, int | str]:
        keys = ("above", "until_below", "below", "until_above")
        return {k: v for k in keys if (v := getattr(self, k)) is not None}

    def rules(self, name: str) -> Iterator[Rule]:
        head, of = f"{name}({_me(self.arguments)})", _atom(self.of, value=True)
        up = self.above is not None
        given, bound = _amount(self.above if up else self.below, "B")
        label = f"{name}_{'above' if up else 'below'}"
        yield Rule(label, head, (of, given, f"V {'>' if up else '<'} {bound}"))
        given, bound = _amount(self.until_below if up else self.until_above, "B")
        kept = (of, f"prev_{head}", given, f"V {'>=' if up else '<='} {bound}")
        yield Rule(f"{name}_still", head, kept)


class Changes(_Valued):
    """Its number is by so much higher, or lower, than it was at most so long ago."""

    form: Literal["rising", "falling"]
    by: Amount
    duration: str = Field(min_length=1)
    of_it: ClassVar[tuple[Keyword, ...]] = ("last",)

    def durations(self) -> dict[str, str]:
        return {"duration": self.duration}

    def numbers(self) -> dict[str, int | str]:
        return {"by": self.by}

    def rules(self, name: str) -> Iterator[Rule]:
        (given, bound), (wanted, by) = _duration(self.duration), _amount(self.by, "B")
        mine = _me(self.arguments)
        change = f"V-W >= {by}" if self.form == "rising" else f"W-V >= {by}"
        earlier = f"last_{signature(self.of).name}({mine},W,T)"
        body = (_atom(self.of, value=True), earlier, wanted, change, "now(N)", given)
        yield Rule(f"{name}_by", f"{name}({mine})", (*body, f"N-T <= {bound}"))


AnyForm = Annotated[
    For | AtMostOnce | Within | Until | ClearsAfter | Hysteresis | Changes,
    Field(discriminator="form"),
]
KINDS: dict[str, type[_Form]] = {
    form: kind
    for kind in get_args(get_args(AnyForm)[0])
    for form in get_args(kind.model_fields["form"].annotation)
}
"""The forms by the names that manifests give them."""


@dataclass(frozen=True)
class Written:
    """The lines that forms add to a template's rules, and of which form each is."""

    lines: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """To stand behind the rules."""
        return "".join(f"{line}\n" for line in self.lines)


def written(
    forms: Mapping[str, AnyForm], ages: Mapping[str, int], said: Mapping[Memory, int | None]
) -> Written:
    """The rules of forms.

    `ages` are the longest durations of each, in seconds; `said` is what the rules themselves say
    to be remembered, and for how long (seconds).
    """
    needed: dict[Memory, tuple[str, int]] = {}
    for name, form in forms.items():
        for memory in form.memory(name):
            first, age = needed.get(memory, (name, 0))
            needed[memory] = first, max(age, ages.get(name, 0))
    found = [
        (f"#{keyword} {of}{f' {age}s' if keyword == 'last' else ''}.", name)
        for (keyword, of), (name, age) in needed.items()
        if (keyword, of) not in said
    ]
    found += [(str(rule), name) for name, form in forms.items() for rule in form.rules(name)]
    return Written(*map(tuple, zip(*found, strict=True))) if found else Written()


def is_parameter(text: str) -> bool:
    """Whether a duration names a parameter: others begin with a number or `P`."""
    return text[:1].islower()


def _duration(text: str) -> tuple[str, str]:
    """What a body asks for a duration, and what it then is in seconds."""
    if is_parameter(text):
        return f"{text}(Me,D)", "D"
    return "", str(spans.seconds(text.upper()))


def _amount(value: int | str | None, variable: str) -> tuple[str, str]:
    if isinstance(value, str):
        return f"{value}(Me,{variable})", variable
    return "", str(value)


def _me(arity: int, letter: str = "X") -> str:
    """The arguments of an atom, of which the first is the instance."""
    others = ("_" if letter == "_" else f"{letter}{n}" for n in range(2, arity + 1))
    return ",".join(["Me", *others])


def _tuple(arity: int, letter: str = "X") -> str:
    return f"({','.join(f'{letter}{n}' for n in range(2, arity + 1))},)"


def _atom(
    predicate: str, before: str = "", more: str = "", *, letter: str = "X", value: bool = False
) -> str:
    """An atom of a predicate, about what a form is about; with `value` its last argument is V."""
    name, arity = signature(predicate)
    arguments = [_me(arity - value, letter), *(["V"] if value else []), *([more] if more else [])]
    return f"{before}{name}({','.join(arguments)})"
