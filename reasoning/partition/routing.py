"""The partitioning handler: who gets which facts (thesis, Figure 6.3 and Algorithm 5, with
buckets within partitions).

A `Router` deals out facts by a plan. `joint` makes a plan for those who evaluate all rules in
every bucket and have `Records` to deal out, which are facts only later (Spark).

Facts are text, one `atom.` a line, in clingo's spelling. A window is grouped by predicate
once; no atom of a predicate that goes somewhere as a whole is looked at.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from zlib import crc32

import clingo

from citywise.reasoning.asp.dependencies import Dependencies
from citywise.reasoning.asp.rules import read
from citywise.reasoning.errors import ReasoningError
from citywise.reasoning.model.atoms import STRING, signature_of
from citywise.reasoning.model.request import Signature
from citywise.reasoning.partition.plan import Follow, Key, Partition, Plan

_VALUES = 100_000
"""Arguments whose values are remembered."""
Groups = Mapping[str, Sequence[str]]
"""The lines of facts by the name of their predicate, as they begin."""
_SIMPLE = r'(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|[^(),"\n]++)'
"""A string, a number or a name, read without going back."""


def grouped(facts: str) -> dict[str, list[str]]:
    """The lines of a text by the name of their predicate."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for line in facts.split("\n"):
        groups[line.partition("(")[0].rstrip(".")].append(line)
    groups.pop("", None)
    return groups


class Router:
    """Deals out facts by a plan.

    Parameters
    ----------
    buckets:
        Into how many the facts of a partition with a key are split.
    moving:
        Predicates that windows supply. What stays may follow them, and goes everywhere then.
    """

    def __init__(self, plan: Plan, buckets: int = 1, moving: Collection[Signature] = ()) -> None:
        values = Values(plan.constants)
        self._moving = frozenset(moving)
        self._deals = [
            _Split(p, p.key, buckets, values) if p.key else _Whole(p) for p in plan.partitions
        ]

    def settle(self, groups: Groups) -> list[list[str]]:
        """The facts that stay, as `route` gives them; windows may follow them."""
        return [deal.settle(groups, self._moving) for deal in self._deals]

    def route(self, groups: Groups) -> list[list[str]]:
        """The facts of each partition, for each of its buckets."""
        return [deal.route(groups) for deal in self._deals]


class Values:
    """What arguments mean: a word may be one that `#const` gives a value."""

    def __init__(self, constants: str) -> None:
        self._constants = constants
        names = "|".join(read(constants).constants)
        self._name = re.compile(rf"(?<![\w'])(?:{names})(?![\w'])") if names else None
        self._values: dict[str, str] = {}

    def all(self, arguments: list[str]) -> list[str]:
        """The arguments' values as text: those that are equal read equal."""
        # Where `#const` renames nothing, equal values read equal as they are: one spelling is the
        # rule (`model.atoms`).
        if self._name is None:
            return arguments
        if len(self._values) > _VALUES:
            self._values.clear()
        self._ground([a for a in set(arguments) - self._values.keys() if self._names(a)])
        return [self._values.get(argument, argument) for argument in arguments]

    def _names(self, argument: str) -> bool:
        """Whether a constant is named in it."""
        assert self._name is not None
        return self._name.search(STRING.sub("", argument)) is not None

    def _ground(self, arguments: Sequence[str]) -> None:
        """Find the values of arguments."""
        if arguments:
            facts = "".join(f"citywise_value({n},{a}).\n" for n, a in enumerate(arguments))
            control = clingo.Control(["--warn=none"])
            control.add("base", [], f"{self._constants}\n{facts}")
            control.ground([("base", [])])
            for atom in control.symbolic_atoms.by_signature("citywise_value", 2):
                number, value = atom.symbol.arguments
                self._values[arguments[number.number]] = str(value)


def bucket(value: str, buckets: int) -> int:
    """The bucket of a key's value: the same in every process."""
    # Not Python's `hash`, which has another seed in each process: tasks on different machines
    # must agree.
    return crc32(value.encode()) % buckets


