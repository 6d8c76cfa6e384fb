"""Rules as straight-line Python, a function for each change they can meet.

Interpreting a plan costs two to three times what running it as code does. A function takes
rows with horizons that changed, joins them with the other literals, and does one of:

- `derive`: say which rows of the head follow, and up to when;
- `withdraw`: take out the rows of the head that may rest on the changed ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from types import CodeType
from typing import Any, Literal

from citywise.reasoning.engines.incremental.relation import (
    FOREVER,
    Bucket,
    Horizons,
    Index,
    Relation,
)
from citywise.reasoning.model import values
from citywise.reasoning.model.joins import flat, is_known, ordered
from citywise.reasoning.model.rules import Absent, Between, Call, Compare, Holds, Rule, Scan
from citywise.reasoning.model.rules import Literal as BodyLiteral
from citywise.reasoning.model.values import (
    Compound,
    Computed,
    Constant,
    Row,
    Term,
    Value,
    Variable,
    variables,
)

Change = Callable[[Horizons, list[Row], list[int], int], None]
"""`function(changed, found, ends, before)`: adds rows of the head to `found` and their horizons
to `ends`; `before` is the point of time before that of the step."""
Copy = Callable[[Horizons, int], Horizons]
"""`function(changed, horizon)`: the head's rows for rows that all have that horizon."""
Look = Callable[[int], None]
"""Sees to the limits, told how many rows have been found."""
Mode = Literal["derive", "withdraw"]
_TURNS = 255
"""After so many turns of a loop limits are looked at; a power of two less one."""
_BLOCKS = 15
"""Loops within one another: Python allows 20 blocks in a function."""
_OFTEN = 3
"""Scans of one relation from which on it pays to see to it that none of what they give
together is found twice."""
_INLINE = {"+": "+", "-": "-", "*": "*", "&": "&", "?": "|", "^": "^"}


@lru_cache(maxsize=2_000)
def _compiled(source: str, name: str) -> CodeType:
    """An evaluation that begins anew writes the same functions, and finds them compiled."""
    return compile(source, name, "exec")


def function(
    rule: Rule,
    trigger: int | None,
    mode: Mode,
    relations: Mapping[str, Relation],
    look: Look,
) -> Change:
    """The function that meets changes of a body literal; of nothing, where `trigger` is
    None: `changed` is then `{(): FOREVER}`."""
    writer = _Writer(rule, mode, relations, look)
    # A copy: the rule is shared by the functions of all its literals.
    others = list(rule.body)
    start = others.pop(trigger) if trigger is not None else Scan("", ())
    assert isinstance(start, Scan | Absent | Holds)
    terms, arithmetic = flat(start.terms, "#t")
    if isinstance(start, Scan) and mode == "derive":
        least = 2 if relations[rule.head].once else _OFTEN
        writer.met = _met(rule.body[:trigger], start, rule, least)
    return writer.function(terms, [*arithmetic, *others])


def _met(before: Sequence[BodyLiteral], trigger: Scan, rule: Rule, least: int) -> tuple[Scan, ...]:
    """Scans before the trigger of its relation, if so many are: changed rows are
    met there in their own turn, and would only give the same again."""
    scans = [each for each in rule.body if isinstance(each, Scan)]
    if sum(each.relation == trigger.relation for each in scans) < least:
        return ()
    return tuple(s for s in before if isinstance(s, Scan) and s.relation == trigger.relation)


def rederiving(rule: Rule, relations: Mapping[str, Relation], look: Look) -> Change:
    """The function that derives those of the given rows of the head that still can be."""
    terms, arithmetic = flat(rule.terms, "#h")
    return _Writer(rule, "derive", relations, look).function(terms, [*arithmetic, *rule.body])


def copying(rule: Rule, relations: Mapping[str, Relation], look: Look) -> Copy:
    """For a rule with one scan: the head's rows for rows that share a horizon."""
    others = list(rule.body)
    at = next(i for i, literal in enumerate(others) if isinstance(literal, Scan))
    scan = others.pop(at)
    assert isinstance(scan, Scan)
    return _Writer(rule, "derive", relations, look).copying(scan.terms, others)


