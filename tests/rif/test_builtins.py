"""What the built-in functions and predicates give: examples of XPath Functions 2.0, of RIF-DTB
and of their edges, one a line in tests/cases/rif."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rif.conditions import computed, holds

CASES = Path(__file__).parents[1] / "cases" / "rif"


def cases(name: str) -> list[str]:
    """The lines of a file of cases, without comments."""
    lines = (CASES / f"builtins-{name}.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("case", cases("functions"))
def test_function_gives_what_its_specification_says(case: str) -> None:
    call, expected = case.rsplit(" = ", 1)
    assert holds(f"External(func:{call}) = {expected}"), computed(f"func:{call}")


@pytest.mark.parametrize("case", cases("casts"))
def test_datatype_casts_what_xpath_casts(case: str) -> None:
    call, expected = case.rsplit(" = ", 1)
    assert holds(f"External({call}) = {expected}"), computed(call)


@pytest.mark.parametrize("case", cases("predicates"))
def test_predicate_holds(case: str) -> None:
    assert holds(f"External({case})")


@pytest.mark.parametrize("case", cases("false"))
def test_predicate_does_not_hold(case: str) -> None:
    assert not holds(f"External({case})")


@pytest.mark.parametrize("case", cases("nothing"))
def test_function_has_no_value_outside_its_domain(case: str) -> None:
    assert computed(case) is None
