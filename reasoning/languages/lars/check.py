"""What is remarkable about a program of plain LARS, what of it depends on what, and what evaluates
it (docs/plan.md).

Remarkable are durations that can never be over, or that no window reaches, and counts of more
points of time than there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from citywise.reasoning.asp.dependencies import (
    Dependencies,
    Dependency,
    Fragment,
    extended_graph,
    input_graph,
    input_predicates,
)
from citywise.reasoning.asp.rules import read
from citywise.reasoning.asp.syntax import Node
from citywise.reasoning.errors import Finding
from citywise.reasoning.languages.casp.check import check_reading
from citywise.reasoning.languages.casp.durations import Bound, Durations, Line, total
from citywise.reasoning.languages.lars.compile import obstacle
from citywise.reasoning.languages.lars.elements import WrittenElement, WrittenRule
from citywise.reasoning.languages.lars.parsing import LarsReading
from citywise.reasoning.languages.lars.program import (
    At,
    BodyElement,
    Box,
    Counted,
    Formula,
    LarsProgram,
    LarsRule,
    LarsWindow,
    LastTuples,
    Now,
    Since,
    TimeSpan,
    atoms_of,
    formula_text,
    has_gap,
    in_brackets,
    shown,
)
from citywise.reasoning.model.engine import program as rules_of
from citywise.reasoning.model.rules import Compare
from citywise.reasoning.model.values import Computed, Constant, Term, Variable
from citywise.reasoning.partition import sound
from citywise.reasoning.partition.description import Description, strata
from citywise.reasoning.partition.plan import Plan, Reason

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NAMED = re.compile(r"(?<![\w'])_*[A-Z][\w']*")
_ANONYMOUS = re.compile(r"(?<![\w'])_(?![\w'])")


def findings(reading: LarsReading, *, partitioned: bool = False) -> list[Finding]:
    """All findings about a program that was read, by position (see `check_reading`)."""
    return check_reading(
        reading,
        partitioned=partitioned,
        dependencies=dependencies(reading.program, reading.rules),
        refined=lambda found: (*joined(reading, found), *suspects(reading)),
    )


def dependencies(program: LarsProgram, nodes: Sequence[Node] = ()) -> Dependencies:
    """The dependency graph of a program's predicates, whatever the time they are asked for.

    Negative is what must be complete before: what is negated, holds at all points of time of
    a window or since one, or is counted. Windows of tuples hold what came before and depend on no
    rule, and those that end before now (`[1..3]`) on those only that place heads in time.
    """
    return Dependencies(nodes, _edges(program.rules))


def _edges(rules: Sequence[LarsRule]) -> Iterator[Dependency]:
    placed = {rule.head.signature for rule in rules if rule.head and rule.time is not None}
    for rule in rules:
        if rule.head is None:
            continue
        for element in rule.body:
            formula = element.formula
            if isinstance(formula, Compare) or isinstance(_window(formula), LastTuples):
                continue
            if isinstance(formula, Since) and formula.window.size:
                yield Dependency(rule.head.signature, formula.held.signature, True, rule.line)
            if has_gap(_window(formula)) and formula.atom.signature not in placed:
                continue
            complete = element.negated or _is_whole(formula)
            yield Dependency(rule.head.signature, formula.atom.signature, complete, rule.line)


def _window(formula: Formula) -> LarsWindow | None:
    return None if isinstance(formula, Now | Compare) else formula.window


def _is_whole(formula: Formula) -> bool:
    """Whether all points of time of a window decide."""
    return isinstance(formula, Box | Counted) and formula.window != TimeSpan(0)


def fragment(program: LarsProgram) -> Fragment:
    """`positive` without negation, else `stratified`, of a program without a loop through it."""
    bodies = [element for rule in program.rules if rule.head for element in rule.body]
    return "stratified" if any(map(_falls, bodies)) else "positive"


def _falls(element: BodyElement) -> bool:
    """Whether an element may cease to hold when atoms are added."""
    formula = element.formula
    counts = isinstance(formula, Counted) and formula.comparator != ">="
    return counts or (element.negated and not isinstance(formula, Compare))


def joined(reading: LarsReading, found: Iterable[Finding]) -> Iterator[Finding]:
    """Findings without the large products in rules that compare points of time: clingo's
    tree does not show the times by which they join."""
    timed = {
        rule.line
        for rule in reading.program.rules
        if any(isinstance(element.formula, At) for element in rule.body)
    }
    for finding in found:
        if finding.code != "product" or finding.location.line not in timed:
            yield finding


def suspects(reading: LarsReading) -> Iterator[Finding]:
    """Rules that may not mean what they say."""
    for rule, written in zip(reading.program.rules, reading.written, strict=True):
        yield from _elements(reading, rule, written)
        yield from _head(reading, rule, written)
        yield from durations(reading, rule, written)


def _elements(reading: LarsReading, rule: LarsRule, written: WrittenRule) -> Iterator[Finding]:
    operated = [e.formula for e in rule.body if not isinstance(e.formula, Now | Compare)]
    parts = [part for part in written.body if part.kind != "plain"]
    program = reading.program
    fixed = program.derived - program.streamed - program.request.inputs
    placed = {r.head.signature for r in program.rules if r.head and r.time is not None}
    for formula, part in zip(operated, parts, strict=True):
        signature = formula.atom.signature
        if isinstance(formula.window, LastTuples) and signature in fixed:
            message = (
                f"`{signature}` is derived, and a window of tuples holds input atoms only: it "
                f"never holds there; write a window of time, or `#stream {signature}.`"
            )
            yield _warning(reading, part, "derived-tuple", message)
        for atom in atoms_of(formula) if _looks_back(formula) else ():
            if atom.signature in fixed - placed:
                gap = has_gap(formula.window) and atom == formula.atom
                sees = "never sees it" if gap else "sees it at this point only"
                message = (
                    f"`{atom.signature}` is derived now and forgotten after: the window {sees}; "
                    f"place it with a head `@T {atom.name}`, or remember it with `#stream "
                    f"{atom.signature}.`"
                )
                yield _warning(reading, part, "forgotten", message)
        if isinstance(formula, At) and formula.window is None:
            message = (
                f"`@` without a window keeps all there ever was of `{signature}`; write a window "
                "behind it, e.g. `[1 h]`, if the past fades"
            )
            yield _warning(reading, part, "unbounded-history", message)
        if _is_whole(formula) and _ANONYMOUS.search(_STRING.sub('""', part.literal.text)):
            yield _warning(reading, part, "each-value", _by_value(part))


def _by_value(part: WrittenElement) -> str:
    """What `_` means where points of time are counted, and how to count any value."""
    text = part.literal.text
    named = ",".join(dict.fromkeys(_NAMED.findall(_STRING.sub("", text))))
    name = f"any_{text.partition('(')[0].strip('- ')}"
    head = f"{name}({named})" if named else name
    window = f"[{part.window.text.strip('[] ')}]" if part.window else "[…]"
    return (
        f"each value of `_` is counted by itself in `{text}`: it holds only if one "
        "value is there often enough; to count whatever the value, count "
        f"`{head}` with a rule `@T {head} :- @T {text} {window}.`"
    )


def _looks_back(formula: Formula) -> bool:
    """Whether it asks for points of time before now."""
    window = _window(formula)
    return not isinstance(window, LastTuples) and window != TimeSpan(0)


def _head(reading: LarsReading, rule: LarsRule, written: WrittenRule) -> Iterator[Finding]:
    if rule.head is None or written.head is None:
        return
    signature = rule.head.signature
    if signature in reading.request.inputs:
        message = (
            f"`{signature}` is declared `#input` and derived here; what is derived is no input "
            "(tuple windows do not hold it); give one of the two another name"
        )
        yield _warning(reading, written.head, "derived-input", message)
    if isinstance(rule.time, Constant):
        message = (
            f"`@{rule.time.value}` is outside the timeline until then, and while it is there is "
            "no answer; bind the time in the body"
        )
        yield _warning(reading, written.head, "fixed-time", message)
    elif rule.time is not None and _is_ahead(rule.time, rule):
        message = (
            "this time is always after now, where nothing can hold: there is no answer while the "
            "body holds; derive it now, and look back with a window"
        )
        yield _warning(reading, written.head, "future", message)


def _is_ahead(time: Term, rule: LarsRule) -> bool:
    """Whether a time is one that a window of length 0 gives, and more."""
    now = {
        e.formula.time
        for e in rule.body
        if isinstance(e.formula, At) and not e.negated and e.formula.window == TimeSpan(0)
    }
    match time:
        case Computed("+", (Variable() as base, Constant(int(more)))) | Computed(
            "+", (Constant(int(more)), Variable() as base)
        ):
            return more > 0 and base in now
    return False


def _warning(reading: LarsReading, part: WrittenElement, code: str, message: str) -> Finding:
    return Finding(reading.source.location(part.whole.start), "warning", code, message)


_WHOLE = (
    "plain LARS is evaluated as a whole: its windows stand in the rules, and a window of tuples "
    "counts what any rule reads"
)


def describe(program: LarsProgram, path: Path) -> Description:
    """The program of a file: fragment, engine, strata and graphs over its predicates.

    The graphs are those of the rules without their windows and times. There is one
    partition, with all rules.
    """
    request = program.request
    rules = read(request.rules, request.labels).rules
    depends = dependencies(program)
    inputs, extended = input_predicates(request, rules), extended_graph(rules)
    cycle, why = depends.negative_cycle(), obstacle(program)
    kind: Fragment = "normal" if why is not None else fragment(program)
    return Description(
        file=path.name,
        language="lars",
        fragment=kind,
        engine="incremental" if why is None else "solver",
        outside=() if why is None else (why,),
        strata=strata(depends, extended.nodes),
        cycle=None if cycle is None else ", ".join(f"{e.head} needs {e}" for e in cycle),
        rules=rules,
        inputs=inputs,
        extended=extended,
        graph=input_graph(extended, inputs),
        plan=_plan(program),
    )


def _plan(program: LarsProgram) -> Plan:
    """The plan that cuts nothing."""
    found = sound.whole(rules_of(program.request, frozenset()), program.request.labels)
    (partition,) = found.partitions
    partition = replace(partition, shows=shown(program, frozenset()))
    return replace(found, partitions=(partition,), because=(Reason(_WHOLE),))


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
            yield _finding(reading, first, "never-over", f"`{text}`: {message}")
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
        yield _finding(reading, part, "short-window", message)
    elif most is not None and most.units < window.gap:
        message = (
            f"`{most.place}`: the window ends {window.gap} points of time before now, and this "
            f"asks for at most {most.units}: let it end later"
        )
        yield _finding(reading, part, "short-window", message)


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
                    yield _finding(reading, part, "never-over", f"{message}: {number} never hold")
                elif number == points - 1 > 1 and comparator == "=":
                    message = (
                        f"{in_brackets(formula.window)} is closed at both ends: it holds {points} "
                        f"points of time, not {number}"
                    )
                    yield _finding(reading, part, "closed-window", message)


def _finding(reading: LarsReading, part: WrittenElement, code: str, message: str) -> Finding:
    return Finding(reading.source.location(part.whole.start), "warning", code, message)
