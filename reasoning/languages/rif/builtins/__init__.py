"""RIF's built-in functions and predicates, a module for each kind of value.

`builtin()` finds them by their IRIs. They are pure functions of `model.terms.Value`; how rules call
them is `bodies`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from citywise.reasoning.languages.rif.builtins import datatypes, numbers, strings, times
from citywise.reasoning.languages.rif.document import FUNC, PRED
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf.mapping import RDF, XSD

_MODULES = (
    datatypes,
    numbers,
    strings,
    times,
)


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in: a pure function of values, for the engine to call.

    `function` takes from `least` to `most` values (None: any number) and gives a value, or
    None where the arguments are outside its domain; a predicate gives 1 where it holds and
    None where it does not. Raises `SolvingError` for numbers of absurdly many digits.
    """

    name: str
    """As documents write it: `func:numeric-add`, `pred:is-literal-string`, `xs:integer`."""
    least: int
    most: int | None
    function: Callable[..., Value | None]
    predicate: bool = False
    solves: Mapping[int, Callable[..., Value | None]] = field(default_factory=dict)
    """How an argument that is not known follows from the others, by its place from 0: the
    binding patterns of RIF-Core, 2.3, besides that in which all are known."""


@cache
def builtin(iri: str) -> Builtin | None:
    """The built-in that an IRI names: of `func:`, of `pred:`, or a datatype, which casts."""
    if iri.startswith(FUNC):
        return _function(f"func:{iri.removeprefix(FUNC)}", _functions().get(iri))
    if iri.startswith(PRED):
        return _predicate(iri.removeprefix(PRED))
    prefix, name = ("xs", iri.removeprefix(XSD)) if iri.startswith(XSD) else ("rdf", "")
    return _function(f"{prefix}:{name or iri.removeprefix(RDF)}", _functions().get(iri))


def names() -> list[str]:
    """IRIs of all of them."""
    return [*_functions(), *(PRED + name for name in _predicates())]


@cache
def _functions() -> dict[str, Callable[..., Value | None]]:
    known = {FUNC + name: made for module in _MODULES for name, made in module.FUNCTIONS.items()}
    return {**known, **datatypes.CASTS}


@cache
def _predicates() -> dict[str, Callable[..., bool]]:
    return {name: made for module in _MODULES for name, made in module.PREDICATES.items()}


def _function(name: str, function: Callable[..., Value | None] | None) -> Builtin | None:
    return None if function is None else Builtin(name, *_arity(function), function)


def _predicate(name: str) -> Builtin | None:
    function = _predicates().get(name)
    if function is None:
        return None
    solves = datatypes.SOLVES.get(name, {})
    return Builtin(f"pred:{name}", *_arity(function), _holds(function), True, solves)


def _holds(function: Callable[..., bool]) -> Callable[..., Value | None]:
    def holds(*arguments: Value) -> Value | None:
        return 1 if function(*arguments) else None

    return holds


def _arity(function: Callable[..., object]) -> tuple[int, int | None]:
    """How many arguments a function takes, least and most."""
    parameters = inspect.signature(function).parameters.values()
    placed = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    least = sum(p.default is p.empty for p in placed)
    return least, len(placed) if len(placed) == len(parameters) else None
