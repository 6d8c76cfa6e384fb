"""What one evaluation leaves to the next, and the rules that look at it (docs/casp.md, Time in
rules).

Of a predicate `p/1` under `#held` or `#last` every answer also shows which atoms hold, as
`citywise_held_N(X)`. With the time at which they began to hold they come back as facts
`citywise_began_N(X,T)`, from which two rules of ours derive `since_p(X,T)`; `last_p(X,T)` is
a fact itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from citywise.reasoning.model.atoms import call
from citywise.reasoning.model.request import OURS, Request, Signature, previous

HELD = f"{OURS}held_"
_BEGAN = f"{OURS}began_"
_CLOCK = Signature(f"{OURS}now", 1)
NOW = Signature("now", 1)
"""The evaluation's time."""


@dataclass(frozen=True)
class Carried:
    """What an evaluation leaves to the next; times are in the request's unit, whatever times in
    atoms count from."""

    feedback: tuple[str, ...] = ()
    """Atoms that the next evaluation sees as `prev_…`, sorted."""
    since: tuple[tuple[str, int], ...] = ()
    """Atoms under `#held` that hold, sorted, and the evaluation since which they do."""
    last: tuple[tuple[str, int], ...] = ()
    """Atoms under `#last`, sorted, and the newest evaluation in which they held."""


def since(signature: Signature) -> Signature:
    """The predicate that says since when the atoms of another hold."""
    return _timed("since", signature)


def last(signature: Signature) -> Signature:
    """The predicate that says when the atoms of another held last."""
    return _timed("last", signature)


def _timed(word: str, signature: Signature) -> Signature:
    name = signature.name
    called = f"-{word}_{name[1:]}" if name.startswith("-") else f"{word}_{name}"
    return Signature(called, signature.arity + 1)


def watch(request: Request) -> dict[Signature, Signature]:
    """The predicates under `#held` and `#last`, and what tells which of their atoms hold."""
    if not (request.held or request.last):
        return {}
    watched = enumerate(sorted(request.held | request.last.keys()))
    return {s: Signature(f"{HELD}{number}", s.arity) for number, s in watched}


def began(watcher: Signature) -> Signature:
    """The facts of when the atoms that a `watch` tells of began to hold."""
    return Signature(_BEGAN + watcher.name.removeprefix(HELD), watcher.arity + 1)


def fed(request: Request) -> dict[Signature, Signature]:
    """The predicates whose facts the evaluation before leaves, and whose atoms they were."""
    fed_back = {Signature(previous(s.name), s.arity): s for s in request.feedback}
    return fed_back | remembered(request)


def remembered(request: Request) -> dict[Signature, Signature]:
    """The predicates whose facts tell when the atoms of others held, and those."""
    found = {began(watcher): s for s, watcher in watch(request).items() if s in request.held}
    return found | {last(s): s for s in request.last}


def clock(request: Request) -> frozenset[Signature]:
    """The predicates whose one fact is the evaluation's time."""
    ours = {_CLOCK} if request.held else set()
    return frozenset({NOW, *ours} if request.sees_now else ours)


def timed(request: Request) -> frozenset[Signature]:
    """The predicates that `#held` and `#last` make, and `now/1` where it is the time."""
    found = makers(request).keys()
    return frozenset({NOW, *found} if request.sees_now else found)


def makers(request: Request) -> dict[Signature, str]:
    """The predicates that the directives make, which nothing else may supply, and the directive
    of each."""
    found = {since(s): f"#held {s}" for s in request.held}
    return found | {last(s): f"#last {s}" for s in request.last}


def rules(request: Request) -> dict[str, str]:
    """The rules of `#held` and `#last`, by their labels."""
    found: dict[str, str] = {}
    for signature, watcher in watch(request).items():
        variables = [f"X{number}" for number in range(1, signature.arity + 1)]
        atom = call(signature.name, variables)
        sign = "not-" if signature.name.startswith("-") else ""
        label = f"{sign}{signature.name.lstrip('-')}-{signature.arity}"
        found[f"watch-{label}"] = f"{call(watcher.name, variables)} :- {atom}."
        if signature not in request.held:
            continue
        name, before = since(signature).name, began(watcher).name
        head, old = call(name, [*variables, "T"]), call(before, [*variables, "T"])
        new = f"not {call(before, [*variables, '_'])}, {call(_CLOCK.name, ['T'])}"
        found[f"since-{label}"] = f"{head} :- {atom}, {old}."
        found[f"begin-{label}"] = f"{head} :- {atom}, {new}."
    return found


def meaning(request: Request) -> str:
    """What depends on what by `#held`, as rules: all there is of `rules` for a graph."""
    lines = []
    for signature in sorted(request.held):
        variables = [f"X{number}" for number in range(1, signature.arity + 1)]
        head = call(since(signature).name, [*variables, "0"])
        lines.append(f"{head} :- {call(signature.name, variables)}.\n")
    return "".join(lines)


def is_ours(signature: Signature) -> bool:
    """Whether a predicate is one that rules of ours use among themselves."""
    return signature.name.lstrip("-").startswith(OURS)


def with_time(name: str, atom: str, time: int) -> str:
    """The atom `name` with the arguments of another and a time."""
    bracket = atom.find("(")
    return f"{name}({time})" if bracket < 0 else f"{name}{atom[bracket:-1]},{time})"