class RuleWriter:
    """Writes one function that meets the literals of a rule: terms, comparisons and loops."""

    def __init__(self, rule: Rule, look: Look) -> None:
        self._rule = rule
        self._look = look
        self._loops = 0
        """Loops within that over the changes, so far."""
        self._lines: list[str] = []
        self._depth = 1
        self._blocks = 0
        """Loops around what is written, in its function."""
        self._apart: list[int] = []
        """Depths at which functions of their own stand."""
        self._names: dict[str, Any] = {}
        """What the function finds in its arguments' defaults."""
        self._known_as: dict[int, str] = {}
        """Their names, by their ids: `_names` keeps them."""
        self._bound: dict[str, str] = {}
        """Variables, and what they are called in Python."""
        self._integers: set[str] = set()
        """Names and constants known to be numbers."""
        self._next = 0

    def _compiled(self, head: str) -> Any:
        # Relations, look-ups and values are defaults of arguments: local names, which Python
        # finds by place, not by hash. The source itself has only names made here, numbers and
        # quoted function names, so no text of a program can become code.
        defaults = "".join(f", {name}={name}" for name in self._names)
        # `turns` is counted for each call by itself.
        source = "\n".join([f"{head}{defaults}, turns=0):", *self._lines])
        namespace = dict(self._names)
        exec(_compiled(source, f"<rule {self._rule.name}>"), namespace)  # noqa: S102 - ours
        run = namespace["run"]
        run.source = source
        return run

    # -- writing ------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _loop(self, text: str) -> None:
        if self._blocks == _BLOCKS:
            self._set_apart()
        self._line(text)
        self._depth += 1
        self._blocks += 1

    def _set_apart(self) -> None:
        """What follows is a function of its own."""
        # Python allows 20 blocks within one another. `for _ in (0,)` makes `continue` mean there
        # what it means here: on to the next row.
        self._apart.append(self._depth)
        self._line("def deeper():")
        self._depth += 1
        self._line("nonlocal turns")
        self._line("for _ in (0,):")
        self._depth += 1
        self._blocks = 1

    def _close(self) -> None:
        """Call the functions that were set apart, where they stand."""
        for depth in reversed(self._apart):
            self._depth = depth
            self._line("deeper()")

    def _skip_if(self, condition: str) -> None:
        self._line(f"if {condition}: continue")

    def _look_now_and_then(self) -> None:
        """See to the limits where loops within loops may take long."""
        look = self._use("look", self._look)
        self._line("turns += 1")
        self._line(f"if not turns & {_TURNS}: {look}(len(found))")

    def _fresh(self, stem: str) -> str:
        self._next += 1
        return f"{stem}{self._next}"

    def _use(self, stem: str, thing: Any) -> str:
        """A name for something that exists before the function runs."""
        if (known := self._known_as.get(id(thing))) is not None:
            return known
        # By identity, since dictionaries have no hash; `_names` keeps the thing, so its id is not
        # given to another.
        name = self._known_as[id(thing)] = self._fresh(stem)
        self._names[name] = thing
        return name

    # -- literals that look at no relation ---------------------------------------------

    def _between(self, literal: Between, bound: frozenset[str]) -> None:
        low, high = self._integer(literal.low), self._integer(literal.high)
        if is_known(literal.term, bound):
            value = self._integer(literal.term)
            self._skip_if(f"not {low} <= {value} <= {high}")
            return
        value = self._fresh("v")
        self._loop(f"for {value} in range({low}, {high} + 1):")
        self._look_now_and_then()
        self._loops += 1
        self._integers.add(value)
        self._match(value, literal.term)

    def _call(self, literal: Call) -> None:
        call, value = self._use("call", literal.function), self._fresh("v")
        arguments = ", ".join(self._expression(argument) for argument in literal.arguments)
        self._line(f"{value} = {call}({arguments})")
        self._skip_if(f"{value} is None")
        if literal.result is not None:
            self._match(value, literal.result)

    def _compare(self, literal: Compare, bound: frozenset[str]) -> None:
        left, right = literal.left, literal.right
        if literal.comparator in ("=", "!="):
            if not is_known(left, bound):
                left, right = right, left
            if is_known(right, bound):
                sign = "!=" if literal.comparator == "=" else "=="
                self._skip_if(f"{self._expression(left)} {sign} {self._expression(right)}")
            else:
                self._match(self._named(left), right)
            return
        one, two = self._named(left), self._named(right)
        # Python's own comparison is right for two numbers, which most are; clingo's order of
        # other terms is a call.
        plain = f"{one} {literal.comparator} {two}"
        order = self._use("order", values.order)
        terms = f"{order}({one}) {literal.comparator} {order}({two})"
        checks = [f"{n}.__class__ is int" for n in (one, two) if n not in self._integers]
        if not checks:
            self._skip_if(f"not {plain}")
        else:
            self._skip_if(f"not ({plain} if {' and '.join(checks)} else {terms})")

    # -- terms --------------------------------------------------------------------------

    def _unpacked(
        self, terms: tuple[Term, ...], known: frozenset[int] = frozenset()
    ) -> tuple[str, list[tuple[str, Term]]]:
        """What a row is unpacked into, which gives variables their values; and the parts
        that must be met after it. Those `known` are met already."""
        later: list[tuple[str, Term]] = []
        targets = []
        for position, term in enumerate(terms):
            if position in known:
                targets.append("_")
            elif isinstance(term, Variable) and term.name not in self._bound:
                targets.append(self._bind(term.name))
            else:
                name = self._fresh("v")
                targets.append(name)
                later.append((name, term))
        unpacked = f"({', '.join(targets)},)" if any(t != "_" for t in targets) else "_"
        return unpacked, later

    def _match(self, value: str, term: Term) -> None:
        """Go on only if a value is what a term says; variables get theirs."""
        if isinstance(term, Variable) and term.name not in self._bound:
            name = self._bind(term.name)
            self._line(f"{name} = {value}")
            if value in self._integers:
                self._integers.add(name)
        elif isinstance(term, Compound) and not variables(term) <= self._bound.keys():
            length, name = len(term.arguments) + 1, self._use("name", term.name)
            value = self._held(value)
            self._skip_if(f"{value}.__class__ is not tuple or len({value}) != {length}")
            self._skip_if(f"{value}[0] != {name}")
            for number, argument in enumerate(term.arguments, 1):
                part = self._fresh("v")
                self._line(f"{part} = {value}[{number}]")
                self._match(part, argument)
        else:
            self._skip_if(f"{value} != {self._expression(term)}")

    def _bind(self, variable: str) -> str:
        name = self._fresh("v")
        self._bound[variable] = name
        return name

    def _row(self, terms: tuple[Term, ...]) -> str:
        return "(" + "".join(f"{self._expression(term)}, " for term in terms) + ")"

    def _named(self, term: Term) -> str:
        """A name or a number that stands for a term."""
        expression = self._expression(term)
        if expression.isidentifier() or expression in self._integers:
            return expression
        return self._held(expression)

    def _held(self, value: str) -> str:
        """A name for what may be a number as it is written."""
        if value.isidentifier():
            return value
        name = self._fresh("v")
        self._line(f"{name} = {value}")
        return name

    def _expression(self, term: Term) -> str:
        match term:
            case Variable(name):
                return self._bound[name]
            case Constant(value):
                return self._constant(value)
            case Compound(name, arguments):
                inner = ", ".join(self._expression(argument) for argument in arguments)
                return f"({self._use('name', name)}, {inner})" if inner else f"({name!r},)"
        return self._computed(term)

    def _constant(self, value: Value) -> str:
        if isinstance(value, int):
            text = f"({value})" if value < 0 else str(value)
            self._integers.add(text)
            return text
        return self._use("value", value)

    def _integer(self, term: Term) -> str:
        """A term that must be a number: other instances of the rule do not exist."""
        name = self._named(term)
        if name not in self._integers:
            self._skip_if(f"{name}.__class__ is not int")
            self._integers.add(name)
        return name

    def _computed(self, term: Computed) -> str:
        name = self._fresh("v")
        if term.operation in _INLINE and len(term.arguments) == 2:
            one, two = (self._integer(argument) for argument in term.arguments)
            self._line(f"{name} = {one} {_INLINE[term.operation]} {two}")
            # Clingo's numbers wrap at 32 bits; a test in line is cheaper than a call that mostly
            # changes nothing. Bitwise operations stay within.
            if term.operation in "+-*":
                wrapped = self._use("wrapped", values.wrapped)
                bounds = f"{values.LEAST} <= {name} <= {values.MOST}"
                self._line(f"if not {bounds}: {name} = {wrapped}({name})")
            self._integers.add(name)
            return name
        if term.operation == "|":
            self._line(f"{name} = abs({self._integer(term.arguments[0])})")
            # The only one: the least number has no positive counterpart in 32 bits.
            self._line(f"if {name} > {values.MOST}: {name} = {values.LEAST}")
            self._integers.add(name)
            return name
        computed = self._use("computed", values.computed)
        arguments = ", ".join(self._named(argument) for argument in term.arguments)
        self._line(f"{name} = {computed}({term.operation!r}, ({arguments},))")
        self._skip_if(f"{name} is None")
        return name


