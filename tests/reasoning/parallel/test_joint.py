"""All rules in every bucket, records dealt out before they are facts: the answer of the whole."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from citywise.reasoning.asp.rules import read
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.engine import WindowFacts, program
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.partition.plan import Plan
from citywise.reasoning.partition.routing import (
    IndivisibleError,
    Records,
    Router,
    bucket,
    grouped,
    joint,
)
from citywise.reasoning.partition.sound import plan

STREAMED = frozenset({Signature("at", 2), Signature("speed", 2)})
KNOWN = frozenset({Signature("next", 2), Signature("main", 1)})
SHOWN = frozenset({Signature("event", 1), Signature("pair", 2)})
RECORDS = Records(STREAMED, "at", 2)
RULES = (
    "seen(R) :- at(_,R).",
    "slow(R) :- at(O,R), speed(O,V), V < 3.",
    "slow(R) :- at(O,R), speed(O,V), V < 2, main(R).",
    "quiet(R) :- main(R), not seen(R).",
    "quiet(R) :- next(R,_), not seen(R).",
    "near(R) :- at(_,R), next(_,R).",
    "near(S) :- slow(R), next(R,S).",
    "few(R) :- main(R), #count { O : at(O,R) } < 2.",
    "few(R) :- main(R), #count { S : seen(S) } < 2.",
    "event(R) :- slow(R), not few(R).",
    "event(R) :- quiet(R).",
    "event(R) :- near(R), main(R).",
    "event(S) :- main(S), next(R,S), not slow(R).",
    "event(R) :- at(O,R), not speed(O,1).",
    "pair(R,S) :- slow(R), next(R,S).",
    "pair(R,S) :- next(R,S), not seen(R).",
    "pair(R,S) :- next(R,S), quiet(S).",
    "pair(R,O) :- at(O,R), not main(R).",
)
DIFFICULT = (
    (  # a rule that reads its bucket's share of streets, which another reads whole
        "quiet(R) :- next(R,_), not seen(R).",
        "seen(R) :- at(_,R).",
        "event(R) :- quiet(R).",
        "pair(R,S) :- next(R,S), quiet(S).",
    ),
    (  # readings that all buckets would have to see
        "event(R) :- at(O,R), speed(O,V), least(V).",
        "least(V) :- V = #min { X : speed(_,X) }.",
    ),
    # a reading that would go elsewhere than its place
    ("event(R) :- at(_,R), speed(R,_).",),
)
PLACES = st.sampled_from(["a", "b", "1", '"c"'])


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Some of the rules, so that each predicate may be split in one way or in none."""
    random = st.lists(st.sampled_from(RULES), min_size=1, max_size=5, unique=True)
    rules = draw(st.one_of(random, st.sampled_from(DIFFICULT)))
    return parse("\n".join([*rules, "#const b = 1.", "#show event/1.", "#show pair/2."]))


def divided(request: Request) -> Plan:
    what = program(request, STREAMED | KNOWN)
    derived = frozenset(s for rule in read(what.rules).rules for s in rule.head)
    found = plan(what, present=STREAMED | KNOWN)
    return joint(found, RECORDS, KNOWN, SHOWN & derived)


def facts(atoms: Iterable[str]) -> str:
    return "".join(f"{atom}.\n" for atom in sorted(set(atoms)))


@pytest.mark.slow
@given(
    requests(),
    st.lists(st.tuples(PLACES, st.integers(0, 4)), max_size=6),
    st.lists(st.tuples(PLACES, PLACES), max_size=5),
    st.lists(PLACES, max_size=3),
    st.integers(1, 4),
)
def test_buckets_give_together_the_answer_of_the_whole(
    request: Request,
    readings: list[tuple[str, int]],
    streets: list[tuple[str, str]],
    main: list[str],
    buckets: int,
) -> None:
    try:
        found = divided(request)
    except IndivisibleError as reason:
        event(str(reason).split(" ")[-1])
        return
    event("divided")
    engine = SolverEngine(request)
    known = facts([*(f"next({r},{s})" for r, s in streets), *(f"main({r})" for r in main)])
    records = [(r, (f"at({n},{r})", f"speed({n},{v})")) for n, (r, v) in enumerate(readings)]

    def answer(knowledge: str, those: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        window = knowledge + facts(atom for each in those for atom in each)
        (found,) = engine.answer_sets(WindowFacts(window, STREAMED | KNOWN))
        return found.atoms

    (dealt,) = Router(found, buckets).route(grouped(known))
    values = {"b": "1"}  # what the constant means
    told = [
        answer(dealt[n], (r for p, r in records if bucket(values.get(p, p), buckets) == n))
        for n in range(buckets)
    ]
    together = sorted(atom for atoms in told for atom in atoms)
    assert together == sorted(answer(known, (atoms for _, atoms in records)))