class _Whole:
    """All facts of a partition, in one bucket."""

    def __init__(self, partition: Partition) -> None:
        self._names = sorted({signature.name for signature in partition.inputs})

    def route(self, groups: Groups) -> list[str]:
        return [_text([line for name in self._names for line in groups.get(name, ())])]

    def settle(self, groups: Groups, _moving: Collection[Signature]) -> list[str]:
        return self.route(groups)


Leader = tuple[Signature, int]
"""A predicate, and the argument by which others follow its atoms."""
Led = Mapping[str, tuple[int, ...]]
"""The buckets of a leader's atoms, by the value of that argument."""
Found = Mapping[Signature, Sequence[str]]
"""The lines of a partition's predicates."""
Places = Mapping[Signature, Sequence[int]]
"""The bucket of each line of the predicates that are keyed."""


class _Split:
    """The facts of a partition with a key, in several buckets."""

    def __init__(self, partition: Partition, key: Key, buckets: int, values: Values) -> None:
        self._key = key
        self._all = tuple(range(buckets))
        self._values = values
        self._wanted: defaultdict[str, list[Signature]] = defaultdict(list)
        for signature in sorted(partition.inputs):
            self._wanted[signature.name].append(signature)
        self._shares = sorted({(s.of, s.argument, s.name) for s in key.shares.values()})
        self._leaders = {(f.of, f.there) for f in key.following.values()}
        # Knowledge is dealt out once, before any window; what a window brings may follow it.
        self._settled: dict[Leader, Led] = {leader: {} for leader in self._leaders}

    def route(self, groups: Groups) -> list[str]:
        found = self._found(groups)
        places = self._places(found)
        return self._dealt(found, places, self._led(found, places))

    def settle(self, groups: Groups, moving: Collection[Signature]) -> list[str]:
        """Like `route`; what follows a predicate that moves goes everywhere."""
        found = self._found(groups)
        places = self._places(found)
        self._settled = self._led(found, places)
        # What moves is not known yet when knowledge is dealt out, so what would follow it must be
        # everywhere.
        fixed = {leader: led for leader, led in self._settled.items() if leader[0] not in moving}
        return self._dealt(found, places, fixed)

    def _found(self, groups: Groups) -> Found:
        found: dict[Signature, Sequence[str]] = {}
        for name, signatures in self._wanted.items():
            if not (lines := groups.get(name)):
                continue
            apart = by_signature(lines) if len(signatures) > 1 else {signatures[0]: lines}
            found |= {s: apart[s] for s in signatures if s in apart}
        return found

    def _places(self, found: Found) -> Places:
        return {
            signature: self._buckets(self._arguments(signature, argument, found[signature]))
            for signature, argument in self._key.positions.items()
            if signature in found
        }

    def _buckets(self, keys: Sequence[str]) -> list[int]:
        buckets = len(self._all)
        # A key's value comes many times in a window; it is hashed once.
        of = {key: bucket(key, buckets) for key in set(keys)}
        return [of[key] for key in keys]

    def _led(self, found: Found, places: Places) -> dict[Leader, Led]:
        """Where the atoms of each leader go, those that have settled included."""
        led: dict[Leader, Led] = {}
        for leader in self._leaders:
            signature, argument = leader
            known: dict[str, tuple[int, ...]] = dict(self._settled[leader])
            values = self._arguments(signature, argument, found.get(signature, ()))
            for value, place in set(zip(values, places.get(signature, ()), strict=True)):
                known[value] = tuple({*known.get(value, ()), place})
            led[leader] = known
        return led

    def _dealt(self, found: Found, places: Places, led: Mapping[Leader, Led]) -> list[str]:
        dealt: list[list[str]] = [[] for _ in self._all]
        for signature, lines in found.items():
            if signature in places:
                for line, place in zip(lines, places[signature], strict=True):
                    dealt[place].append(line)
            elif signature in self._key.following:
                for line, many in zip(lines, self._followed(signature, lines, led), strict=True):
                    for place in many:
                        dealt[place].append(line)
            else:
                for place in self._all[: 1 if signature in self._key.spread else None]:
                    dealt[place] += lines
        self._deal_shares(found, dealt)
        return list(map(_text, dealt))

    def _deal_shares(self, found: Found, dealt: Sequence[list[str]]) -> None:
        """Copies of what all buckets get, for the rules that read their bucket's share."""
        for signature, argument, name in self._shares:
            lines = found.get(signature, ())
            places = self._buckets(self._arguments(signature, argument, lines))
            for line, place in zip(lines, places, strict=True):
                dealt[place].append(name + line[len(signature.name) :])

    def _followed(
        self, signature: Signature, lines: Sequence[str], led: Mapping[Leader, Led]
    ) -> Iterable[tuple[int, ...]]:
        """The buckets of each line of a predicate that follows another."""
        follow = self._key.following[signature]
        leader = follow.of, follow.there
        if leader not in led:
            return repeat(self._all, len(lines))
        known = led[leader]
        return [known.get(v, ()) for v in self._arguments(signature, follow.argument, lines)]

    def _arguments(self, signature: Signature, argument: int, lines: Sequence[str]) -> list[str]:
        """The values of an argument (counted from 1) in each line, as text."""
        pattern = _pattern(signature.name, signature.arity, argument)
        # One search for all lines, in C. If a line has nested arguments it finds too few, and
        # each is looked at by itself.
        values: list[str] = pattern.findall("\n".join(lines))
        if len(values) != len(lines):
            values = [_argument(pattern, argument, line) for line in lines]
        return self._values.all(values)


