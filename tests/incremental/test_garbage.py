"""How often Python looks for garbage in a process that keeps windows."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from citywise.backend.reason import report
from citywise.reasoning.budget import seldom_collected
from citywise.reasoning.run.recorded import Recorded


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What a test sets is for it alone."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_a_run_of_reason_looks_for_garbage_seldom() -> None:
    gc.set_threshold(700, 10, 10)
    run = cast("Recorded", SimpleNamespace(problems=[], warnings=[]))
    assert report(run, [], print)
    assert gc.get_threshold() == (200_000, 20, 100)


def test_who_looks_even_less_often_goes_on_so() -> None:
    gc.set_threshold(900_000, 5, 5)
    seldom_collected()
    assert gc.get_threshold() == (900_000, 5, 5)
