"""Explanations of generated programs, checked by enumerating their ground instances."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import clingo
import pytest
from clingo.ast import AST, parse_string
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citywise.reasoning.explain import Conflict, Explainer, ItemOrigin, TreeNode, conflicts
from citywise.reasoning.explain.model import model_of
from citywise.reasoning.explain.prefixes import Attempt, Prefixes
from citywise.reasoning.explain.rules import read
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.request import Request
from citywise.reasoning.streams.items import Item
from tests.reasoning import strategies
from tests.reasoning.reference.programs import Atom, Program

DOMAIN = range(1, 4)
Values = dict[str, int]
Answer = frozenset[str]


@dataclass(frozen=True)
class Lit:
    """A body literal: its text, its variables, when it holds, and the atoms it rests on."""

    text: str
    variables: str
    holds: Callable[[Values, Answer], bool]
    atoms: Callable[[Values], set[str]] = lambda values: set()


def positive(text: str) -> Lit:
    def ground(v: Values) -> str:
        return "".join(str(v.get(c, c)) for c in text)

    names = "".join(c for c in "XY" if c in text)
    return Lit(text, names, lambda v, m: ground(v) in m, lambda v: {ground(v)})


def negative(text: str) -> Lit:
    atom = positive(text)
    return Lit(f"not {text}", atom.variables, lambda v, m: not atom.holds(v, m))


def successors(v: Values, m: Answer) -> list[int]:
    return [z for z in DOMAIN if f"e({v['X']},{z})" in m]


BINDERS = [positive("d(X)"), positive("e(X,Y)"), positive("e(Y,X)")]
LITERALS = [
    *(positive(f"{p}(X)") for p in "pqr"),
    *(negative(f"{p}(X)") for p in "pqr"),
    Lit("not not q(X)", "X", lambda v, m: f"q({v['X']})" in m),
    Lit("X != 2", "X", lambda v, m: v["X"] != 2),
    Lit("X < 3", "X", lambda v, m: v["X"] < 3),
    Lit("#sum { Z: e(X,Z) } >= 3", "X", lambda v, m: sum(successors(v, m)) >= 3),
    Lit("1 < #count { Z: e(X,Z); Z: d(Z) } < 4", "X",
        lambda v, m: 1 < len({*successors(v, m), *(z for z in DOMAIN if f"d({z})" in m)}) < 4),
    Lit("#count { Z: p(Z) } >= 1", "", lambda v, m: any(f"p({z})" in m for z in DOMAIN)),
    Lit("2 { q(Z): d(Z) }", "",
        lambda v, m: sum(f"q({z})" in m and f"d({z})" in m for z in DOMAIN) >= 2),
    Lit("q(Z): e(X,Z)", "X", lambda v, m: all(f"q({z})" in m for z in successors(v, m))),
    Lit("N = #count { Z: e(X,Z) }", "XN", lambda v, m: v["N"] == len(successors(v, m))),
]  # fmt: skip
HEADS = ["p(X)", "q(X)", "r(X)", "s(X,X+1)", "{ p(X) }", "1 { q(X); r(X) } 1", "q(X) | r(X)",
         "{ r(Z): e(X,Z) } 2", "", ""]  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A generated rule: a head and its body."""

    head: str
    body: tuple[Lit, ...]

    @property
    def text(self) -> str:
        return f"{self.head} :- {'; '.join(lit.text for lit in self.body)}."

    @property
    def relaxed(self) -> str:
        """The rule without what a conflict may name: nothing, or a choice without bounds."""
        if not self.head:
            return ""
        return f"{self.head.strip('12 ')} :- {self.text.partition(':- ')[2]}"

    def instances(self, answer: Answer) -> Iterator[Values]:
        """Assignments under which the body holds."""
        names = sorted({c for lit in self.body for c in lit.variables})
        yield from assignments(names, list(self.body), {}, answer)


