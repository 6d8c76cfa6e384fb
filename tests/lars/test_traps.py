"""Programs on which evaluators of LARS are known to go wrong."""

from __future__ import annotations

import pytest

from citywise.reasoning.languages.lars.compile import obstacle
from citywise.reasoning.languages.lars.parsing import parse
from tests.lars.programs import example
from tests.lars.reference import answer_streams
from tests.lars.running import agreed, outputs, points


def test_a_join_of_three_finds_the_atom_that_arrives_last() -> None:
    """The original Laser loses the answers at 4 and later, when c arrives after a and b."""
    program = "h(X,Z) :- <> a(X,Y) [5], <> b(Y,Z) [5], <> c(Z,X) [5]."
    assert points(program, "1: a(1,2)\n2: b(2,3)\n4: c(3,1)", 0, 9) == [4, 5, 6]
    assert points(program, "1: c(3,1)\n2: a(1,2)\n4: b(2,3)", 0, 9) == [4, 5, 6]
    assert points(program, "1: b(2,3)\n2: c(3,1)\n4: a(1,2)", 0, 9) == [4, 5, 6]


def test_negation_over_three_strata() -> None:
    """c depends on the absence of b, which depends on the absence of a: the original Laser's
    own test asserts a set of atoms that is no model."""
    program = "b :- <> i [9], not <> a [1]. c :- <> i [9], not b. d :- <> i [9], not c."
    found = outputs(example(program, "0: i\n2: a", until=5))
    assert found == {0: ["b", "d"], 1: ["b", "d"], 2: ["c"], 3: ["c"], 4: ["b", "d"], 5: ["b", "d"]}


def test_a_window_that_ends_before_now_is_empty_until_its_first_point() -> None:
    stream = "1: a\n2: a\n3: a\n5: a"
    assert points("h :- <> a [1..2].", stream, 1, 8) == [2, 3, 4, 5, 6, 7]
    assert points("h :- [] a [1..2].", stream, 1, 8) == [2, 3, 4]
    assert points("h :- not [] a [1..2].", stream, 1, 8) == [1, 5, 6, 7, 8]
    assert points("h :- @1 a [2..3].", stream, 1, 8) == [3, 4]
    assert points("h :- a at least 2 [1..2].", stream, 1, 8) == [3, 4]
    assert points("h :- a at most 0 [2..3].", stream, 1, 8) == [1, 2]


def test_knowledge_is_in_no_window_without_a_point_of_time() -> None:
    for formula in ("<> k [2..3]", "[] k [2..3]", "@T k [2..3], T > 0", "k at least 1 [2..3]"):
        found = outputs(example(f"h :- {formula}.", "1: a", "k", until=4))
        assert found == {1: [], 2: [], 3: ["h"], 4: ["h"]}


def test_what_is_derived_now_is_in_no_window_that_ends_before_now() -> None:
    program = "p :- a. q :- <> p [1..2]. r :- not <> p [1..2], <> p [2]."
    assert outputs(example(program, "1: a\n2: b"))[1] == ["p", "r"]
    fed_back = "#stream p/0. p :- a. p :- b, not <> p [1..2]. q :- [] p [1]."
    found = agreed(example(fed_back, "1: a\n2: b\n3: b\n4: b\n5: b"), answer_streams)
    assert obstacle(parse(fed_back)) is None
    assert found == {1: [["p", "q"]], 2: [[]], 3: [[]], 4: [["p"]], 5: [[]]}


def test_since_holds_from_where_it_begins_while_the_other_lasts() -> None:
    stream = "1: q\n2: p\n3: p\n4: p\n6: q\n7: p"
    assert points("h :- p since q [9].", stream, 1, 8) == [1, 2, 3, 4, 6, 7]
    assert points("h :- p since q [2].", stream, 1, 8) == [1, 2, 3, 6, 7]
    assert points("h :- p since q [0].", stream, 1, 8) == [1, 6]
    assert points("h :- p since q [2..3].", stream, 1, 8) == [3, 4]
    assert points("h :- not p since q [2].", stream, 1, 8) == [4, 5, 8]
    assert points("h :- q since p [1].", stream, 1, 8) == [2, 3, 4, 7]


