"""Terms of the incremental engine's rules, and the values they stand for.

A value is a Python `int` (a number), a `str` (a constant such as `a`, a string with its
quotes and escapes such as `"a b"`, or `#inf` and `#sup`), all in clingo's spelling, or a
tuple: a function's name, '' for a tuple of ASP, and its arguments. Equal values are equal
objects of Python and the other way round; no value is a `bool`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, Union

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


def variables(term: Term) -> frozenset[str]:
    """Names of the variables in a term."""
    if isinstance(term, Variable):
        return frozenset({term.name})
    if isinstance(term, Constant):
        return frozenset()
    return frozenset().union(*(variables(argument) for argument in term.arguments))