def assignments(
    names: list[str], body: list[Lit], fixed: Values, answer: Answer
) -> Iterator[Values]:
    ranges = [range(10) if n == "N" else DOMAIN for n in names]
    for chosen in itertools.product(*ranges):
        values = {**dict(zip(names, chosen, strict=True)), **fixed}
        if all(lit.holds(values, answer) for lit in body):
            yield values


def heads(rule: Made, v: Values, answer: Answer) -> set[str]:
    """The atoms a ground head can derive."""
    x = v["X"]
    if "Z" in rule.head:
        return {f"r({z})" for z in successors(v, answer)}
    if rule.head.startswith("s"):
        return {f"s({x},{x + 1})"}
    return {f"{p}({x})" for p in "pqr" if f"{p}(X)" in rule.head}


rules = st.lists(
    st.builds(
        lambda head, binder, rest: Made(head, (binder, *rest)),
        st.sampled_from(HEADS),
        st.sampled_from(BINDERS),
        st.lists(st.sampled_from(LITERALS), max_size=3, unique_by=lambda lit: lit.text),
    ),
    min_size=1,
    max_size=5,
)
facts = st.sets(
    st.sampled_from([f"d({x})" for x in DOMAIN] + [f"e({x},{y})" for x in DOMAIN for y in DOMAIN]),
    max_size=7,
)


def program(made: list[Made]) -> str:
    return "\n".join(rule.text for rule in made) + "\n"


def answers(text: str) -> list[Answer]:
    control = clingo.Control(["4", "--warn=none"])
    control.add("base", [], text)
    control.ground([("base", [])])
    found = []
    with control.solve(yield_=True) as handle:
        for model in handle:
            found.append(frozenset(map(str, model.symbols(atoms=True))))
    return found


def explainer(text: str, given_facts: set[str], answer: Answer) -> Explainer:
    origins = {f: (ItemOrigin(Item(1, f)),) for f in sorted(given_facts)}
    derived = frozenset(s for rule in read(text) for s in rule.derives())
    shown = tuple(a for a in sorted(answer) if a not in given_facts)
    return Explainer(Request("made", text, derived=derived), origins, answer=AnswerSet(shown))