@lru_cache(maxsize=1000)
def _pattern(name: str, arity: int, argument: int) -> re.Pattern[str]:
    """A line of simple arguments, one of them wanted."""
    arguments = [_SIMPLE] * arity
    arguments[argument - 1] = f"({_SIMPLE})"
    return re.compile(rf"^{re.escape(name)}\({','.join(arguments)}\)\.$", re.MULTILINE)


def _argument(pattern: re.Pattern[str], argument: int, line: str) -> str:
    if match := pattern.fullmatch(line):
        return match.group(1)
    arguments = clingo.parse_term(line[:-1]).arguments
    return str(arguments[argument - 1]) if argument <= len(arguments) else ""


def by_signature(lines: Iterable[str]) -> dict[Signature, list[str]]:
    """Lines of facts by their predicate, arguments counted."""
    found: defaultdict[Signature, list[str]] = defaultdict(list)
    for line in lines:
        found[_signature(line)].append(line)
    return found


def _signature(line: str) -> Signature:
    name, bracket, arguments = line.partition("(")
    if '"' not in arguments and "(" not in arguments:
        arity = arguments.count(",") + 1 if bracket else 0
        return Signature(name if bracket else name.removesuffix("."), arity)
    signature = signature_of(clingo.parse_term(line[:-1]))
    assert signature is not None, line
    return signature


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n" if lines else ""


# -- all rules in every bucket --------------------------------------------------------------


class IndivisibleError(ReasoningError):
    """A plan does not divide as it is asked to; the message says why."""


@dataclass(frozen=True)
class Records:
    """What is dealt out before it is facts: each record becomes facts whose first argument is
    its name, and goes where the key of one of them goes."""

    predicates: frozenset[Signature]
    """Of all facts that records become."""
    leader: str
    """The name of the predicates of the fact that has the key, at `argument` (from 1)."""
    argument: int

    def go_with(self, key: Key) -> Iterable[Signature]:
        """The predicates that a key splits as the records are."""
        for signature in self.predicates:
            led, seen = signature, set[Signature]()
            while (follow := key.following.get(led)) and led not in seen:
                seen.add(led)
                if (follow.argument, follow.there) != (1, 1):  # the record itself
                    break
                led = follow.of
            else:
                if led.name == self.leader and key.positions.get(led) == self.argument:
                    yield signature


