"""What is wrong with the forms of a template, before rules are made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from citywise.backend.packs import spans
from citywise.backend.packs.forms import (
    AnyForm,
    AtMostOnce,
    Hysteresis,
    Memory,
    Within,
    is_parameter,
    signature,
)
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.numbers import NumberParameter
from citywise.backend.packs.parameters import AnyParameter, DurationParameter
from citywise.backend.packs.values import BadValueError, show
from citywise.backend.packs.vocabulary import CONCLUSIONS, PREDICATES
from citywise.reasoning import Signature
from citywise.reasoning.languages.casp import Reading

Fault = tuple[tuple[str, ...], str, str]
"""A key of the form's table, a code, and what is wrong there."""
_SIDES = ("above", "until_below", "below", "until_above")


@dataclass(frozen=True)
class Forms:
    """The forms of a template, what its rules derive, and its parameters."""

    forms: Mapping[str, AnyForm]
    reading: Reading
    """The rules without those of the forms."""
    parameters: Mapping[str, AnyParameter]

    @property
    def said(self) -> dict[Memory, int | None]:
        """What the rules say themselves to be remembered, and for how long (seconds)."""
        found = self.reading.directives
        said: dict[Memory, int | None] = {("feedback", of): None for of in found.feedback}
        said |= {("held", of): None for of in found.held}
        ages = {of: age for of, (age, _at) in found.last.items()}
        return said | {("last", of): age and age // 1000 for of, age in ages.items()}

    @property
    def ages(self) -> dict[str, int]:
        """The longest duration of each form, in seconds."""
        return {
            name: max((self._longest(text) or 0 for text in form.durations().values()), default=0)
            for name, form in self.forms.items()
        }

    def faults(self) -> Iterator[Fault]:
        """All that is wrong."""
        for name, form in self.forms.items():
            yield from self._name(name, form)
            yield from self._predicates(name, form)
            for key, text in form.durations().items():
                yield from self._duration(name, key, text)
            for key, value in form.numbers().items():
                yield from self._number(name, key, value)
            yield from self._own(name, form)
            yield from self._forgotten(name, form)

    # -- names ----------------------------------------------------------------------

    @property
    def _rules_derive(self) -> Set[Signature]:
        return self.reading.request.derived | set(self.reading.facts)

    def _name(self, name: str, form: AnyForm) -> Iterator[Fault]:
        taken = {s.name for s in self._rules_derive} | {*PREDICATES, *CONCLUSIONS}
        taken |= self.parameters.keys()
        for end in ("", *form.helpers):
            if f"{name}{end}" in taken or (end and f"{name}{end}" in self.forms):
                message = f"`{name}{end}` is what this form concludes, and there is one already"
                yield (name,), "name", f"{message}; call the form otherwise"

    def _predicates(self, name: str, form: AnyForm) -> Iterator[Fault]:
        for key, written in {"of": form.of, **form.others()}.items():
            there = {str(s) for s in self._rules_derive if s.arity}
            there |= {f"{n}/{f.arguments}" for n, f in self.forms.items() if n != name}
            if written not in there:
                cure = f"there are {', '.join(sorted(there)) or 'none'}"
                hint = did_you_mean(written, sorted(there), cure)
                message = f"no rule and no other form derives `{written}`; {hint}"
                yield (name, key), "unknown-predicate", message
        least = signature(form.of).arity
        for key, written in form.others().items():
            if signature(written).arity > least:
                message = f"`{written}` has more arguments than `{form.of}`: it is about the first "
                yield (name, key), "arity", f"{message}{least} of them at most"

    # -- durations and numbers --------------------------------------------------------

    def _longest(self, text: str) -> int | None:
        """Seconds that a duration may have; None: it is not said."""
        found = self.parameters.get(text)
        if isinstance(found, DurationParameter):
            return spans.seconds(found.max) if found.max else None
        try:
            return None if found else spans.seconds(spans.duration(text, ""))
        except BadValueError:
            return None

    def _duration(self, name: str, key: str, text: str) -> Iterator[Fault]:
        if is_parameter(text):
            yield from self._parameter(name, key, text, DurationParameter, "duration")
            return
        try:
            seconds = spans.seconds(spans.duration(text, key))
        except BadValueError as fault:
            yield (name, key), "value", str(fault)
            return
        if not seconds:
            yield (name, key), "value", f"{key}: found {show(text)}, expected more than nothing"

    def _number(self, name: str, key: str, value: int | str) -> Iterator[Fault]:
        if isinstance(value, str):
            yield from self._parameter(name, key, value, NumberParameter, "number")

    def _parameter(
        self, name: str, key: str, wanted: str, kind: type, called: str
    ) -> Iterator[Fault]:
        fitting = [n for n, p in self.parameters.items() if isinstance(p, kind) and not p.repeated]
        if wanted not in fitting:
            cure = f"there is {', '.join(fitting) or 'none'}; or write the {called} itself"
            hint = did_you_mean(wanted, fitting, cure)
            message = f"`{wanted}` is no parameter of type {called}, with one value; {hint}"
            yield (name, key), "unknown-parameter", message

    # -- what a form says of its own ----------------------------------------------------

    def _own(self, name: str, form: AnyForm) -> Iterator[Fault]:
        if form.arguments < 1:
            message = f"`{form.of}` has no argument beside the number, which is the last one"
            yield (name, "of"), "arity", f"{message}: write e.g. `level(Me,Place,Value)`"
        if isinstance(form, AtMostOnce) and form.per == "user" and form.arguments < 2:
            message = f'`{form.of}` is of the user alone; leave `per = "user"` out'
            yield (name, "per"), "value", message
        if isinstance(form, Within) and (form.near is None) == (form.after is None):
            message = "say what else: `near` for before or after, or `after` for after only"
            yield (name,), "missing-key", message
        if isinstance(form, Hysteresis):
            yield from self._thresholds(name, form)

    def _thresholds(self, name: str, form: Hysteresis) -> Iterator[Fault]:
        given = tuple(key for key in _SIDES if getattr(form, key) is not None)
        if given not in (_SIDES[:2], _SIDES[2:]):
            message = "say `above` and `until_below`, or `below` and `until_above`"
            yield (name,), "missing-key", f"{message}; there is {', '.join(given) or 'neither'}"
            return
        first, second = (getattr(form, key) for key in given)
        numbers = isinstance(first, int) and isinstance(second, int)
        if numbers and (second > first if given[0] == "above" else second < first):
            message = f"`{given[0]} = {first}` and `{given[1]} = {second}`: it would end before it"
            yield (name, given[1]), "value", f"{message} begins; exchange them"

    def _forgotten(self, name: str, form: AnyForm) -> Iterator[Fault]:
        """What is remembered for a time must have an end, and is not forgotten too early."""
        remembered = [of for keyword, of in form.memory(name) if keyword == "last"]
        for key, text in form.durations().items() if remembered else ():
            found, longest = self.parameters.get(text), self._longest(text)
            if isinstance(found, DurationParameter) and longest is None:
                message = f'give the parameter `{text}` a `max`, e.g. `max = "7d"`: so long is'
                yield (name, key), "unbounded-history", f"{message} remembered what was"
                continue
            for of in remembered:
                age = self.said.get(("last", of))
                if age is not None and longest is not None and age < longest:
                    message = f"`#last {of} {age}s` forgets before {text} is over; leave it out"
                    yield (name, key), "forgotten", message
