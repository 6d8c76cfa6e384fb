"""Parts of bodies that several rules have, as nodes of a network (Monks et al., "Rete").

Two scans with a common variable that variants of other rules have too become a relation of
their own, and that with further scans, until no two rules have anything in common any more.
A node that only one other is made of is put back into it, so that what is stored is what is
shared. What no other rule has is joined where it stands, without intermediate relations: the
engine looks up all of a body's scans from each change.

Scans of constants (alpha nodes) need no relations: rows are kept once for all rules, and
indices by what rules know of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, count

from citywise.reasoning.languages.rif.bodies import mentioned
from citywise.reasoning.model.rules import Call, Compare, Literal, Rule, Scan, substituted
from citywise.reasoning.model.values import Compound, Computed, Term, Variable, variables

NODE = "#node"
"""How names of relations begin that several rules share."""
_Pair = tuple[Scan, Scan]
_Places = tuple[int, int]


def shared(rules: Iterable[Rule]) -> list[Rule]:
    """The rules, with nodes for what several of them have in common; nodes come last."""
    network = _Network(rules)
    while network.grow():
        pass
    return network.finished()


class _Network:
    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = list(rules)
        self._made: dict[_Pair, Rule] = {}
        self._subjects: dict[str, frozenset[int]] = {}
        """Of nodes, which of their terms are subjects in them."""
        self._pairs: list[dict[_Pair, _Places]] = [self._pairs_of(rule) for rule in self._rules]
        """Of each rule, pairs of scans as patterns, and where they are in its body."""
        self._users = Counter(pair for pairs in self._pairs for pair in pairs)
        self._numbers = count(1)

    def grow(self) -> bool:
        """Make a node of the pair that most rules have; False if no two have one."""
        found = [(users, pair) for pair, users in self._users.items() if users > 0]
        known = next((pair for _users, pair in found if pair in self._made), None)
        users, pair = max(found, key=lambda each: each[0], default=(0, None))
        pair = known or pair
        if pair is None or (known is None and users < 2):
            return False
        node = self._made.get(pair) or self._node(pair)
        for at, pairs in enumerate(self._pairs):
            if pair in pairs:
                self._replace(at, pairs[pair], pair, node)
        return True

    def _node(self, pair: _Pair) -> Rule:
        terms = tuple(map(Variable, dict.fromkeys(v for scan in pair for v in _names(scan))))
        self._made[pair] = node = Rule(f"{NODE} {next(self._numbers)}", terms, pair)
        self._subjects[node.head] = frozenset(
            place for place, term in enumerate(terms) if any(self._leads(s, term) for s in pair)
        )
        return node

    def _replace(self, at: int, places: _Places, pair: _Pair, node: Rule) -> None:
        """Put a node in the place of a pair of scans."""
        rule = self._rules[at]
        values: dict[str, Term] = {}
        for place, scan in zip(places, pair, strict=True):
            found = rule.body[place]
            assert isinstance(found, Scan)
            values |= {
                term.name: mine
                for term, mine in zip(scan.terms, found.terms, strict=True)
                if isinstance(term, Variable)
            }
        use = Scan(node.head, tuple(values[v.name] for v in node.terms if isinstance(v, Variable)))
        body = [each for place, each in enumerate(rule.body) if place not in places]
        self._rules[at] = replace(rule, body=(use, *body))
        self._users.subtract(list(self._pairs[at]))
        self._pairs[at] = self._pairs_of(self._rules[at])
        self._users.update(list(self._pairs[at]))

    def _pairs_of(self, rule: Rule) -> dict[_Pair, _Places]:
        found: dict[_Pair, _Places] = {}
        scans = [(at, each) for at, each in enumerate(rule.body) if _simple(each)]
        for (at, one), (other, two) in combinations(scans, 2):
            assert isinstance(one, Scan)
            assert isinstance(two, Scan)
            if self._joins(one, two):
                pair, turned = _pattern(one, two)
                found.setdefault(pair, (other, at) if turned else (at, other))
        return found

    def _joins(self, one: Scan, two: Scan) -> bool:
        """Whether two scans share a variable that is the subject of one of them: where they
        share objects only, there may be many more pairs than a rule needs."""
        common = _names(one).keys() & _names(two).keys()
        return any(self._leads(scan, Variable(v)) for v in common for scan in (one, two))

    def _leads(self, scan: Scan, term: Term) -> bool:
        places = self._subjects.get(scan.relation, frozenset({0}))
        return any(scan.terms[place] == term for place in places)

    # -- the result ---------------------------------------------------------------------

    def finished(self) -> list[Rule]:
        """The rules with those nodes that have several users, and no more terms than need be."""
        every = [*self._rules, *self._made.values()]
        for name in [node.head for node in reversed(self._made.values())]:
            users = [at for at, rule in enumerate(every) for each in _uses(rule, name)]
            (at,) = (at for at, rule in enumerate(every) if rule.head == name)
            if len(users) == 1:
                every[users[0]] = _inlined(every[users[0]], every[at])
                del every[at]
        for name in [node.head for node in reversed(self._made.values())]:
            every = _filtered(every, name)
        for name in [node.head for node in reversed(self._made.values())]:
            every = _narrowed(every, name)
        return every


def _inlined(user: Rule, node: Rule) -> Rule:
    """A rule with the body of a node in its place."""
    (use,) = _uses(user, node.head)
    names = _values(node, use)
    body = [each for each in user.body if each is not use]
    return replace(user, body=(*(substituted(each, names) for each in node.body), *body))


def _filtered(rules: Sequence[Rule], name: str) -> list[Rule]:
    """The rules with comparisons and calls in a node that all of its users make of it."""
    node = next((rule for rule in rules if rule.head == name), None)
    if node is None:
        return list(rules)
    users = [(rule, use) for rule in rules for use in _uses(rule, name)]
    tests = [_tests(rule, node, use) for rule, use in users]
    common = [test for test in tests[0] if all(test in others for others in tests[1:])]
    if not common or len({id(rule) for rule, _use in users}) < len(users):
        return list(rules)
    found = []
    for rule in rules:
        if rule is node:
            rule = replace(rule, body=(*rule.body, *common))
        for use in _uses(rule, name):
            names = _values(node, use)
            gone = [substituted(test, names) for test in common]
            rule = replace(rule, body=tuple(each for each in rule.body if each not in gone))
        found.append(rule)
    return found


def _tests(rule: Rule, node: Rule, use: Scan) -> list[Literal]:
    """The comparisons and calls of a rule that are about variables of a node alone, in the
    node's own words."""
    back = {
        mine.name: inner
        for inner, mine in zip(node.terms, use.terms, strict=True)
        if isinstance(mine, Variable)
    }
    tests = (each for each in rule.body if isinstance(each, Compare | Call))
    return [substituted(each, back) for each in tests if mentioned([each]) <= back.keys()]


