"""The definitions, axioms and figures of "Continuous Deductive Reasoning over Streamed RDF
Data", of the reference: what the engine is compared with must itself be right."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from citywise.reasoning.languages.rif.document import And, RifAtom, RifRule
from citywise.reasoning.rdf.mapping import Iri
from tests.rif.programs import programs
from tests.rif.reference import (
    Appearance,
    Instance,
    WindowedProgram,
    cons,
    cons_t,
    justifications,
    strip,
)

A, B, C = (RifAtom(Iri(f"http://example.org/{name}"), ()) for name in "abc")
FACT_A, FACT_B, FACT_C = ((f"<http://example.org/{name}>/0", ()) for name in "abc")
BOTH = (RifRule((C,), And((A, B))),)
"""c ⇐ a ∧ b."""
FIGURE = WindowedProgram(BOTH, frozenset(), (Appearance(FACT_A, 1), Appearance(FACT_B, 2)), range=3)
INSTANTS = range(14)
FEW = settings(max_examples=40)


def test_the_example_of_time_annotated_datalog_entails_c_at_both_instants() -> None:
    given_ = {Instance(f, t) for f in (FACT_A, FACT_B) for t in (1, 2)}
    assert cons_t(BOTH, given_) - given_ == {Instance(FACT_C, 1), Instance(FACT_C, 2)}


def test_the_example_of_justifications_has_the_three_of_the_paper() -> None:
    given_ = {Instance(f, t) for f in (FACT_A, FACT_B) for t in (1, 2)}
    assert justifications(BOTH, given_, Instance(FACT_C, 2)) == {
        frozenset({Instance(FACT_A, t), Instance(FACT_B, u)}) for t, u in [(1, 2), (2, 1), (2, 2)]
    }


def test_the_interval_figure_has_c_at_instants_2_and_3_only() -> None:
    concluded = {i: strip(FIGURE.concluded(i)) for i in range(1, 5)}
    assert concluded == {1: set(), 2: {FACT_C}, 3: {FACT_C}, 4: set()}
    assert FIGURE.came(2) >= {Instance(FACT_C, 2)}
    assert FIGURE.went(4) == {Instance(FACT_A, 1), Instance(FACT_C, 2)}


@pytest.mark.slow
@FEW
@given(programs())
def test_the_axioms_of_windows_hold(program: WindowedProgram) -> None:
    for i in INSTANTS:
        assert program.window(i, 0) == set() or any(a.until for a in program.stream)
        joined = {x for j in range(3) for x in program.window(i - j, 1)}
        assert program.window(i, 3) == joined
    assert program.window(0) == set()


@pytest.mark.slow
@FEW
@given(programs())
def test_the_diagram_commutes(program: WindowedProgram) -> None:
    """Stripping what a state entails, and entailing from the stripped state, is the same."""
    for i in INSTANTS:
        assert strip(program.entailment(i)) == cons(program.rules, strip(program.state(i)))


@pytest.mark.slow
@FEW
@given(programs())
def test_the_streams_p_and_n_reconstruct_every_entailment(program: WindowedProgram) -> None:
    """E^T is what has come less what has gone: the windows of P and N of sufficient range."""
    held: set[Instance] = set()
    for i in INSTANTS:
        came, went = program.came(i), program.went(i)
        assert not came & held
        assert went <= held
        held = held - went | came
        assert held == program.transitive(i)


@pytest.mark.slow
@FEW
@given(programs())
def test_what_comes_at_an_instant_has_that_instant_and_p_is_part_of_the_unwindowed_stream(
    program: WindowedProgram,
) -> None:
    whole = WindowedProgram(program.rules, program.static, program.stream, None)
    for i in INSTANTS:
        assert {instance.instant for instance in program.came(i)} <= {i}
        assert program.came(i) <= whole.entailment(i)


@pytest.mark.slow
@FEW
@given(programs())
def test_windows_that_do_not_overlap_entail_nothing_in_common(program: WindowedProgram) -> None:
    """Axiom "entailment disjointness", for what rests on the windows."""
    reach = (program.range or 99) + 3
    for i in INSTANTS:
        assert not program.transitive(i) & program.transitive(i - reach)
