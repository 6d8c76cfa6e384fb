"""Terms, and the values of ground ones: their texts, clingo's order and arithmetic."""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, TypeAlias, Union

import clingo
import orjson

from citywise.reasoning.model.atoms import LARGEST, SMALLEST, STRING

Value: TypeAlias = Union[int, str, "tuple[Value, ...]"]
Row: TypeAlias = tuple[Value, ...]
"""The arguments of a ground atom."""

Operation: TypeAlias = Literal["+", "-", "*", "/", "\\", "**", "&", "?", "^", "|", "~", "neg"]
"""As clingo writes them: `|` is the absolute value, `?` the bitwise or; `|`, `~` and `neg`
take one argument (`neg` is the minus sign of a number, and the classical negation of a
function)."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; each `_` of a rule is one of its own."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A value."""

    value: Value


@dataclass(frozen=True, slots=True)
class Compound:
    """A function of terms, or a tuple of them where the name is empty."""

    name: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """Arithmetic: an instance of a rule in which it has no value does not exist."""

    operation: Operation
    arguments: tuple[Term, ...]


Term: TypeAlias = Variable | Constant | Compound | Computed


def with_terms(term: Term, given: Callable[[Variable], Term]) -> Term:
    """The term with others in the place of its variables."""
    if isinstance(term, Variable):
        return given(term)
    if isinstance(term, Compound | Computed):
        return replace(term, arguments=tuple(with_terms(each, given) for each in term.arguments))
    return term


def variables(term: Term) -> frozenset[str]:
    """Names of the variables in a term."""
    if isinstance(term, Variable):
        return frozenset({term.name})
    if isinstance(term, Constant):
        return frozenset()
    return frozenset().union(*(variables(argument) for argument in term.arguments))


LEAST, MOST = SMALLEST, LARGEST

_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,9}")
_CONSTANT = re.compile(r"-?_*(?!not\b)[a-z][A-Za-z0-9_']*", re.ASCII)
_ARGUMENT = rf"{STRING.pattern}|[^\",()]+"
_ARGUMENTS = re.compile(rf"(?:{_ARGUMENT})(?:,(?:{_ARGUMENT}))*\)")
_EACH = re.compile(_ARGUMENT)
_DIGITS = re.compile(r"[-0-9]+")
_LETTERS = re.compile(r"[A-Za-z0-9_']+")
_FIRST = frozenset("-0123456789")
_ESCAPE = re.compile(r'\\([\\n"])')
_MOST_KNOWN = 200_000
_KINDS = re.sub(
    rb"[^a-zA-Z_0,;(]", b"?",
    bytes(range(256)).translate(bytes.maketrans(b"123456789)", b"000000000(")),
)  # fmt: skip
"""What a byte of plain atoms may be: a letter, a digit (`0`), a sign between atoms or
arguments, a bracket (`(`), or anything else (`?`)."""


# -- texts to values --------------------------------------------------------------------


def parsed(atom: str) -> tuple[str, Row]:
    """Name (`-p` if classically negated) and arguments of a ground atom in clingo's spelling."""
    name, bracket, rest = atom.partition("(")
    if not bracket:
        return atom, ()
    # A comma within a string or a function leaves pieces that are no values, so this cannot read
    # something wrong: it fails, and the slow way follows.
    try:
        return name, tuple(map(_KNOWN.__getitem__, rest[:-1].split(",")))
    except _HarderError:
        return name, _read(name, rest)


def parsed_many(atoms: Iterable[str]) -> dict[str, list[Row]]:
    """Rows of ground atoms in clingo's spelling, by relation (`p/2`).

    The rows of a relation are in the order given. Plain values are read together, numbers as
    JSON: a fifth of the time of one by one.
    """
    listed = list(atoms)
    if not listed:
        return {}
    found: dict[str, list[Row]] = {}
    name = listed[0].partition("(")[0]
    if rows := _together(name, listed):
        _deal(name, rows, found)
        return found
    for name, texts in _by_name(listed).items():
        few = len(texts) < len(listed)  # all of them have been tried
        rows = _together(name, texts) if few else None
        _deal(name, rows or [parsed(text)[1] for text in texts], found)
    return found