def test_since_begins_anew_in_the_midst_of_what_lasts() -> None:
    stream = "1..9: p\n2: q\n5: q"
    assert points("h :- p since q [2].", stream, 1, 9) == [2, 3, 4, 5, 6, 7]
    assert points("h :- p since q [3..4].", stream, 1, 9) == [5, 6, 8, 9]


def test_since_takes_of_what_lasts_only_what_else_has_a_value() -> None:
    program = "h(X,Y) :- p(X) since q(Y) [5], <> d(X) [9]."
    found = outputs(example(program, "1: d(1) d(2) q(7)\n2: p(1)\n3: p(1) p(2)\n4: q(8)"))
    assert found == {1: ["h(1,7)", "h(2,7)"], 2: ["h(1,7)"], 3: ["h(1,7)"],
                     4: ["h(1,8)", "h(2,8)"]}  # fmt: skip


def test_what_is_computed_in_since_has_a_value_or_there_is_no_instance() -> None:
    program = "h(X) :- p(X+1) since q(X) [5]. n(X) :- d(X), not p(X+1) since q(X) [5]."
    found = outputs(example(program, "1: q(1) q(x) d(1) d(x) d(2)\n2: p(2) d(1) d(x)\n3: d(1)"))
    assert found == {1: ["h(1)", "n(2)"], 2: ["h(1)"], 3: ["n(1)"]}


def test_what_is_derived_now_and_what_is_placed_lasts_and_begins() -> None:
    fed_back = "#stream u/1. u(X) :- p(X). h(X) :- u(X) since q(X) [3]."
    assert outputs(example(fed_back, "1: q(1)\n2: p(1)\n3: p(1)\n4: b"))[3] == ["h(1)", "u(1)"]
    placed = "@T u :- @T a [9], not <> b [0]. h :- u since q [5]. i :- a since u [5]."
    found = outputs(example(placed, "1: q a\n2: a\n3: a b\n4: a"))
    assert [found[t] for t in (1, 2, 3, 4)] == [
        ["h", "i", "u"],
        ["h", "i", "u"],
        [],
        ["h", "i", "u"],
    ]


def test_a_head_may_rest_on_since_its_own_past() -> None:
    program = "#stream on/0. on :- high. on :- warm since on [1..5]."
    assert obstacle(parse(program)) is None
    assert points(program, "1: warm\n2: high\n3: warm\n4: warm\n6: warm", 1, 7) == [2, 3, 4]
    assert obstacle(parse("on :- on since high [5].")) is not None


def test_what_is_placed_is_in_windows_that_end_before_now() -> None:
    placed = "@T p :- @T a [9]. q :- [] p [1..2], [] p [0]. s(T) :- @T p [2..9]."
    found = outputs(example(placed, "1: a\n2: a\n3: a\n4: b"))
    assert found[3] == ["p", "q", "s(1)"]
    assert found[4] == ["s(1)", "s(2)"]


def test_a_tuple_window_expires_without_time_passing() -> None:
    program = "h(X) :- <> a(X) [#2]. g :- not <> a(1) [#2]."
    found = outputs(example(program, "3: a(1) a(2) a(3)\n4: a(4)\n6: b b"))
    assert found[3] == ["g", "h(2)", "h(3)"]
    assert found[4] == found[5] == ["g", "h(3)", "h(4)"]
    assert found[6] == ["g", "h(4)"]


def test_an_atom_repeated_at_one_point_counts_once_and_at_its_first_arrival() -> None:
    program = "h(X) :- <> a(X) [#2]."
    assert outputs(example(program, "1: a(1) a(2) a(1)"))[1] == ["h(1)", "h(2)"]
    assert outputs(example(program, "1: a(1) a(2) a(3) a(1)"))[1] == ["h(2)", "h(3)"]
    assert outputs(example(program, "1: a(1)\n2: a(1)"))[2] == ["h(1)"]
    assert outputs(example(program, "1: a(2)\n2: a(1)\n3: a(1)"))[3] == ["h(1)"]
    counted = "h(N) :- a(X) count N [9]."
    assert outputs(example(counted, "1: a(1) a(1)\n2: a(1)"))[2] == ["h(2)"]


