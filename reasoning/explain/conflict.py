"""Minimal conflicts: wishes and constraints that cannot hold together.

Constraints only ever take answer sets away, so what is unsatisfiable stays so when more
are added: a minimal unsatisfiable set is found by leaving out one after the other, each
time starting from the solver's own core.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from citywise.reasoning.explain.guards import Constraint, Guarded
from citywise.reasoning.explain.notation import Notation
from citywise.reasoning.explain.tree import NodeKind, RuleText, TreeNode
from citywise.reasoning.model.request import Request

_MOST_INSTANCES = 20_000
_SHOWN = 10


@dataclass(frozen=True)
class Violated:
    """A constraint of the program that takes part in a conflict.

    `instances` is a minimal set of what its ground instances forbid, as text; empty if
    there were too many to tell. Constraints that are not written as a rule (`p` and `-p`
    exclude each other) have line 0.
    """

    rule: RuleText
    instances: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conflict:
    """Wishes and constraints that cannot hold together; without any one of them they can.

    Both empty: the rules contradict themselves, whatever the constraints say.
    """

    wishes: tuple[str, ...]
    constraints: tuple[Violated, ...]
    tree: TreeNode


def conflict(
    program: Request | str,
    facts: Iterable[str] = (),
    wishes: Mapping[str, str] | None = None,
    *,
    source: str = "",
    notation: Notation | None = None,
) -> Conflict | None:
    """A minimal conflict, with as few wishes as can be; None if all can hold together.

    `wishes` are statements of ASP by name, normally constraints (`:- time(T), T > 30.`);
    `source` is the program's text as written, for labels; `notation` writes it otherwise. Raises
    `RuntimeError` with clingo's words if the program or a wish cannot be read.
    """
    guarded = _guarded(program, facts, wishes, source, notation)
    found = _minimal(guarded, guarded.constraints)
    return None if found is None else _conflict(guarded, found)


def conflicts(
    program: Request | str,
    facts: Iterable[str] = (),
    wishes: Mapping[str, str] | None = None,
    *,
    source: str = "",
    limit: int = 10,
) -> tuple[Conflict, ...]:
    """All minimal conflicts, at most `limit`, those with the fewest members first.

    Each conflict that is left when a member of a known one is given up, and so on
    (Reiter's hitting-set tree, 1987).
    """
    guarded = _guarded(program, facts, wishes, source)
    found: dict[frozenset[str], None] = {}
    seen: set[frozenset[str]] = set()
    open_sets = [frozenset[str]()]
    while open_sets and len(found) < limit:
        without = open_sets.pop(0)
        keys = [key for key in guarded.constraints if key not in without]
        members = next((m for m in found if not m & without), None) or _minimal(guarded, keys)
        if members is None:
            continue
        found.setdefault(members)
        following = {without | {member} for member in members} - seen
        seen |= following
        open_sets += sorted(following, key=sorted)
    ordered = sorted(found, key=lambda members: (len(members), sorted(members)))
    return tuple(_conflict(guarded, members) for members in ordered)


def _guarded(
    program: Request | str,
    facts: Iterable[str],
    wishes: Mapping[str, str] | None,
    source: str,
    notation: Notation | None = None,
) -> Guarded:
    text = program if isinstance(program, str) else program.rules
    return Guarded(text, facts, wishes or {}, notation or Notation(source or text))


def _minimal(guarded: Guarded, keys: Collection[str]) -> frozenset[str] | None:
    """Names of a minimal set that cannot hold together; wishes are given up first."""
    if guarded.solve(keys) is None:
        return None
    wishes = [key for key in keys if guarded.constraints[key].kind == "wish"]
    others = [key for key in keys if guarded.constraints[key].kind != "wish"]
    kept = _shrink(guarded.solve, wishes, others)
    return frozenset(kept) | frozenset(_shrink(guarded.solve, others, kept))


def _shrink(
    solve: Callable[[Iterable[str]], set[str] | None], candidates: list[str], fixed: list[str]
) -> list[str]:
    """Those of `candidates` without which they and `fixed` could hold together."""
    core = solve([*candidates, *fixed])
    assert core is not None
    left = [key for key in candidates if key in core]
    for key in list(left):
        if key not in left:
            continue
        core = solve([*(other for other in left if other != key), *fixed])
        if core is not None:
            left = [other for other in left if other in core]
    return left


def _conflict(guarded: Guarded, members: frozenset[str]) -> Conflict:
    wishes = [key for key in guarded.constraints if key in members and key.startswith("w")]
    keys = [key for key in guarded.constraints if key in members and not key.startswith("w")]
    instances = _instances(guarded, keys, wishes)
    names = tuple(key.removeprefix("w") for key in wishes)
    nodes = [_wish(guarded.constraints[key]) for key in wishes]
    nodes += [_constraint(guarded.constraints[key], instances[key]) for key in keys]
    violated = tuple(Violated(guarded.constraints[key].rule, tuple(instances[key])) for key in keys)
    if not nodes:
        return Conflict((), (), _inconsistent(guarded))
    text = "these cannot hold together" if len(nodes) > 1 else "this cannot be met"
    return Conflict(names, violated, TreeNode("conflict", text, children=tuple(nodes)))


def _instances(guarded: Guarded, keys: list[str], wishes: list[str]) -> dict[str, list[str]]:
    """A minimal set of ground instances of the constraints `keys`, by constraint."""
    found: dict[str, list[str]] = {key: [] for key in keys}
    ground = {key: guarded.instances(key) for key in keys}
    owners = {name: key for key, instances in ground.items() for name in instances}
    if len(owners) > _MOST_INSTANCES:
        return found
    for name in _shrink(guarded.solve, list(owners), wishes):
        key = owners[name]
        found[key].append(guarded.constraints[key].instance(ground[key][name], guarded.notation))
    return found


def _wish(wish: Constraint) -> TreeNode:
    return TreeNode("wish", f"wish {wish.rule.label}: {wish.rule.text}", value=wish.rule.label)


def _constraint(constraint: Constraint, instances: list[str]) -> TreeNode:
    kinds: dict[str, NodeKind] = {
        "constraint": "constraint", "bound": "bound", "contradiction": "contradiction",
    }  # fmt: skip
    rule = constraint.rule
    word = "demands" if constraint.kind == "bound" else "forbids"
    children = [TreeNode("instance", f"{word} {text}", literal=text) for text in instances[:_SHOWN]]
    if len(instances) > _SHOWN:
        children.append(TreeNode("cut", f"… and {len(instances) - _SHOWN} more"))
    text = f"{rule.name}: {rule.text}" if rule.line else rule.text
    return TreeNode(
        kinds[constraint.kind], text + constraint.note, rule=rule if rule.line else None,
        count=len(instances), children=tuple(children),
    )  # fmt: skip


def _inconsistent(guarded: Guarded) -> TreeNode:
    text = (
        "the rules have no answer set even without constraints: "
        "some atom would have to follow from its own absence"
    )
    children = tuple(
        TreeNode("rule", f"{rule.name}: {rule.text}  without it there would be one", rule=rule)
        for rule in guarded.culprits()
    )
    return TreeNode("inconsistent", text, children=children)
