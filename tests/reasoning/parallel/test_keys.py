"""Keys: by which arguments facts can be split, and why they cannot."""

from __future__ import annotations

import pytest

from citywise.reasoning.model.engine import AspProgram
from citywise.reasoning.model.request import Signature
from citywise.reasoning.partition.plan import Follow, Key, Plan, Share
from citywise.reasoning.partition.sound import plan


def planned(text: str, **options: object) -> Plan:
    return plan(AspProgram("test", text, (1,)), **options)  # type: ignore[arg-type]


def key(text: str, **options: object) -> Key | None:
    """The key of a program that is one partition."""
    (partition,) = planned(text, **options).partitions
    return partition.key


def positions(text: str) -> dict[str, int] | None:
    found = key(text)
    return None if found is None else {str(s): i for s, i in sorted(found.positions.items())}


SPLIT: dict[str, tuple[str, dict[str, int]]] = {
    "a join": ("a(X) :- b(X,Y), c(Z,X). #show a/1.", {"b/2": 1, "c/2": 2}),
    "negation on the key": ("a(X) :- b(X), not c(X). #show.", {"a/1": 1, "b/1": 1, "c/1": 1}),
    "recursion along the key": (
        "r(X,C) :- s(X,C). r(Y,C) :- r(X,C), t(X,Y,C). #show.",
        {"r/2": 2, "s/2": 2, "t/3": 3},
    ),
    "an aggregate for each key": (
        "n(K,N) :- k(K), N = #sum{V,X : p(K,X,V)}. m(K) :- n(K,N), N > 3. #show m/1.",
        {"k/1": 1, "p/3": 1},
    ),
    "a choice for each key": (
        "1{pick(K,X) : offer(K,X)}1 :- k(K). :- pick(K,X), taken(K,X). #show pick/2.",
        {"k/1": 1, "offer/2": 1, "pick/2": 1, "taken/2": 1},
    ),
    "a wish whose tuple holds the key": (
        "{a(K)} :- b(K). :~ a(K). [1@1,K]",
        {"a/1": 1, "b/1": 1},
    ),
    "a computed key": ("a(X) :- b(X+1), c(X+1), d(X). #show a/1.", {"b/1": 1, "c/1": 1}),
    "a constant key": (
        'a(X) :- b("k",X), c(X,"k"), d(X). #show a/1.',
        {"b/2": 2, "c/2": 1, "d/1": 1},
    ),
}


@pytest.mark.parametrize("case", SPLIT)
def test_what_is_split(case: str) -> None:
    text, expected = SPLIT[case]
    found = positions(text)
    assert found is not None
    assert expected.items() <= found.items()


def test_reachability_is_split_by_where_it_begins() -> None:
    """Edges go to all, and once more, split, to where paths begin with them."""
    text = "path(X,Y) :- edge(X,Y).\npath(X,Z) :- path(X,Y), edge(Y,Z).\n#show path/2."
    (partition,) = planned(text).partitions
    assert partition.key is not None
    assert partition.key.positions == {Signature("path", 2): 1}
    assert partition.key.whole == {Signature("edge", 2)}
    assert partition.key.shares == {"1": Share(0, Signature("edge", 2), 1)}
    assert "path(X,Y) :- citywise_by_1_edge(X,Y).\n" in partition.program(1).rules
    assert "path(X,Z) :- path(X,Y); edge(Y,Z).\n" in partition.program(1).rules


def test_shares_do_not_take_a_name_that_is_used() -> None:
    text = "path(X,Y) :- edge(X,Y). path(X,Z) :- path(X,Y), edge(Y,Z). #show path/2."
    more = " q(X) :- citywise_by_1_edge(X,Y), not path(X,Y). #show q/1."
    (partition,) = planned(text + more).partitions
    assert partition.key is None or not partition.key.shares


NOT_SPLIT = {
    "a priority that is a variable": "{a(K,P)} :- b(K,P). :~ a(K,P). [1@P,K]",
    "a product": "a(X,Y) :- b(X), c(Y). d(X,Y) :- a(X,Y), a(Y,X).",
    "an aggregate over all keys": "a(N) :- N = #count{X : b(X)}.",
    "a wish whose tuples are equal over keys": "{a(K)} :- b(K). :~ a(K). [1@1]",
    "a choice over all keys": "1{a(K) : b(K)}1.",
    "only an absence": "a(X) :- not b(X), X = 1..9.",
    "no arguments": "a :- b, not c.",
}


@pytest.mark.parametrize("case", NOT_SPLIT)
def test_what_is_not_split(case: str) -> None:
    found = planned(NOT_SPLIT[case])
    assert [partition.key for partition in found.partitions] == [None]