def _by_name(atoms: Iterable[str]) -> Mapping[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for atom in atoms:
        found[atom.partition("(")[0]].append(atom)
    return found


def _together(name: str, atoms: list[str]) -> list[Row] | None:
    """The rows of atoms of one name; None if they are not, or some are not plain."""
    return _numbers(f"{name}(", atoms) or _plain(f"{name}(", atoms)


def value(symbol: clingo.Symbol) -> Value:
    """The value of a symbol."""
    match symbol.type:
        case clingo.SymbolType.Number:
            return symbol.number
        case clingo.SymbolType.Function if symbol.arguments or not symbol.name:
            sign = "" if symbol.positive else "-"
            return (sign + symbol.name, *map(value, symbol.arguments))
    return str(symbol)


class _HarderError(Exception):
    """A text between commas that is no value by itself."""


class _Known(dict[str, Value]):
    """Values of the texts met, the same object for the same text."""

    def __missing__(self, text: str) -> Value:
        # Rows are hashed and compared again and again: one object for one text keeps its hash,
        # and is compared by identity. When full it is emptied at once; rows that are held keep
        # their values.
        if len(self) >= _MOST_KNOWN:
            self.clear()
        if _NUMBER.fullmatch(text) and LEAST <= int(text) <= MOST:
            return self.setdefault(text, int(text))
        if _CONSTANT.fullmatch(text) or STRING.fullmatch(text):
            return self.setdefault(text, text)
        raise _HarderError


_KNOWN = _Known()


def _read(name: str, rest: str) -> Row:
    """The arguments of an atom that holds commas in strings, or functions."""
    if _ARGUMENTS.fullmatch(rest):
        with suppress(_HarderError):
            return tuple(map(_KNOWN.__getitem__, _EACH.findall(rest[:-1])))
    return tuple(map(value, clingo.parse_term(f"{name}({rest}").arguments))


def _numbers(head: str, atoms: Sequence[str]) -> list[Row] | None:
    """The rows of atoms that all begin with `head`; None if they hold more than numbers."""
    if atoms[0][len(head) : len(head) + 1] not in _FIRST:
        return None
    # `p(1,2),p(3,4)` becomes `[1,2],[3,4]`, which is JSON. Brackets are counted, for every atom
    # must have brought just one.
    together = ",".join(atoms).replace(head, "[").replace(")", "]").encode()
    if together.translate(None, b"0123456789,-[]") or together.count(b"[") != len(atoms):
        return None
    try:
        rows = list(map(tuple, orjson.loads(b"[%b]" % together)))
    except orjson.JSONDecodeError:
        return None
    return rows if _fit(chain.from_iterable(rows)) else None


def _fit(numbers: Iterable[int]) -> bool:
    """Whether all of them are numbers of ASP."""
    listed = list(numbers)
    return not listed or (min(listed) >= LEAST and max(listed) <= MOST)


def _plain(head: str, atoms: list[str]) -> list[Row] | None:
    """The rows of atoms that all begin with `head`; None if they have no number of arguments
    in common, or some are more than numbers, constants and strings without brackets.

    Between atoms `;` is put as if it were an argument. One that was in a string, between
    commas, has broken the string, and its pieces are no values.
    """
    between, together = f"){head}", "".join(atoms)
    if together.count(between) != len(atoms) - 1:
        return None
    inner = together[len(head) : -1].replace(between, ",;,")
    # One translation of the whole text, in C, instead of a look at each value.
    kinds = f",{inner},".encode(errors="replace").translate(_KINDS)
    texts = inner.split(",")
    width = texts.index(";") if len(atoms) > 1 else len(texts)
    # With every `;` in its column each atom has as many values as the first one.
    marks = texts[width :: width + 1].count(";")
    if b"(" in kinds or len(texts) != len(atoms) * (width + 1) - 1 or marks != len(atoms) - 1:
        return None
    columns = [texts[place :: width + 1] for place in range(width)]
    if not any(map(kinds.__contains__, (b",0", b",,", b"?"))):  # they are all constants
        return list(zip(*columns, strict=True))
    try:
        return list(zip(*map(_column, columns), strict=True))
    except _HarderError:
        return None


def _column(texts: list[str]) -> Iterable[Value]:
    """The values of what stands between commas."""
    together, first = "".join(texts), min(texts)
    if _DIGITS.fullmatch(together):
        return _integers(texts)
    if first > "9~" and _LETTERS.fullmatch(together):  # nothing begins with a digit
        return texts
    if first[:1] == '"' == max(texts)[0] and "\\" not in together:
        if together.count('"') != 2 * len(texts):
            raise _HarderError
        return texts
    return list(map(_KNOWN.__getitem__, texts))


def _integers(texts: list[str]) -> list[int]:
    found = list(map(int, texts))
    if not _fit(found):
        raise _HarderError
    return found


def _deal(name: str, rows: list[Row], found: dict[str, list[Row]]) -> None:
    """Rows of one name to the relations of their arities."""
    arities = set(map(len, rows))
    for arity in arities:
        fitting = rows if len(arities) == 1 else [row for row in rows if len(row) == arity]
        found[f"{name}/{arity}"] = fitting


def replaced_all(rows: list[Row], constants: Mapping[str, Value]) -> list[Row]:
    """Rows in which names stand for what `#const` says; the same list if none does."""
    names = {*constants, *(f"-{name}" for name in constants)}
    # Data hardly ever names a constant: looking at whole columns spares making all rows anew.
    if all(
        names.isdisjoint(column) and tuple not in set(map(type, column))
        for column in zip(*rows, strict=True)
    ):
        return rows
    return [tuple(replaced(item, constants) for item in row) for row in rows]


def replaced(item: Value, constants: Mapping[str, Value]) -> Value:
    """A value in which names stand for what `#const` says."""
    if isinstance(item, tuple):
        return (item[0], *(replaced(argument, constants) for argument in item[1:]))
    if not isinstance(item, str):
        return item
    if item.startswith("-") and item[1:] in constants:
        return computed("neg", (constants[item[1:]],)) or item
    return constants.get(item, item)


# -- values to texts --------------------------------------------------------------------


def text(item: Value) -> str:
    """A value in clingo's syntax: the inverse of reading."""
    if not isinstance(item, tuple):
        return str(item)
    name, *arguments = item
    inner = ",".join(map(text, arguments))
    lonely = name in ("", "-") and len(arguments) == 1
    return f"{name}({inner},)" if lonely else f"{name}({inner})"


def unquoted(text: str) -> str:
    """What a string holds, from its text."""
    return _ESCAPE.sub(_unescaped, text[1:-1]) if "\\" in text else text[1:-1]


def atom_text(name: str, row: Row) -> str:
    """A ground atom in clingo's syntax."""
    return f"{name}({','.join(map(text, row))})" if row else name


# -- order and arithmetic ---------------------------------------------------------------


def order(item: Value) -> tuple[object, ...]:
    """A key by which values sort as clingo's terms do.

    `#inf`, numbers, constants, negated constants, strings, functions by number of arguments,
    name and arguments, negated functions, `#sup`; texts by their characters' codes.
    """
    if isinstance(item, int):
        return (1, item)
    if isinstance(item, tuple):
        name, *arguments = item
        assert isinstance(name, str)
        negated = name.startswith("-")
        if not arguments:  # the empty tuple counts as a constant
            return (2 + negated, "")
        return (5 + negated, len(arguments), name[negated:], *map(order, arguments))
    if item[0] == '"':
        return (4, unquoted(item))
    if item[0] == "#":
        return (0,) if item == "#inf" else (7,)
    return (3, item[1:]) if item[0] == "-" else (2, item)


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def computed(operation: str, arguments: Iterable[Value]) -> Value | None:
    """The value of an operation; None where it has none: `1/0`, `a+1`."""
    given = tuple(arguments)
    if operation == "neg" and not isinstance(given[0], int):
        return _negated(given[0])
    if not all(isinstance(number, int) for number in given):
        return None
    result = ARITHMETIC[operation](*given)
    return None if result is None else wrapped(result)


def wrapped(number: int) -> int:
    """A number as 32 bits hold it."""
    return (number - LEAST) % 2**32 + LEAST


def _negated(item: Value) -> Value | None:
    """Classical negation of a term: there and back; strings, `#inf` and `#sup` have none."""
    if isinstance(item, tuple):
        name = item[0]
        assert isinstance(name, str)
        return (_turned(name), *item[1:])
    assert isinstance(item, str)
    return None if item[0] in '"#' else _turned(item)


def _turned(name: str) -> str:
    return name[1:] if name.startswith("-") else f"-{name}"


def _quotient(left: int, right: int) -> int | None:
    """Towards 0, as machines divide."""
    if right == 0:
        return None
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int | None:
    quotient = _quotient(left, right)
    return None if quotient is None else left - right * quotient


def _power(base: int, exponent: int) -> int | None:
    """As clingo has it: 0 for a negative exponent, even of 1."""
    if exponent >= 0:
        return pow(base, exponent, 2**32)
    return None if base == 0 else 0


ARITHMETIC: dict[str, Callable[..., int | None]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "\\": _remainder,
    "**": _power,
    "&": operator.and_,
    "?": operator.or_,
    "^": operator.xor,
    "|": abs,
    "~": operator.invert,
    "neg": operator.neg,
}
"""Operations of numbers; what they give need not fit 32 bits."""
