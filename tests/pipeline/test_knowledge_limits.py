"""Knowledge that takes too much to read stops its own request, not the batch of all."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select

from citywise.backend.kinds import builtin
from citywise.backend.pipeline.prepared import division, prepared
from citywise.backend.pipeline.requests import check, find
from citywise.backend.pipeline.source import parts_of
from citywise.backend.pipeline.worker import Task, Worker
from citywise.backend.settings import Pipeline, RequestLimits, Settings
from citywise.backend.store.models import TraceRow
from citywise.reasoning.errors import RequestError
from citywise.reasoning.limits import LimitError, Limits
from tests.databases import begun
from tests.pipeline.serving import serve_to
from tests.pipeline.stretches import LIMITS, Stretches, answer, traffic

JAMS = find("traffic_jam")
PREFIXES = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n@prefix e: <http://e/> .\n"
CIRCLE = PREFIXES + "".join(f"e:c{n} rdfs:subClassOf e:c{(n + 1) % 500} .\n" for n in range(500))
LISTS = PREFIXES + "".join(f"e:a{n} e:p (1 2 3), [ e:q 'x' ] .\n" for n in range(20_000))
LITTLE: dict[str, Any] = {**LIMITS, "seconds": 0.3}


@pytest.fixture
def stretches(tmp_path: Path) -> Stretches:
    found = Stretches(tmp_path / "log")
    found.write([(500 * n, [traffic("1", 500 * n - 5, 20, 20)]) for n in range(1, 4)])
    return found


def request(folder: Path, knowledge: str, regime: str = "") -> Path:
    """The request for jams, which also has a knowledge base."""
    (folder / "k.ttl").write_text(knowledge)
    path = folder / "jams.casp"
    path.write_text(f"{JAMS.read_text()}\n#from <k.ttl>{regime}.\n")
    return path


def stuck(worker: Worker, task: Task) -> str:
    """What is told of a task that stays where it is."""
    (row,), cursor = answer(worker, task)
    assert (row.kind, cursor["stuck"], cursor["position"]) == ("trace", True, task.start)
    return str(row.body["error"])


def test_an_inference_beyond_the_limit_stops_its_request_alone(
    tmp_path: Path, stretches: Stretches
) -> None:
    worker = Worker()
    slow = replace(stretches.task(request(tmp_path, CIRCLE, " [rdfs]"), 0, 1, {}), limits=LITTLE)
    error = stuck(worker, slow)
    assert f"what follows from {tmp_path / 'k.ttl'} was stopped: it took more than 0.3 s" in error
    assert "pipeline.limits.seconds" in error
    assert not answer(worker, stretches.task(JAMS, 0, 1, {}))[1].get("stuck")


def test_rdf_beyond_the_limits_stops_its_request_alone(
    tmp_path: Path, stretches: Stretches
) -> None:
    path = request(tmp_path, LISTS)
    for limits, said in (
        (LITTLE, "it took more than 0.3 s (pipeline.limits.seconds)"),
        ({**LIMITS, "megabytes": 20}, "it used more than 20 MB (pipeline.limits.megabytes)"),
    ):
        error = stuck(Worker(), replace(stretches.task(path, 0, 1, {}), limits=limits))
        assert f"reading {tmp_path / 'k.ttl'} was stopped: {said}" in error


def test_what_was_stopped_is_not_tried_again_until_its_file_changes(tmp_path: Path) -> None:
    """It would cost everybody as much again with every batch."""
    path, limits = request(tmp_path, CIRCLE, " [rdfs]"), Limits(**LITTLE)
    with pytest.raises(LimitError):
        prepared(path, builtin(), limits)
    before = sum(os.times()[2:4])
    for _again in range(3):
        with pytest.raises(LimitError, match=r"k\.ttl was stopped"):
            prepared(path, builtin(), limits)
    assert sum(os.times()[2:4]) - before < 0.2
    request(tmp_path, PREFIXES, " [rdfs]")
    assert prepared(path, builtin(), limits).request.name == "jams"


def test_a_request_that_cannot_be_read_is_planned_as_one_task(
    tmp_path: Path, stretches: Stretches
) -> None:
    """The planner is everybody's; the worker meets the same and says so."""
    slow, limits = request(tmp_path, CIRCLE, " [rdfs]"), Limits(**LITTLE)
    assert parts_of(slow, builtin(), "4", 4, 2_000_000, limits) == 1
    for knowledge in ("this is no Turtle", None):
        path = request(tmp_path, knowledge or "")
        if knowledge is None:
            (tmp_path / "k.ttl").unlink()
        assert parts_of(path, builtin(), "4", 4, 2_000_000, limits) == 1
        assert str(tmp_path / "k.ttl") in stuck(Worker(), stretches.task(path, 0, 1, {}))


def test_a_stream_may_entail_without_knowledge(tmp_path: Path) -> None:
    path = request(tmp_path, "")
    text = path.read_text().replace("#from <k.ttl>.\n", "").replace("250ms].", "250ms] [rdfs].")
    assert "[rdfs]" in text
    path.write_text(text)
    assert prepared(path, builtin(), Limits(**LIMITS)).knowledge.text == ""


def test_a_check_has_the_limits(tmp_path: Path) -> None:
    with pytest.raises(LimitError, match=r"k\.ttl was stopped"):
        check(request(tmp_path, CIRCLE, " [rdfs]"), builtin(), Limits(**LITTLE))
    with pytest.raises(RequestError, match=r"k\.ttl:1:1"):
        check(request(tmp_path, "this is no Turtle"), builtin(), Limits(**LIMITS))


def test_knowledge_within_the_limits_is_there(tmp_path: Path) -> None:
    path = request(tmp_path, PREFIXES + "e:a rdfs:subClassOf e:b .\n", " [rdfs]")
    path.write_text(path.read_text() + "#prefix e: <http://e/>.\nx(X) :- rdfs_subClassOf(X,_).\n")
    path.write_text("#prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#>.\n" + path.read_text())
    found = prepared(path, builtin(), Limits(**LIMITS))
    assert 'rdfs_subClassOf("e_a","e_b")' in found.knowledge.text
    assert division(path, builtin(), Limits(**LIMITS))


@pytest.mark.long
@pytest.mark.spark
def test_in_spark_the_others_go_on(tmp_path: Path) -> None:
    slow = request(tmp_path, CIRCLE, " [rdfs]")
    pipeline = Pipeline(requests=[str(slow), JAMS.stem], limits=RequestLimits(seconds=1))
    settings = Settings(data_dir=tmp_path / "data", pipeline=pipeline)
    log = Stretches(settings.log_dir)
    log.write([(n * 300, [traffic("1", n * 300 - 5, 20, 20)]) for n in range(1, 9)])
    engine = begun(settings.database_url)
    serve_to(log.ends[-1], settings, engine, JAMS.stem, lambda: bool(_error(engine, slow.stem)))
    error = _error(engine, slow.stem)
    engine.dispose()
    assert error is not None
    assert "k.ttl was stopped: it took more than 1 s (pipeline.limits.seconds)" in error


def _error(engine: Engine, name: str) -> str | None:
    with engine.connect() as connection:
        return connection.scalar(select(TraceRow.error).where(TraceRow.request == name))
