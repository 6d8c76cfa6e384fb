"""The benchmark of many users checks what it measures."""

from __future__ import annotations

import pytest

from benchmarks.users import City, Load, Network, Worker, _agree, _checked


@pytest.mark.slow
def test_users_evaluated_together_are_told_what_each_would_be_told_alone() -> None:
    network = Network.grid(25)
    load, city = Load(network, 300, 60, 3), City(network, 300)
    worker = Worker(0, 1, city, load)
    found = worker.measure(worker.prepare(), start=0.0)
    assert found.latencies_s
    assert sum(map(bool, found.answers.values())) > 20
    assert _checked(found.answers, city, load)[0] == len(found.answers)


def test_answers_agree_if_they_have_what_must_be_nothing_else_and_metres_within_one() -> None:
    notice, detail = 'notice("u","k","e",3)', 'detail("u","k","e","metres",{})'
    must = {notice, detail.format(100)}
    assert _agree([notice, detail.format(101)], must, must)
    assert _agree([], set(), must)
    assert not _agree([notice, detail.format(103)], must, must)
    assert not _agree([notice], must, must)
    assert not _agree([notice, detail.format(100)], set(), set())