def _narrowed(rules: Sequence[Rule], name: str) -> list[Rule]:
    """The rules with those terms of a node that one of its users needs."""
    needed = sorted(
        {place for rule in rules for use in _uses(rule, name) for place in _needed(rule, use)}
    )
    found = []
    for rule in rules:
        if rule.head == name:
            rule = replace(rule, terms=tuple(rule.terms[place] for place in needed))
        for use in _uses(rule, name):
            less = Scan(name, tuple(use.terms[place] for place in needed))
            rule = replace(rule, body=tuple(less if each is use else each for each in rule.body))
        found.append(rule)
    return found


def _needed(rule: Rule, use: Scan) -> Iterator[int]:
    """The places in a node of which a user needs the values."""
    others = mentioned(each for each in rule.body if each is not use)
    elsewhere = others.union(*map(variables, rule.terms))
    for place, term in enumerate(use.terms):
        if not isinstance(term, Variable) or term.name in elsewhere:
            yield place


def _uses(rule: Rule, name: str) -> list[Scan]:
    return [each for each in rule.body if isinstance(each, Scan) and each.relation == name]


def _values(node: Rule, use: Scan) -> dict[str, Term]:
    """What a user has in the places of a node's variables."""
    pairs = zip(node.terms, use.terms, strict=True)
    return {inner.name: mine for inner, mine in pairs if isinstance(inner, Variable)}


def _simple(literal: Literal) -> bool:
    """Whether a literal is a scan whose terms are variables and constants."""
    return isinstance(literal, Scan) and not any(
        isinstance(term, Compound | Computed) for term in literal.terms
    )


def _names(scan: Scan) -> dict[str, None]:
    """The variables of a scan, in order."""
    return dict.fromkeys(term.name for term in scan.terms if isinstance(term, Variable))


def _pattern(one: Scan, two: Scan) -> tuple[_Pair, bool]:
    """Two scans with names for variables that all variants have; and whether they had to be
    turned around for it."""
    straight, turned = _renamed((one, two)), _renamed((two, one))
    return (turned, True) if str(turned) < str(straight) else (straight, False)


def _renamed(scans: _Pair) -> _Pair:
    names: dict[str, Term] = {}

    def term(found: Term) -> Term:
        if isinstance(found, Variable):
            return names.setdefault(found.name, Variable(f"V{len(names)}"))
        return found

    one, two = (Scan(scan.relation, tuple(map(term, scan.terms))) for scan in scans)
    return one, two
