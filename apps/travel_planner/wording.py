"""What plans say: sentences made of codes and values, in the languages of `words/`."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from citywise.apps.travel_planner.decisions import Conflict, Constraint, Loosening, Reason

_WORDS = Path(__file__).with_name("words")
_SIGNS = {"<": "<", "<=": "≤", "=": "=", ">=": "≥", ">": ">"}
_DIFFERENCES = (
    "arrival", "departure", "changes", "time", "pollution", "distance", "cost", "walk",
)  # fmt: skip
_LEAST = {
    "arrival": 30.0, "departure": 30.0, "changes": 0.0, "time": 30.0, "distance": 50.0,
    "pollution": 0.0, "cost": 0.5, "walk": 20.0,
}  # fmt: skip
"""Smaller differences are not worth a word."""
_LEAST_PERCENT = 1.0
_WHOLE = ("time", "distance", "walk", "radius")
Whole = Callable[[float], int]
_INWARD: Mapping[str, Whole] = {
    "<": math.floor,
    "<=": math.floor,
    "=": round,
    ">=": math.ceil,
    ">": math.ceil,
}
_OUTWARD: Mapping[str, Whole] = {
    **_INWARD,
    "<": math.ceil,
    "<=": math.ceil,
    ">=": math.floor,
    ">": math.floor,
}
"""How a value beyond a limit is rounded, so that it is seen to be beyond it."""
Values = Mapping[str, float | None]


@dataclass(frozen=True)
class Among:
    """What an option is compared with: how many could be chosen, in words (`7 ways`), whether
    limits leave others out, and which was chosen."""

    counted: str
    limited: bool
    chosen: str | None


@lru_cache
def languages() -> tuple[str, ...]:
    """Those in which plans speak: a file each."""
    return tuple(sorted(path.stem for path in _WORDS.glob("*.toml")))


@lru_cache
def _tables(language: str) -> dict[str, Any]:
    path = _WORDS / f"{language}.toml"
    return tomllib.loads((path if path.exists() else _WORDS / "en.toml").read_text("utf-8"))


class Words:
    """The sentences of one language; unknown languages are English."""

    def __init__(self, language: str = "en", currency: str = "DKK") -> None:
        self._tables = _tables(language)
        self.currency = currency
        """Its code (ISO 4217)."""

    def say(self, table: str, key: str, **values: object) -> str:
        """One sentence with its values."""
        text = str(self._tables[table][key]).format(**values)
        # What ends with an abbreviation, such as "kr.", has the full stop already.
        return text[:-1] if text.endswith("..") else text

    # --- Quantities -------------------------------------------------------------------------

    def number(self, value: float, decimals: int) -> str:
        """A number with so many decimals at most."""
        text = f"{value:.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text.replace(".", self._tables["decimal"])

    def duration(self, seconds: float) -> str:
        """`40 s`, `12 min`, `1 h 5 min`: to the second below a minute."""
        unit = self._tables["units"]
        if 0 < seconds < 0.5:
            return self.say("units", "under", amount=f"1 {unit['s']}")
        if round(seconds) < 60:
            return f"{round(seconds)} {unit['s']}"
        hours, minutes = divmod(round(seconds / 60), 60)
        parts = [f"{hours} {unit['h']}"] * bool(hours)
        return " ".join(parts + [f"{minutes} {unit['min']}"] * bool(minutes or not hours))

    def length(self, metres: float) -> str:
        """`230 m`, `1.4 km`."""
        unit = self._tables["units"]
        if metres < 1000:
            return f"{self.number(metres, 0)} {unit['m']}"
        return f"{self.number(metres / 1000, 1)} {unit['km']}"

    def amount(self, on: str, value: float) -> str:
        """A value of a quantity with its unit."""
        match on:
            case "time" | "arrival" | "departure":
                return self.duration(value)
            case "distance" | "walk" | "radius":
                return self.length(value)
            case "cost":
                return self.money(value)
        return self.number(value, 1)

    def money(self, value: float) -> str:
        """`12.5 DKK`, by what one calls the currency."""
        currency = self._tables["currencies"].get(self.currency, self.currency)
        return f"{self.number(value, 2)} {currency}"

    def percent(self, share: float) -> str:
        """`12 %`; of less than one a decimal."""
        return f"{self.number(share * 100, 0 if share >= 0.01 else 1)} %"

    def _by(self, on: str, by: float, other: float) -> str:
        """How far a value is from another. A dose of pollution tells nobody anything by itself:
        it is told as a part of the other, and where it is more than all of that, in a word."""
        if on == "pollution" and other:
            share = by / abs(other)
            return self.percent(max(share, 0.001)) if share <= 1 else self._tables["far"]
        return self.amount(on, by)

    def name(self, on: str) -> str:
        """What a quantity is called."""
        return str(self._tables["names"].get(on, on))

    def mode(self, mode: str) -> str:
        """`by car`."""
        return self.say("modes", mode)

    def limit(self, constraint: Constraint) -> str:
        """`time ≤ 15 min`, to the second and the metre: upper ones are rounded down."""
        on, op = constraint.on, constraint.op
        value = self._exact(on, constraint.value, _INWARD[op])
        return f"{self.name(on)} {_SIGNS[op]} {value}"

    def _exact(self, on: str, value: float, whole: Whole) -> str:
        """A bound, or a value beside it: whole seconds and metres, but for very few."""
        unit = self._tables["units"]
        if on in _WHOLE and value >= 10:
            value = float(whole(value))
        if on == "time" and value % 60:
            minutes, seconds = divmod(value, 60)
            parts = [f"{minutes:.0f} {unit['min']}"] * bool(minutes)
            return " ".join([*parts, f"{self.number(seconds, 1)} {unit['s']}"])
        if on in _WHOLE and on != "time" and value >= 1000:
            return f"{self.number(value / 1000, 3)} {unit['km']}"
        return self.amount(on, value)

    def list(self, words: Iterable[str]) -> str:
        """`a, b and c`."""
        *first, last = list(dict.fromkeys(words))
        return f"{', '.join(first)} {self._tables['and']} {last}" if first else last

    def names(self, quantities: Iterable[str]) -> str:
        """The names of some quantities in one phrase."""
        return self.list(map(self.name, quantities))

    # --- Reasons ----------------------------------------------------------------------------

    def why(self, option: str, reasons: Sequence[Reason], among: Among) -> str:
        """The sentences for one option."""
        said = [self._reason(option, reason, among) for reason in reasons]
        return " ".join(dict.fromkeys(said))

    def _reason(self, option: str, reason: Reason, among: Among) -> str:
        match reason.code:
            case "only":
                return self.say("reasons", "only_admissible" if among.limited else "only")
            case "best":
                return self._best(reason, among)
            case "behind":
                return self._behind(reason)
            case "dominated":
                which = "chosen" if reason.against == among.chosen else "another"
                names = self.names(reason.worse or (reason.on or "",))
                return self.say(
                    "reasons", "dominated", other=self.say("reasons", which), names=names
                )
            case "violates":
                return self._violates(reason)
            case "unknown":
                return self._unknown(reason)
        if option == among.chosen:
            return self.say("reasons", "tied_best")
        return self.say("reasons", "tie")

    def _best(self, reason: Reason, among: Among) -> str:
        on = reason.on or ""
        if reason.by is None or reason.value is None or reason.other is None:
            return self.say("reasons", "best_unknown", count=among.counted, name=self.name(on))
        less, by = reason.value < reason.other, self._by(on, reason.by, reason.other)
        if reason.level:
            lead = self.say("less" if less else "more", on, by=by)
            return self.say("reasons", "best_then", names=self.names(reason.level), lead=lead)
        return self.say("best" if less else "most", on, count=among.counted, by=by)

    def _behind(self, reason: Reason) -> str:
        on = reason.on or ""
        if reason.by is None or reason.value is None or reason.other is None:
            return self.say("reasons", "behind_unknown", name=self.name(on))
        table = "behind" if reason.value > reason.other else "short"
        sentence = self.say(table, on, by=self._by(on, reason.by, reason.other))
        if not reason.better:
            return self.say("reasons", "plain", sentence=sentence)
        names = self.names(reason.better)
        return self.say("reasons", "but_better", sentence=sentence, names=names)

    def _violates(self, reason: Reason) -> str:
        limit, on = reason.constraint, reason.on or ""
        if limit is None or reason.value is None:
            return self._unknown(reason)
        if on == "pollution" and limit.value and limit.op != "=":
            by = self._by(on, abs(reason.value - limit.value), limit.value)
            side = "over" if reason.value > limit.value else "under"
            return self.say("reasons", side, limit=self.limit(limit), by=by)
        value = self._exact(on, reason.value, _OUTWARD[limit.op])
        return self.say(
            "reasons", "violates", limit=self.limit(limit), name=self.name(on), value=value
        )

    def _unknown(self, reason: Reason) -> str:
        sentence = "unknown" if reason.constraint else "behind_unknown"
        return self.say("reasons", sentence, name=self.name(reason.on or ""))

    # --- Differences and conflicts ----------------------------------------------------------

    def difference(self, new: Values, old: Values) -> str:
        """What another choice means against the old one: `4 min longer, 12 % less pollution`."""
        said = [part for on in _DIFFERENCES if (part := self._apart(on, new, old))]
        return ", ".join(said) or self.say("same", "difference")

    def _apart(self, on: str, new: Values, old: Values) -> str | None:
        mine, theirs = new.get(on), old.get(on)
        if mine is None or theirs is None or abs(mine - theirs) <= _LEAST[on]:
            return None
        apart = abs(mine - theirs)
        if on == "pollution" and theirs and apart / theirs * 100 < _LEAST_PERCENT:
            return None
        table = "more" if mine > theirs else "less"
        return self.say(table, on, by=self._by(on, apart, theirs))

    def relaxation(
        self, conflict: Conflict | None, option: str, sentence: str = "relaxation"
    ) -> str:
        """What to loosen so that there is an answer; `option` says which it would be."""
        if conflict is None:
            return self.say("conflict", "nothing")
        if conflict.relaxation is None:
            return self.say("conflict", "none")
        loosened = self.list(map(self._loosened, conflict.relaxation.loosenings))
        return self.say("conflict", sentence, loosened=loosened, option=option)

    def _loosened(self, loosening: Loosening) -> str:
        limit = self.limit(loosening.loosened)
        constraint = loosening.constraint
        bound = self._exact(constraint.on, constraint.value, _INWARD[constraint.op])
        return self.say("conflict", "instead", limit=limit, bound=bound)


def difference(new: Values, old: Values, language: str = "en") -> str:
    """`Words.difference`, for who needs nothing else."""
    return Words(language).difference(new, old)