def test_windows_do_not_reach_before_the_start_of_the_stream() -> None:
    box = "h :- [] a [3]."
    stream = "2: a\n3: a\n5: a\n6: a\n7: a\n8: a"
    assert points(box, stream, 2, 9) == [2, 3, 8]
    assert points(box, stream, 1, 9) == [8]
    assert points(box, stream, 3, 9) == [3, 8]
    assert points("h :- not <> a [3].", "4: a", 0, 8) == [0, 1, 2, 3, 8]
    assert points("h :- [] a [#3].", "2: a\n3: a", 2, 4) == [2, 3]
    assert points("h :- @2 a.", "2: a", 3, 4) == []


def test_recursion_follows_what_comes_and_goes() -> None:
    program = """
        r(X,Y) :- <> e(X,Y) [2].
        r(X,Z) :- r(X,Y), r(Y,Z).
    """
    found = outputs(example(program, "0: e(1,2)\n1: e(2,1)\n5: e(3,3)"))
    circle = ["r(1,1)", "r(1,2)", "r(2,1)", "r(2,2)"]
    assert found == {
        0: ["r(1,2)"], 1: circle, 2: circle, 3: ["r(2,1)"], 4: [], 5: ["r(3,3)"]
    }  # fmt: skip


def test_a_circle_does_not_hold_itself_up() -> None:
    program = "p(X) :- a(X). p(X) :- <> q(X) [3]. q(X) :- <> p(X) [5]. q(X) :- <> p(X) [0]."
    assert points(program, "1: a(1)\n3: a(1)\n3: a(2)", 0, 6) == [1, 3]


def test_heads_at_past_points_hold_there_and_are_cut_by_windows() -> None:
    program = """
        @T p(X) :- @T a(X) [4].
        now(X) :- p(X).
        seen(X) :- <> p(X) [2].
        at(X,T) :- @T p(X) [3].
        all(X) :- [] p(X) [1].
        #show now/1. #show seen/1. #show at/2. #show all/1.
    """
    assert outputs(example(program, "1: a(1)\n2: a(1)", until=7)) == {
        1: ["all(1)", "at(1,1)", "now(1)", "seen(1)"],
        2: ["all(1)", "at(1,1)", "at(1,2)", "now(1)", "seen(1)"],
        3: ["at(1,1)", "at(1,2)", "seen(1)"],
        4: ["at(1,1)", "at(1,2)", "seen(1)"],
        5: ["at(1,2)"],
        6: [],
        7: [],
    }


def test_a_head_outside_the_timeline_leaves_no_answer_stream() -> None:
    assert agreed(example("@(T+1) p :- @T a [2]. q :- a.", "1: a\n4: a")) == {
        1: [], 2: [["p"]], 3: [[]], 4: []
    }  # fmt: skip
    assert agreed(example("@(T-1) p :- @T a [0].", "1: a\n2: a")) == {1: [], 2: [[]]}


def test_a_head_that_moves_beyond_the_timeline_comes_to_an_end() -> None:
    moving = "@(T+1) p :- @T p. @T p :- @T a [9]."
    assert agreed(example(moving, "1: a\n2: b")) == {1: [], 2: []}
    back = "@(T-1) p :- @T p [9], T > 2. @T p :- @T a [9]. q(T) :- @T p [9]. #show q/1."
    assert outputs(example(back, "1: c\n5: a"))[5] == ["q(2)", "q(3)", "q(4)", "q(5)"]


def test_nothing_derived_is_remembered() -> None:
    program = "p(X) :- a(X). q(X) :- <> p(X) [5]."
    assert points(program, "1: a(1)", 0, 4) == [1]
    assert points(f"{program} #stream p/1.", "1: a(1)", 0, 7) == [1, 2, 3, 4, 5, 6]