@pytest.mark.parametrize("examples", [20, pytest.param(200, marks=pytest.mark.long)])
def test_every_atom_of_every_answer_set_has_a_true_and_acyclic_derivation(examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(rules, facts)
    def check(made: list[Made], given_facts: set[str]) -> None:
        text = program(made)
        for answer in answers(text + "".join(f"{f}.\n" for f in given_facts)):
            asked = explainer(text, given_facts, answer)
            assert asked.answer is not None
            assert frozenset(map(str, asked.answer.atoms)) == answer
            said, values = set[str](), set[str]()
            for atom in sorted(answer):
                explanation = asked.explain(atom)
                assert explanation.question == "why"
                assert_derives(explanation.tree, made, given_facts, answer)
                said |= {n.literal for n in explanation.tree.walk() if n.literal}
                values |= {value_of(n) for n in explanation.tree.walk() if n.kind == "aggregate"}
            assert_true(said | values, answer)

    check()


def assert_derives(tree: TreeNode, made: list[Made], given_facts: set[str], answer: Answer) -> None:
    """Each inner node is a rule instance that holds; leaves are given; nothing is circular."""
    rests: dict[str, set[str]] = {}
    for node in tree.walk():
        if node.kind in ("derived", "chosen", "alternative"):
            assert node.atom is not None
            assert node.rule is not None
            rule = made[node.rule.line - 1]
            assert any(
                node.atom in heads(rule, v, answer)
                and plain_atoms(node) >= {a for lit in rule.body for a in lit.atoms(v)}
                for v in rule.instances(answer)
            ), node.text
            rests[node.atom] = {a for c in node.children for a in positive_atoms(c)}
            assert rests[node.atom] <= answer
        elif node.kind == "stream":
            assert node.atom in given_facts
        else:
            assert node.kind in (
                "seen",
                "absent",
                "present",
                "comparison",
                "aggregate",
                "conditional",
            )
            assert node.kind != "absent" or node.atom not in answer
    assert set().union(*rests.values(), set()) <= given_facts | set(rests)
    assert_acyclic(rests)


def value_of(node: TreeNode) -> str:
    """An aggregate as an assignment of the value that was told: `#sum { … } = 3`."""
    literal = str(node.literal)
    inside = literal[literal.index("{") : literal.index("}") + 1]
    return f"{node.text.split()[0] if '#' in literal else ''} {inside} = {node.value}"


@pytest.mark.parametrize("examples", [20, pytest.param(120, marks=pytest.mark.long)])
def test_whatever_the_language_allows_is_explained_in_full(examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(strategies.programs(), strategies.facts((*strategies.SUPPLIED, *strategies.KNOWN)))
    def check(program: Program, known: tuple[Atom, ...]) -> None:
        text, given_facts = rules_of(program), set(map(str, known))
        found = answers(text + "".join(f"{f}.\n" for f in given_facts))
        if not found:
            conflict = explainer(text, given_facts, frozenset()).explain("p(1)")
            assert conflict.question == "conflict"
        for answer in found[:2]:
            asked = explainer(text, given_facts, answer)
            assert_explained(asked, given_facts, answer)
            for atom in ("p(1)", "-p(2)", "h(1,2)", "m(3)", "n(1,a)"):
                tree = asked.explain(atom).tree
                assert asked.explain(atom).holds == (atom in answer)
                assert "opaque" not in {node.kind for node in tree.walk()}

    check()


def rules_of(program: Program) -> str:
    """The program's text without what makes some answer sets better or shows less of them."""
    plain = replace(program, preferences=(), shows=None)
    return f"{plain}\n"


def assert_explained(asked: Explainer, given_facts: set[str], answer: Answer) -> None:
    said, rests = set[str](), dict[str, set[str]]()
    for atom in sorted(answer):
        for node in asked.explain(atom).tree.walk():
            assert node.kind not in ("opaque", "given", "cut")
            assert node.kind != "stream" or node.atom in given_facts
            assert node.kind != "absent" or node.atom not in answer
            if node.kind in ("derived", "chosen", "alternative"):
                rests[str(node.atom)] = {a for c in node.children for a in positive_atoms(c)}
            if node.literal:
                said.add(node.literal)
    assert_true(said, answer)
    assert answer <= given_facts | set(rests) | {a for a in answer if is_fact(asked, a)}
    assert_acyclic(rests)


def is_fact(asked: Explainer, atom: str) -> bool:
    return asked.explain(atom).tree.kind == "fact"


def assert_true(literals: set[str], answer: Answer) -> None:
    """Every literal that was said to hold does, clingo being asked over the answer."""
    said = sorted(literals)
    lines = [f"true({number}) :- {literal}." for number, literal in enumerate(said)]
    [found] = answers("".join(f"{atom}.\n" for atom in answer) + "\n".join(lines))
    false = [literal for n, literal in enumerate(said) if f"true({n})" not in found]
    assert not false


def plain_atoms(node: TreeNode) -> set[str | None]:
    return {c.atom for c in node.children if c.kind not in ("absent", "present", "comparison")}


def positive_atoms(node: TreeNode) -> set[str]:
    if node.kind in ("aggregate", "conditional"):
        return {a for child in node.children for a in positive_atoms(child)}
    return {node.atom} if node.atom and node.kind not in ("absent", "present") else set()


def assert_acyclic(rests: dict[str, set[str]]) -> None:
    left = dict(rests)
    while left:
        ready = [atom for atom, below in left.items() if not below & set(left)]
        assert ready, f"circular: {left}"
        for atom in ready:
            del left[atom]


@pytest.mark.parametrize("examples", [10, pytest.param(60, marks=pytest.mark.long)])
def test_the_literal_at_which_a_rule_breaks_is_the_one_that_brute_force_finds(
    examples: int,
) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(rules, facts)
    def check(made: list[Made], given_facts: set[str]) -> None:
        text = program(made)
        for answer in answers(text + "".join(f"{f}.\n" for f in given_facts))[:2]:
            prefixes = Prefixes(read(text), model_of(map(clingo.parse_term, sorted(answer))), 1000)
            for atom in [f"{p}({x})" for p in "pqr" for x in DOMAIN] + ["s(1,2)", "s(1,3)"]:
                if atom not in answer:
                    assert_breaks(list(prefixes.attempts(clingo.parse_term(atom))), made, answer)
            asked = explainer(text, given_facts, answer)
            if "p(1)" not in answer:
                assert asked.explain("p(1)").question == "why not"

    check()


def assert_breaks(attempts: list[Attempt], made: list[Made], answer: Answer) -> None:
    for attempt in attempts:
        assert attempt.failure is None
        rule = made[attempt.rule.text.line - 1]
        known = {canonical(lit.text): lit for lit in rule.body}
        held = [known[str(part.source)] for step in attempt.held for part in step.parts
                if str(part.source) in known]  # fmt: skip
        fixed = {name: value.number for name, value in attempt.values.items() if name in "XYN"}
        names = sorted({c for lit in held for c in lit.variables} - set(fixed))
        expected = {tuple(v[n] for n in names) for v in assignments(names, held, fixed, answer)}
        beyond = len(attempt.held) > len(held) or "Z" in rule.head
        if not beyond:
            found = {tuple(b[n].number for n in names) for b in attempt.bindings}
            assert found == expected
        if attempt.broken is None:
            assert rule.head[0] in "{1" or "|" in rule.head
            continue
        broken = [known[str(p.source)] for p in attempt.broken.parts if str(p.source) in known]
        if len(broken) == len(attempt.broken.parts):
            more = sorted({c for lit in (*held, *broken) for c in lit.variables} - set(fixed))
            if not beyond:
                assert not list(assignments(more, [*held, *broken], fixed, answer))


def canonical(text: str) -> str:
    """A literal as clingo prints it."""
    found: list[AST] = []
    parse_string(f":- {text}.", found.append)
    return str(found[-1].body[0])


@pytest.mark.parametrize("examples", [20, pytest.param(200, marks=pytest.mark.long)])
def test_a_conflict_is_unsatisfiable_and_without_any_one_member_it_is_not(examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(rules, facts)
    def check(made: list[Made], given_facts: set[str]) -> None:
        text = program(made)
        given_text = "".join(f"{f}.\n" for f in sorted(given_facts))
        wishes = {"p": ":- not p(1).", "q": ":- q(X), X > 1.", "d": ":- #count { X: d(X) } < 2."}
        found = conflicts(text, sorted(given_facts), wishes, limit=5)
        satisfiable = bool(answers(text + given_text + "\n".join(wishes.values())))
        assert satisfiable == (not found)
        for conflict in found:
            assert_minimal(conflict, made, given_text, wishes)

    check()


def assert_minimal(
    conflict: Conflict, made: list[Made], given_text: str, wishes: dict[str, str]
) -> None:
    members: set[str | int] = {
        *conflict.wishes,
        *(violated.rule.line for violated in conflict.constraints),
    }

    def holds(kept: set[str | int]) -> bool:
        lines = [rule.text if n in kept or rule.head[:1] not in ("", "1", "{") else rule.relaxed
                 for n, rule in enumerate(made, 1)]  # fmt: skip
        return bool(
            answers("\n".join([*lines, given_text, *(wishes[w] for w in wishes if w in kept)]))
        )

    assert not holds(members)
    for member in members:
        assert holds(members - {member})