def joint(
    plan: Plan, records: Records, settled: Collection[Signature], own: Collection[Signature]
) -> Plan:
    """The plan with one partition, which runs all rules as they are written in every bucket.

    Its key deals out the predicates that are `settled`, each by one argument or to all, and
    the buckets' `own`, each by one argument. Every bucket has one answer set, whatever the facts.
    Raises `IndivisibleError` where the partitions do not go together like that.
    """
    if plan.facts:
        raise IndivisibleError("its rules hold facts; put them into a file that it reads")
    keys = [_key(number, plan, records) for number in range(len(plan.partitions))]
    places = {s: _position(s, keys, needed=False) for s in settled}
    places |= {s: _position(s, keys) for s in own}
    positions = {signature: place for signature, place in places.items() if place is not None}
    key = Key(positions, whole=frozenset(places.keys() - positions.keys()))
    first = plan.partitions[0]
    one = replace(
        first,
        rules=tuple(dict.fromkeys(rule for p in plan.partitions for rule in p.rules)),
        inputs=frozenset(places),
        shows=frozenset[Signature]().union(*(p.shows for p in plan.partitions)),
        key=key,
        others=(),
    )
    return replace(plan, partitions=(one,))


def _key(number: int, plan: Plan, records: Records) -> Key:
    """The key of a partition, by which what records become goes where they go."""
    partition = plan.partitions[number]
    _require_certain(partition)
    key = partition.key
    if key is None:
        raise IndivisibleError("; ".join(r for r in plan.reasons if r.startswith("partition")))
    if key.once:
        raise IndivisibleError(
            f"rule {min(key.once)} reads nothing that is split, and would run in each part"
        )
    for rule, share in sorted(key.shares.items()):
        raise IndivisibleError(
            f"rule {rule} would have to read in each part its share of {share.of} only, "
            "and other rules all of it"
        )
    astray = (records.predicates & partition.inputs).difference(records.go_with(key))
    for signature in sorted(astray):
        raise IndivisibleError(
            f"{signature} is not split by the place of its reading, but "
            f"{_described(signature, key)}"
        )
    return key


def _require_certain(partition: Partition) -> None:
    """There is one answer set, whatever the facts: parts of one that has none would go on."""
    kinds = {rule.kind for rule in partition.rules}
    if kinds - {"normal"}:
        raise IndivisibleError(f"it has a {min(kinds - {'normal'})}: parts must have one answer")
    cycle = Dependencies([rule.tree for rule in partition.rules]).negative_cycle()
    if cycle:
        raise IndivisibleError(
            f"{cycle[0].head} depends on its own absence (line {cycle[0].line}): "
            "parts must have one answer"
        )


def _position(signature: Signature, keys: Iterable[Key], needed: bool = True) -> int | None:
    """The argument by which all keys that know a predicate split it; None where all of it
    goes to all buckets, which is no answer if one is `needed`."""
    found = {_split_by(signature, key) for key in keys if _knows(key, signature)}
    position = found.pop() if len(found) == 1 else None
    if found or (needed and position is None):
        raise IndivisibleError(f"{signature} is not split by the same argument everywhere")
    return position


def _knows(key: Key, signature: Signature) -> bool:
    known = (key.positions, key.following, key.whole, key.spread)
    return any(signature in those for those in known)


def _split_by(signature: Signature, key: Key) -> int | None:
    if follow := key.following.get(signature):
        raise IndivisibleError(f"{signature} goes where {follow.of} goes")
    return key.positions.get(signature)


def _described(signature: Signature, key: Key) -> str:
    if signature in key.positions:
        return f"by its argument {key.positions[signature]}"
    match key.following.get(signature):
        case Follow(argument, of, there):
            return f"goes where {of} goes (argument {argument} is its {there})"
    return "wanted whole in each part" if signature in key.whole else "goes anywhere"
