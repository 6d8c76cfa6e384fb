"""The partitioning handler: every fact goes where a rule may read it, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from citywise.reasoning.model.request import Signature
from citywise.reasoning.partition.plan import Follow, Key, Partition, Plan, Share
from citywise.reasoning.partition.routing import Router, bucket, by_signature, grouped


def signature(text: str) -> Signature:
    name, _, arity = text.partition("/")
    return Signature(name, int(arity))


def signatures(text: str) -> frozenset[Signature]:
    return frozenset(map(signature, text.split()))


def partition(inputs: str, key: Key | None = None) -> Partition:
    return Partition((), signatures(inputs), frozenset(), key=key)


def routed(plan: Plan, facts: str, buckets: int = 3) -> list[list[list[str]]]:
    """The atoms of each partition and bucket."""
    texts = Router(plan, buckets).route(grouped(facts.replace(". ", ".\n") + "\n"))
    return [[atoms(text) for text in partition] for partition in texts]


def atoms(text: str) -> list[str]:
    assert not text or text.endswith(".\n")
    return [line.removesuffix(".") for line in text.split("\n") if line]


def plan(*partitions: Partition, constants: str = "") -> Plan:
    return Plan("sound", partitions, constants=constants)


P, Q, V, W = (signature(s) for s in ("p/2", "q/1", "v/2", "w/1"))
SPLIT = partition(
    "p/2 q/1 v/2 w/1", Key({P: 2}, {V: Follow(1, P, 1)}, frozenset({Q}), frozenset({W}))
)


def home(value: str, buckets: int = 3) -> int:
    return bucket(value, buckets)


def test_a_partition_without_a_key_gets_all_facts_of_its_predicates_and_no_others() -> None:
    parts = plan(partition("p/2 q/1"), partition("q/1 z/0 -p/1"))
    facts = 'p(1,2). -p(1). q("a.b\\n"). z. other(5). pq(1).'
    assert routed(parts, facts) == [[["p(1,2)", 'q("a.b\\n")']], [["-p(1)", 'q("a.b\\n")', "z"]]]


def test_facts_are_split_by_the_hash_of_the_key() -> None:
    ((*buckets,),) = routed(plan(SPLIT), " ".join(f"p(x,{n})." for n in range(40)))
    assert sorted(a for found in buckets for a in found) == sorted(f"p(x,{n})" for n in range(40))
    for place, found in enumerate(buckets):
        assert found
        assert {home(a[4:-1]) for a in found} == {place}


def test_what_is_whole_goes_to_all_buckets_and_what_is_spread_to_one() -> None:
    assert routed(plan(SPLIT), "w(1). q(2).") == [[["q(2)", "w(1)"], ["w(1)"], ["w(1)"]]]


def test_what_follows_goes_where_the_atoms_go_that_it_joins_with() -> None:
    ((*buckets,),) = routed(plan(SPLIT), "v(1,a). v(2,a). v(3,a). p(1,r). p(1,s). p(2,s). p(4,t).")
    for place, found in enumerate(buckets):
        leaders = {a[2] for a in found if a.startswith("p")}
        assert {a[2] for a in found if a.startswith("v")} == leaders & {"1", "2", "3"}
        assert all(home(a[4]) == place for a in found if a.startswith("p"))


KEYS = {
    "a string with commas and brackets": '"a,(b"',
    "a string with a quote": '"a\\",b"',
    "a string with an end of line": '"a\\n.b"',
    "a negative number": "-3",
    "a compound term": 'f(1,"x",(2,3))',
    "a tuple": "(1,)",
    "an infinite one": "#inf",
    "a term with a sign": "-f(1)",
    "a string beyond ASCII": '"Århus"',
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_key_may_be_any_term(key: str) -> None:
    ((*buckets,),) = routed(plan(SPLIT), f"p(1,{key}). p(f(2),{key}). v(1,{key}).")
    expected = {f"p(1,{key})", f"p(f(2),{key})", f"v(1,{key})"}
    assert [set(found) for found in buckets] == [
        expected if place == home(key) else set() for place in range(3)
    ]


def test_a_constant_with_a_value_is_the_key_that_its_value_is() -> None:
    """`#const` replaces words in facts too."""
    buckets = 64
    split = plan(SPLIT, constants="#const a = 5.\n#const b = f(a).\n")
    facts = 'p(1,a). p(2,5). p(1,b). p(2,f(5)). p(1,"a"). p(1,ab).'
    ((*found,),) = routed(split, facts, buckets)
    places = {a: place for place, atoms in enumerate(found) for a in atoms}
    assert places["p(1,a)"] == places["p(2,5)"] == home("5", buckets)
    assert places["p(1,b)"] == places["p(2,f(5))"] == home("f(5)", buckets)
    assert places['p(1,"a")'] == home('"a"', buckets)
    assert places["p(1,ab)"] == home("ab", buckets)


def test_a_constant_may_have_a_prime() -> None:
    split = plan(SPLIT, constants="#const k' = 2.\n#const k'k = 3.\n")
    ((*found,),) = routed(split, "p(1,k'). p(2,2). p(1,k'k). p(2,3). p(1,k). p(1,k'').", 64)
    places = {a: place for place, atoms in enumerate(found) for a in atoms}
    assert places["p(1,k')"] == places["p(2,2)"]
    assert places["p(1,k'k)"] == places["p(2,3)"]
    assert places["p(1,k)"] == home("k", 64)
    assert places["p(1,k'')"] == home("k''", 64)


def test_predicates_of_one_name_are_told_apart_by_their_arguments() -> None:
    key = Key({P: 1}, whole=signatures("p/1"), spread=signatures("p/3"))
    facts = 'p(1). p("a,b"). p(7,"(,"). p(1,2,3). p(f(1,2)).'
    ((*buckets,),) = routed(plan(partition("p/1 p/2 p/3", key)), facts)
    whole = ["p(1)", 'p("a,b")', "p(f(1,2))"]
    expected = [[*whole] for _ in range(3)]
    expected[home("7")].append('p(7,"(,")')
    expected[0].append("p(1,2,3)")
    assert list(map(sorted, buckets)) == list(map(sorted, expected))


def test_an_atom_with_more_arguments_than_expected_breaks_nothing() -> None:
    ((*buckets,),) = routed(plan(SPLIT), "p(1,7,8). p(2,7).")
    assert "p(2,7)" in buckets[home("7")]


def test_a_share_is_there_under_another_name_beside_the_whole() -> None:
    shares = {"r1": Share(1, P, 2), "r2": Share(0, P, 2), "r3": Share(0, P, 1)}
    split = plan(partition("p/2", Key({}, whole=signatures("p/2"), shares=shares)))
    ((*buckets,),) = routed(split, "p(1,r). p(2,u).")
    for place, found in enumerate(buckets):
        first = [f"citywise_by_1_p({a})" for a in ("1,r", "2,u") if home(a[0]) == place]
        second = [f"citywise_by_2_p({a})" for a in ("1,r", "2,u") if home(a[2]) == place]
        assert sorted(found) == [*first, *second, "p(1,r)", "p(2,u)"]


def test_windows_follow_what_has_settled_and_what_settled_follows_windows_everywhere() -> None:
    router = Router(plan(SPLIT), 3, moving=[P])
    (settled,) = router.settle(grouped("p(1,r).\nv(1,a).\nv(2,a).\n"))
    assert [atoms(text).count("v(2,a)") for text in settled] == [1, 1, 1]
    assert [atoms(text).count("p(1,r)") for text in settled].index(1) == home("r")
    (routed_now,) = router.route(grouped("v(1,b).\nv(3,b).\n"))
    assert [atoms(text) for text in routed_now] == [
        ["v(1,b)"] if place == home("r") else [] for place in range(3)
    ]


def test_what_settled_follows_what_settled_where_no_window_has_any() -> None:
    (settled,) = Router(plan(SPLIT), 3).settle(grouped("p(1,r).\nv(1,a).\nv(2,a).\n"))
    assert [atoms(text) for text in settled] == [
        ["p(1,r)", "v(1,a)"] if place == home("r") else [] for place in range(3)
    ]


def test_another_process_finds_the_same_buckets() -> None:
    """Hash seeds make no difference, nor does where a task runs."""
    program = """
from citywise.reasoning.partition.routing import bucket
print([bucket(f"road_{n}", 7) for n in range(50)])
"""
    said = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout.strip() == str([bucket(f"road_{n}", 7) for n in range(50)])


def test_lines_are_told_apart_by_their_predicates() -> None:
    lines = ["p(1).", 'p("a,b",2).', "p.", "-p(1)."]
    assert {str(s): len(found) for s, found in by_signature(lines).items()} == {
        "p/1": 1, "p/2": 1, "p/0": 1, "-p/1": 1,
    }  # fmt: skip