class _Writer(RuleWriter):
    """Writes one function over horizons."""

    def __init__(
        self, rule: Rule, mode: Mode, relations: Mapping[str, Relation], look: Look
    ) -> None:
        super().__init__(rule, look)
        self._mode = mode
        self._relations = relations
        self.met: tuple[Scan, ...] = ()
        """Scans that no changed row is to be met with."""
        self._trigger: tuple[Term, ...] | None = None
        """What changed rows are matched with, while nothing else has been looked up."""
        self._together: tuple[str, str] | None = None
        """What is looked up for all of them: the names for what is found, and the columns
        that have it."""

    def function(self, trigger: tuple[Term, ...], others: list[BodyLiteral]) -> Change:
        row, later = self._unpacked(trigger)
        at = len(self._lines)
        self._loop(f"for {row}, h0 in changed.items():")
        for name, term in later:
            self._match(name, term)
        # A row that must still be tested may be passed over, so partners cannot be looked up for
        # all rows at once.
        self._trigger = None if later else trigger
        least = self._body(others, "h0")
        if self._together is not None:
            names, columns = self._together
            self._lines[at] = f"    for ({row}, h0), {names} in zip(changed.items(), {columns}):"
        if self._mode == "derive":
            self._derive(least)
        else:
            self._withdraw()
        self._close()
        head = "def run(changed, found, ends, before"
        return self._compiled(head)  # type: ignore[no-any-return]

    def copying(self, trigger: tuple[Term, ...], others: list[BodyLiteral]) -> Copy:
        self._line("found = {}")
        row, later = self._unpacked(trigger)
        self._loop(f"for {row} in changed:")
        for name, term in later:
            self._match(name, term)
        self._body(others, "horizon")
        self._line(f"found[{self._row(self._rule.terms)}] = horizon")
        self._close()
        self._depth = 1
        self._line("return found")
        return self._compiled("def run(changed, horizon")  # type: ignore[no-any-return]

    # -- literals -----------------------------------------------------------------------

    def _body(self, others: list[BodyLiteral], least: str) -> str:
        """Meet the literals; the name of the least horizon among theirs."""
        known = frozenset(self._bound)
        for literal, bound in ordered(others, known, self._rule):
            match literal:
                case Scan():
                    least = self._scan(literal, bound, least)
                case Holds():
                    least = self._member(literal, least)
                case Absent():
                    self._absent(literal)
                case Compare():
                    self._compare(literal, bound)
                case Between():
                    self._between(literal, bound)
                case Call():
                    self._call(literal)
        return least

    def _scan(self, scan: Scan, bound: frozenset[str], least: str) -> str:
        known = [i for i, term in enumerate(scan.terms) if is_known(term, bound)]
        if len(known) == len(scan.terms):
            return self._member(scan, least)
        row = self._fresh("row")
        if known:
            least = self._partners(scan, known, row, least)
        else:
            relation = self._relations[scan.relation]
            self._look_now_and_then()
            self._loop(f"for {row} in {self._all(relation)}:")
            least = self._lesser(least, relation, row)
        self._loops += 1
        self._pass_met(scan, row)
        unpacked, later = self._unpacked(scan.terms, frozenset(known))
        if unpacked != "_":
            self._line(f"{unpacked} = {row}")
        for name, term in later:
            self._match(name, term)
        return least

    def _partners(self, scan: Scan, known: list[int], row: str, least: str) -> str:
        """Go through the rows that have the known arguments."""
        relation = self._relations[scan.relation]
        find, found = relation.index(tuple(known)).get, self._fresh("rows")
        if (changed := self._of_trigger(scan, known)) is None:
            keys = [self._expression(scan.terms[position]) for position in known]
            key = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
            self._line(f"{found} = {self._use('find', find)}({key})")
        elif self._mode == "derive":
            return self._with_ends(relation, known, changed, row, least)
        else:
            self._together = found, f"[*map({self._use('find', find)}, {changed})]"
        self._skip_if(f"{found} is None")
        if self._loops:
            self._look_now_and_then()
        self._loop(f"for {row} in ({found},) if {found}.__class__ is tuple else {found}:")
        return self._lesser(least, relation, row)

    def _with_ends(
        self, relation: Relation, known: list[int], changed: str, row: str, least: str
    ) -> str:
        """Go through the rows that changed ones are joined with, looked up with their
        horizons for all of them at once; the name of the lesser horizon."""
        get = relation.horizons.get
        found, end, name = self._fresh("rows"), self._fresh("h"), self._fresh("h")
        ahead = self._use("ahead", partial(_with_horizons, relation.index(tuple(known)), get))
        self._together = f"{found}, {end}", f"*{ahead}({changed})"
        self._skip_if(f"{found} is None")
        if self._loops:
            self._look_now_and_then()
        several = f"zip({found}, map({self._use('get', get)}, {found}))"
        one = f"(({found}, {end}),) if {found}.__class__ is tuple"
        self._loop(f"for {row}, {name} in {one} else {several}:")
        self._skip_if(f"{name} is None")
        self._line(f"if {least} < {name}: {name} = {least}")
        return name

    def _of_trigger(self, scan: Scan, known: list[int]) -> str | None:
        """The known arguments of a scan in all changed rows, if they all stand there: the
        first such scan is looked up for all of them at once, so that the memory's delays
        overlap."""
        if not self._trigger:
            return None
        wanted = [scan.terms[position] for position in known]
        if not all(isinstance(term, Variable) and term in self._trigger for term in wanted):
            return None
        places = [self._trigger.index(term) for term in wanted]
        self._trigger = None
        return f"map({self._use('keys', itemgetter(*places))}, changed)"

    def _all(self, relation: Relation) -> str:
        rows = self._use("rows", relation.horizons)
        if self._mode == "withdraw":
            ghosts = self._use("ghosts", relation.ghosts)
            # A copy, for the function takes rows out of its head, which may be this relation.
            return f"[*{rows}, *{ghosts}()]"
        return f"list({rows})" if relation.name == self._rule.head else rows

    def _member(self, literal: Scan | Holds, least: str) -> str:
        """All terms are known: a look-up. What is withdrawn may rest on rows that were."""
        if self._mode == "withdraw":
            # Computed all the same: an instance in which a term has no value never was.
            for term in literal.terms:
                self._expression(term)
            return least
        relation = self._relations[literal.relation]
        row = self._fresh("row")
        self._line(f"{row} = {self._row(literal.terms)}")
        self._pass_met(literal, row)
        return self._lesser(least, relation, row)

    def _pass_met(self, literal: Scan | Holds, row: str) -> None:
        if any(literal is each for each in self.met):
            self._skip_if(f"{row} in changed")

    def _lesser(self, least: str, relation: Relation, row: str) -> str:
        """The lesser of two horizons; a row that is a ghost, or is not there, is passed over."""
        if self._mode == "withdraw":
            return least
        # The row is nearly always there, and `try` costs nothing then. What is not may be a
        # ghost, still in the index.
        rows, name = self._use("rows", relation.horizons), self._fresh("h")
        self._line(f"try: {name} = {rows}[{row}]")
        self._line("except KeyError: continue")
        self._line(f"if {least} < {name}: {name} = {least}")
        return name

    def _absent(self, literal: Absent) -> None:
        row = self._row(literal.terms)
        if self._mode == "derive":
            rows = self._use("rows", self._relations[literal.relation].horizons)
            self._skip_if(f"{row} in {rows}")

    # -- heads --------------------------------------------------------------------------

    def _derive(self, least: str) -> None:
        if self._rule.until is not None:
            term, more = self._rule.until
            name = self._fresh("h")
            self._line(f"{name} = {self._integer(term)} + {more}")
            self._line(f"if {least} < {name}: {name} = {least}")
            self._skip_if(f"{name} <= before")
            least = name
        self._line(f"found.append({self._row(self._rule.terms)})")
        self._line(f"ends.append({least})")

    def _withdraw(self) -> None:
        """A row that holds longer than what was withdrawn rests on something else."""
        head = self._relations[self._rule.head]
        rows, get = self._use("head", head.horizons), self._use("horizon", head.horizons.get)
        self._line(f"key = {self._row(self._rule.terms)}")
        # One that is not there looks as if it held longer than for ever, and is passed over by
        # the same test.
        self._line(f"old = {get}(key, {FOREVER + 1})")
        self._loop("if old <= h0:")
        self._line("found.append(key)")
        self._line("ends.append(old)")
        self._line(f"del {rows}[key]")


def _with_horizons(
    index: Index, get: Callable[[Any], int | None], keys: Iterable[Value]
) -> tuple[Sequence[Bucket | None], Sequence[int | None]]:
    """The rows of each key, and the horizon of those that are the only ones of theirs."""
    listed = list(keys)
    # Mostly none of the new rows has a partner: answered in C, at the first hit or without a
    # list. The caller's `zip` is then over nothing.
    if index.keys().isdisjoint(listed):
        return (), ()
    found = list(map(index.get, listed))
    try:
        return found, list(map(get, found))
    except TypeError:  # the rows of a key are several
        return found, [get(rows) if rows.__class__ is tuple else None for rows in found]
