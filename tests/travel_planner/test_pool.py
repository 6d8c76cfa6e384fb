"""Processes that plan: asked, replaced when they die, given up when they hang."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine

from citywise.apps.travel_planner import pool
from citywise.apps.travel_planner.pool import Pool
from citywise.apps.travel_planner.roads.cityfiles import simulated_city
from citywise.backend import spawned
from citywise.backend.settings import City, Settings
from citywise.backend.spawned import Frame
from tests.api.server import serving
from tests.api.town import Town, soon
from tests.travel_planner.conftest import HOME, NOW, WORK

ECHO = "tests.travel_planner.echo"
"""A planner that is started fast and does as it is told."""


@pytest.fixture
def planners(settings: Settings) -> Iterator[Pool]:
    one = settings.model_copy(update={"city": City(planners=1)})
    found = Pool(one, ECHO)
    yield found
    found.close()


def do(what: str, **body: Any) -> dict[str, Any]:
    return {"do": what, "body": body}


def process(planners: Pool) -> int:
    return int(planners.ask(do("pid")).body)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_question_is_answered_by_one_process_that_stays(planners: Pool) -> None:
    first = process(planners)
    assert first != os.getpid()
    assert process(planners) == first


def test_large_answers_arrive_whole(planners: Pool) -> None:
    assert planners.ask(do("large", size=3_000_000)).body == b"x" * 3_000_000


def test_a_process_that_dies_is_replaced_and_the_question_answered(planners: Pool) -> None:
    first = process(planners)
    os.kill(first, signal.SIGKILL)
    assert process(planners) != first


def test_a_question_that_kills_is_asked_twice_and_given_up(planners: Pool) -> None:
    reply = planners.ask(do("die"))
    assert (reply.status, reply.more["slug"]) == (503, "planner-failed")
    assert process(planners)


def test_a_process_that_hangs_is_ended_in_time(
    planners: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = process(planners)
    monkeypatch.setattr(pool, "ANSWER_S", 0.2)
    reply = planners.ask(do("hang"))
    assert (reply.status, reply.more["slug"]) == (503, "too-slow")
    assert not is_running(first)
    monkeypatch.undo()
    assert process(planners) != first


def test_a_process_that_cannot_be_started_is_a_problem_and_no_error(
    planners: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "posix_spawn", refused)
    reply = planners.ask(do("pid"))
    assert (reply.status, reply.more["slug"]) == (503, "planner-failed")
    assert "did not start: [Errno 24] Too many open files" in reply.more["detail"]
    monkeypatch.undo()
    assert process(planners)


def test_a_process_that_does_not_get_ready_is_told_as_such(
    planners: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "START_S", 0.001)
    reply = planners.ask(do("pid"))
    assert reply.more["slug"] == "planner-failed"
    assert "did not start within" in reply.more["detail"]


def test_a_process_whose_asker_is_ended_is_ended_too(
    planners: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = process(planners)

    def ended(_channel: object) -> Frame:
        raise SystemExit

    monkeypatch.setattr(spawned, "receive", ended)
    with pytest.raises(SystemExit):
        planners.ask(do("pid"))
    monkeypatch.undo()
    assert not is_running(first)
    assert process(planners) != first


def test_processes_are_started_when_somebody_is_about_to_ask(planners: Pool) -> None:
    planners.warm(after_s=60.0)
    assert planners._free.queue == [None]
    planners.soon()
    soon(lambda: planners._free.queue not in ([], [None]))


def test_one_is_started_beforehand_and_the_others_then(settings: Settings) -> None:
    planners = Pool(settings.model_copy(update={"city": City(planners=2)}), ECHO)
    free = planners._free.queue
    try:
        planners.warm()
        soon(lambda: [worker is not None for worker in free] == [False, True])
        planners.soon()
        soon(lambda: [worker is not None for worker in free] == [True, True])
    finally:
        planners.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_start_beforehand_that_fails_takes_no_place(
    planners: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def full(*given: object) -> None:
        tried.append(given)
        raise MemoryError

    with monkeypatch.context() as during:
        during.setattr(pool, "Worker", full)
        planners.warm(after_s=60.0)
        planners.soon()
        soon(lambda: tried and planners._free.queue == [None])
    assert process(planners)


def test_the_first_answer_of_a_process_may_take_as_long_as_its_start(
    planners: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "ANSWER_S", 0.02)
    assert [planners.ask(do("slow")).status for _ in range(2)] == [200, 503]


def test_a_question_that_finds_all_busy_says_so(
    planners: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert process(planners)
    monkeypatch.setattr(pool, "WAIT_S", 0.05)
    only = planners._free.get()
    reply = planners.ask(do("pid"))
    assert (reply.status, reply.more["slug"]) == (503, "busy")
    planners._free.put(only)
    assert process(planners)


def test_until_the_first_answer_a_question_waits_for_a_start(
    planners: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    get = planners._free.get

    def noted(timeout: float) -> Any:
        waits.append(timeout)
        return get()

    monkeypatch.setattr(planners._free, "get", noted)
    process(planners)
    process(planners)
    assert waits == [pool.START_S, pool.WAIT_S]


def test_a_process_ends_with_who_asks_it(planners: Pool) -> None:
    pid = process(planners)
    worker = planners._free.get()
    assert worker is not None
    worker._process.channel.close()
    soon(lambda: os.waitpid(pid, os.WNOHANG) != (0, 0))
    planners._free.put(None)


@pytest.mark.thorough
def test_the_web_process_plans_and_serves_others_meanwhile(
    settings: Settings, engine: Engine, town: Town
) -> None:
    """In earnest: gunicorn with gevent, and planners with a city's files."""
    town.running(NOW)
    simulated_city().save(settings.city_dir)
    body = json.dumps({"from": HOME, "to": WORK}).encode()
    with serving(settings) as server:
        found: list[Any] = []

        def plan() -> None:
            request = urllib.request.Request(
                f"{server.url}/api/v1/plans/travel",
                body,
                {"Content-Type": "application/json", "Origin": server.url},
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                found.append(json.load(answer))

        asking = [threading.Thread(target=plan) for _ in range(4)]
        for each in asking:
            each.start()
        served = 0
        while any(each.is_alive() for each in asking):
            server.get("/healthz")
            served += not found
            time.sleep(0.05)
    assert served >= 3, "before the first plan"
    assert [each["routes"][0]["chosen"] for each in found] == [True] * 4