def test_what_is_fed_back_counts_in_tuple_windows_after_its_points_input() -> None:
    program = "p(X) :- a(X). last(X) :- <> p(X) [#2]. old(X) :- <> a(X) [#2]. #stream p/1."
    found = outputs(example(program, "1: a(2) a(1)\n2: b\n3: b"))
    assert found[1] == ["old(1)", "old(2)", "p(1)", "p(2)"]
    assert found[2] == ["last(2)"]
    assert found[3] == []


def test_intervals_hold_at_each_point_and_count_there() -> None:
    program = "h(X) :- <> a(X) [#2]. g(X) :- [] a(X) [2]. n(N) :- a(1) count N [9]."
    found = outputs(example(program, "1..4: a(1)\n2: a(2)\n4: b"))
    assert found == {
        1: ["g(1)", "h(1)", "n(1)"],
        2: ["g(1)", "h(1)", "h(2)", "n(2)"],
        3: ["g(1)", "h(1)", "h(2)", "n(3)"],
        4: ["g(1)", "h(1)", "n(4)"],
    }


def test_knowledge_holds_at_every_point_of_every_window() -> None:
    program = """
        now :- k. some :- <> k [#1]. all :- [] k [3]. past(T) :- @T k [1]. n(N) :- k count N [1].
    """
    found = outputs(example(program, "4: a\n5: a", knowledge="k"))
    assert found == {
        4: ["all", "n(1)", "now", "past(4)", "some"],
        5: ["all", "n(2)", "now", "past(4)", "past(5)", "some"],
    }


def test_an_item_of_a_derived_predicate_holds_besides_what_is_derived() -> None:
    program = "p(X) :- a(X). q(X) :- <> p(X) [1]. both(X) :- [] p(X) [1]. #show q/1. #show both/1."
    found = outputs(example(program, "1: p(1)\n2: a(1) a(2)\n3: a(2)"))
    assert found == {
        1: ["both(1)", "q(1)"],
        2: ["both(1)", "q(1)", "q(2)"],
        3: ["q(2)"],
    }


@pytest.mark.parametrize("comparison", ["at most 0", "count 0"])
def test_what_never_holds_is_counted_too(comparison: str) -> None:
    program = f"none(X) :- a(X), b(X) {comparison} [1]. some(X) :- a(X), not b(X) {comparison} [1]."
    found = outputs(example(program, "1: a(1) a(2) b(1)\n2: a(1)\n3: a(1)"))
    assert found == {1: ["none(2)", "some(1)"], 2: ["some(1)"], 3: ["none(1)"]}


def test_loops_have_all_answer_streams() -> None:
    program = """
        p :- <> a [1], not q. q :- <> a [1], not @T p, @T a. @T r :- @T a [1], p.
        :- <> b [0], q.
    """
    assert agreed(example(program, "1: a\n2: c\n3: b\n4: a b"), answer_streams) == {
        1: [["p", "r"], ["q"]],
        2: [["q"]],
        3: [[]],
        4: [],
    }


def test_an_odd_loop_has_no_answer_stream_while_it_turns() -> None:
    assert agreed(example("p :- <> a [1], not p. q :- b.", "1: b\n2: a\n4: b"), answer_streams) == {
        1: [["q"]], 2: [], 3: [], 4: [["q"]]
    }  # fmt: skip


def test_an_atom_and_its_classical_negation_do_not_hold_at_the_same_point() -> None:
    program = "-p(X) :- a(X). p(X) :- b(X). q(X) :- <> p(X) [3], <> -p(X) [3]. #stream p/1."
    found = agreed(example(program, "1: b(1)\n2: a(1) b(2)\n3: a(1) b(1)\n4: c"))
    assert found == {1: [["p(1)"]], 2: [["-p(1)", "p(2)", "q(1)"]], 3: None, 4: [[]]}
