"""What is suspicious about durations in plain LARS: those that can never be over, or that no window
reaches, and counts of more points of time than there are."""

from __future__ import annotations

from collections.abc import Iterator

from citywise.reasoning.errors import Finding
from citywise.reasoning.languages.lars.elements import WrittenElement, WrittenRule
from citywise.reasoning.languages.lars.parsing import LarsReading
from citywise.reasoning.languages.lars.program import (
    At,
    BodyElement,
    Counted,
    LarsRule,
    LarsWindow,
    Now,
    TimeSpan,
    formula_text,
    in_brackets,
)
from citywise.reasoning.model.elapsed import Bound, Durations, Line, total
from citywise.reasoning.model.rules import Compare
from citywise.reasoning.model.values import Computed, Constant, Term, Variable


def durations(reading: LarsReading, rule: LarsRule, written: WrittenRule) -> Iterator[Finding]:
    """All findings about times of a rule."""
    yield from _lasting(reading, rule, written)
    yield from _counts(reading, rule, written)


def _lasting(reading: LarsReading, rule: LarsRule, written: WrittenRule) -> Iterator[Finding]:
    """Durations that can never be over, or that are longer than the window of their time."""
    times = {
        e.formula.time.name: e.formula.window
        for e in rule.body
        if isinstance(e.formula, At) and isinstance(e.formula.time, Variable) and not e.negated
    }
    clocks = {name for name, window in times.items() if window == TimeSpan(0)}
    lasting = Durations[str](clocks, times.keys() - clocks)
    for element in rule.body:
        match element:
            case BodyElement(Compare(comparator, left, right) as formula, False):
                said = formula_text(formula)
                lasting.compare(_line(left), comparator, _line(right), said)
    first = written.body[0] if written.body else None
    for (time, _clock), elapsed in lasting.found.items():
        contradiction = elapsed.contradiction(str)
        if contradiction is not None and first is not None:
            text, message = contradiction
            yield _found(reading, first, "never-over", f"`{text}`: {message}")
        elif first is not None:
            yield from _outside(reading, first, times[time], elapsed.least, elapsed.most)


def _outside(
    reading: LarsReading,
    part: WrittenElement,
    window: LarsWindow | None,
    least: Bound[str],
    most: Bound[str] | None,
) -> Iterator[Finding]:
    """A duration that no time of a window has."""
    if not isinstance(window, TimeSpan):
        return
    if least.units > window.size:
        message = (
            f"`{least.place}`: the window reaches back {window.size} points of time, and this asks "
            f"for {least.units}: make the window longer"
        )
        yield _found(reading, part, "short-window", message)
    elif most is not None and most.units < window.gap:
        message = (
            f"`{most.place}`: the window ends {window.gap} points of time before now, and this "
            f"asks for at most {most.units}: let it end later"
        )
        yield _found(reading, part, "short-window", message)


def _line(term: Term) -> Line | None:
    """A term as a sum; None if it is none."""
    match term:
        case Variable(name):
            return {name: 1}, 0
        case Constant(int(number)):
            return {}, number
        case Computed("+" | "-" as operation, (one, other)):
            left, right = _line(one), _line(other)
            sign = 1 if operation == "+" else -1
            return total(left, right, sign) if left and right else None
    return None


def _counts(reading: LarsReading, rule: LarsRule, written: WrittenRule) -> Iterator[Finding]:
    """Counts that no window has, or that are meant to be all of one: it has one point more."""
    operated = [e.formula for e in rule.body if not isinstance(e.formula, Now | Compare)]
    parts = [part for part in written.body if part.kind != "plain"]
    for formula, part in zip(operated, parts, strict=True):
        match formula:
            case Counted(_, comparator, Constant(int(number)), TimeSpan(size, gap)):
                points = size - gap + 1
                if number > points and comparator != "<=":
                    message = f"{in_brackets(formula.window)} has {points} points of time at most"
                    yield _found(reading, part, "never-over", f"{message}: {number} never hold")
                elif number == points - 1 > 1 and comparator == "=":
                    message = (
                        f"{in_brackets(formula.window)} is closed at both ends: it holds {points} "
                        f"points of time, not {number}"
                    )
                    yield _found(reading, part, "closed-window", message)


def _found(reading: LarsReading, part: WrittenElement, code: str, message: str) -> Finding:
    return Finding(reading.source.location(part.whole.start), "warning", code, message)