def test_listing_6_1_is_split_by_course() -> None:
    """What makes common research interests goes to all, teachers and students by course."""
    text = """
    rdf_type(X,"P") :- rdf_type(X,"F").
    common(X,Y) :- author(P,X), author(P,Y).
    common(X,Y) :- advisor(X,Z), advisor(Y,Z).
    teacher(Y,C) :- common(X,Y), teacher(X,C).
    teaches(X,Y) :- teacher(X,C), takes(Y,C).
    teaches(X,Y) :- assists(X,C), takes(Y,C).
    suggest(X,Y) :- teaches(Y,X).
    #show teaches/2. #show suggest/2.
    """
    found = next(p.key for p in planned(text).partitions if len(p.rules) > 2)
    assert found is not None
    split = {str(s): i for s, i in found.positions.items()}
    assert split == {"assists/2": 2, "takes/2": 2, "teacher/2": 2}
    assert {str(s) for s in found.whole} == {"author/2", "advisor/2", "common/2"}
    assert {str(s) for s in found.spread} == {"teaches/2", "suggest/2"}


def test_values_of_an_observation_follow_it_to_the_key_of_its_sensor() -> None:
    text = (
        "busy(S) :- made(O,S), value(O,V), V > 3. calm(S) :- sensor(S), not busy(S). #show calm/1."
    )
    found = key(text)
    assert found is not None
    assert found.following == {Signature("value", 2): Follow(1, Signature("made", 2), 1)}
    assert found.positions[Signature("made", 2)] == 2


def test_what_is_read_without_what_it_follows_does_not_follow() -> None:
    text = "busy(S) :- made(O,S), value(O,V). calm(S) :- sensor(S), not busy(S), value(_,S)."
    found = key(text)
    assert found is not None
    assert Signature("value", 2) not in found.following


def test_what_is_fed_back_is_split_as_it_is_derived() -> None:
    text = "on(X) :- b(X,Y). on(X) :- prev_on(X), not off(X). #show on/1."
    fed = {Signature("prev_on", 1): Signature("on", 1)}
    found = key(text, feedback=fed)
    assert found is not None
    assert found.positions[Signature("prev_on", 1)] == found.positions[Signature("on", 1)] == 1


def test_measured_sizes_choose_between_keys() -> None:
    text = "a(X,Y) :- b(X,Z), c(Z,Y), d(X). e(X,Y) :- a(X,Y), d(X), f(Y)."
    small, large = Signature("f", 1), Signature("b", 2)
    found = key(text, weights={small: 1, large: 9, Signature("d", 1): 9})
    assert found is not None
    assert large in found.positions
    assert Signature("d", 1) in found.positions


def test_a_refusal_names_the_rules_that_make_it() -> None:
    text = "a(X) :- c(X).\na(N) :- N = #count{X : b(X), c(X)}, not a(3)."
    (partition,) = planned(text).partitions
    assert partition.key is None
    assert "partition 1: b/1 cannot be split by argument 1: line 2" in planned(text).reasons


def test_rules_over_what_all_have_run_once() -> None:
    text = """
    common(X,Y) :- advisor(X,Z), advisor(Y,Z).
    teacher(Y,C) :- common(X,Y), teacher(X,C).
    teaches(X,Y) :- teacher(X,C), takes(Y,C).
    letter(X,Z) :- advisor(X,Z).
    #show teaches/2. #show letter/2.
    """
    (partition,) = planned(text).partitions
    assert partition.key is not None
    assert partition.key.once == {"5"}
    assert "letter(X,Z) :-" in partition.program(0).rules
    assert "letter(X,Z) :-" not in partition.program(1).rules


def test_other_keys_split_something_else() -> None:
    text = "a(X,Y) :- b(X,Z), c(Z,Y). d(X) :- a(X,Y), e(Y). #show d/1."
    (partition,) = planned(text).partitions
    assert partition.key is not None
    keys = [partition.key, *partition.others]
    split = [
        {(str(s), i) for s, i in key.positions.items() if str(s) in "b/2 c/2 e/1"} for key in keys
    ]
    for number, one in enumerate(split):
        assert not any(one <= other for other in split[:number])
    assert {("b/2", 1)} in split


def test_no_key_is_looked_for_where_that_would_take_long() -> None:
    rules = (f"p{i}(X) :- p{i - 1}(X), r(X,{i}), not n{i}(X)." for i in range(1, 300))
    found = planned("\n".join(rules))
    assert found.partitions[0].key is None
    assert (
        "partition 1: its rules hold more than 1,000 atoms: no key is looked for" in found.reasons
    )


def test_alternatives_of_a_pool_are_split_alike() -> None:
    found = key("1{ lane(R,left; R,right) }1 :- speed(R,V), V < 3. #show lane/2.")
    assert found is not None
    assert found.positions[Signature("lane", 2)] == found.positions[Signature("speed", 2)] == 1


def test_an_alternative_of_a_pool_puts_no_rule_in_a_bucket() -> None:
    """It is two rules, and one of them reads no b(X)."""
    assert key("a(X) :- b(1;X), not c(X), X = 1..3. #show a/1.") is None
    assert key("a(X) :- b(X), not c(X), X = 1..3. #show a/1.") is not None
