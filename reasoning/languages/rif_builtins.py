"""Whether what stands in `External` is a built-in of RIF-Core, and is used as what it is."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice

from reasoning.rif.builtins import Builtin, builtin, names
from reasoning.rif.prefixes import short

_CLOSE = 0.75


def misuse(iri: str, count: int, *, predicate: bool) -> str | None:
    """What is wrong with the use of a built-in with `count` arguments, as a predicate or as a
    function; None if nothing is."""
    known = builtin(iri)
    if known is None:
        return _unknown(iri)
    if known.predicate != predicate:
        if predicate:
            hint = f"compare its value, e.g. `External({known.name}(…)) = ?x`"
            return f"`{known.name}` is a function and no condition; {hint}"
        return f"`{known.name}` is a predicate and has no value; write it as a condition of its own"
    if not known.least <= count <= (count if known.most is None else known.most):
        return f"`{known.name}` takes {_number(known)}, found {count}"
    return None


def _unknown(iri: str) -> str:
    name = short(iri, {}) or f"<{iri}>"
    known = [short(each, {}) or each for each in names()]
    close = next(islice(get_close_matches(name, known, 1, _CLOSE), 1), None)
    hint = f"did you mean `{close}`?" if close else "docs/rif-builtins.md lists those there are"
    return f"`{name}` is no built-in of RIF-Core; {hint}"


def _number(known: Builtin) -> str:
    """How many arguments a built-in takes, in words."""
    if known.most is None:
        return f"{known.least} arguments or more"
    several = "" if known.most == 1 else "s"
    least = f"{known.least} to " if known.least != known.most else ""
    return f"{least}{known.most} argument{several}"
