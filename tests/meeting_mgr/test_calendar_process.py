"""A calendar is read in a process of its own, which ends: read, stopped, or no longer wanted."""

from __future__ import annotations

import http.client
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psutil
import pytest
from sqlalchemy import Engine

from citywise.apps.meeting_mgr.papers import calendar_process
from citywise.apps.meeting_mgr.papers.calendar_process import Read
from citywise.apps.meeting_mgr.parts import PARTS
from citywise.backend.settings import Settings
from citywise.backend.spawned import EndedError, Spawned
from tests.api.browsers import Browser
from tests.api.server import Server, serving
from tests.api.town import soon
from tests.meeting_mgr.hosted import Json, of
from tests.meeting_mgr.test_calendars import FROM, HOUR, UNTIL, calendar
from tests.meeting_mgr.test_papers_api import put_calendar

NEVER = f"{HOUR}\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"
"""Repeats on no day, which takes until the year 9999 to find out."""


def read(ics: bytes, cpu_s: float) -> Read:
    process = Spawned(calendar_process.MODULE)
    try:
        return calendar_process.ask(process, ics, FROM, UNTIL, cpu_s)
    finally:
        process.end()


def test_a_calendar_is_read_in_a_process_that_ends() -> None:
    process = Spawned(calendar_process.MODULE)
    found = calendar_process.ask(process, calendar(HOUR), FROM, UNTIL)
    assert [one.until_ms - one.from_ms for one in found.busy] == [3_600_000]
    process.end(patience_s=10)
    assert not psutil.pid_exists(process.pid)


def test_what_takes_too_much_work_is_stopped_and_named() -> None:
    found = read(calendar(HOUR, *[NEVER] * 200), cpu_s=0.3)
    assert found.busy == ()
    assert found.error is not None
    assert "the event 20261020T090000 cannot be read: more than 0.3 s of work" in found.error
    assert found.cpu_s < 5


def test_two_calendars_may_mean_different_zones_by_one_name() -> None:
    """In one process, the second would be read with the zone of the first."""
    for offset, hour in (("+0300", 9), ("-0500", 17)):
        zone = (
            "BEGIN:VTIMEZONE\nTZID:Our office\nBEGIN:STANDARD\nDTSTART:19700101T000000\n"
            f"TZOFFSETFROM:{offset}\nTZOFFSETTO:{offset}\nEND:STANDARD\nEND:VTIMEZONE\n"
        )
        ics = calendar("DTSTART;TZID=Our office:20261020T120000\nDURATION:PT1H", zone=zone)
        (one,) = read(ics, calendar_process.CPU_S).busy
        assert (one.from_ms // 3_600_000) % 24 == hour


def test_a_process_that_is_stopped_by_the_system_says_by_what() -> None:
    process = Spawned(calendar_process.MODULE)
    psutil.Process(process.pid).send_signal(signal.SIGXCPU)
    with pytest.raises(EndedError) as raised:
        calendar_process.ask(process, calendar(HOUR), FROM, UNTIL)
    assert raised.value.status == -signal.SIGXCPU


def test_an_account_whose_calendars_took_too_much_work_has_to_wait(
    alice: Browser, meeting: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = PARTS.limits["calendar-seconds"].times
    monkeypatch.setattr(calendar_process, "CPU_S", float(most))
    monkeypatch.setattr(
        calendar_process, "ask", lambda *_args, **_more: Read((), "too much work", float(most))
    )
    assert put_calendar(alice, meeting, calendar(HOUR)).status_code == 422
    refused = put_calendar(alice, meeting, calendar(HOUR))
    assert refused.status_code == 429
    assert "calendar-seconds" in refused.json["detail"]
    assert int(refused.headers["Retry-After"]) > 0


# --- As it runs in earnest ------------------------------------------------------------------------


LITTLE_S = 1.0
LITTLE = f"""
from citywise.apps.meeting_mgr.papers import calendar_process
calendar_process.CPU_S = {LITTLE_S}
"""
"""Eight seconds of work are no other than one."""


@pytest.fixture
def server(settings: Settings, engine: Engine) -> Iterator[Server]:
    with serving(settings, before=LITTLE) as found:
        yield found


@contextmanager
def uploading(
    server: Server, browser: Browser, meeting: Json, ics: bytes
) -> Iterator[http.client.HTTPConnection]:
    """Send a calendar, and do not wait for the answer; gone at the end of the block."""
    address = urlsplit(server.url)
    assert address.hostname is not None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=120)
    cookie = browser.client.get_cookie("citywise-login")
    assert cookie is not None
    connection.request(
        "PUT",
        f"/api/v1{of(meeting)}/attendees/a2/calendar",
        ics,
        {
            "Cookie": f"citywise-login={cookie.value}",
            "X-CSRF-Token": browser.csrf or "",
            "Content-Type": "text/calendar",
        },
    )
    try:
        yield connection
    finally:
        connection.close()


def readers(server: Server) -> list[psutil.Process]:
    """The processes that read calendars now."""
    return [
        child
        for child in psutil.Process(server.process.pid).children(recursive=True)
        if calendar_process.MODULE in _command(child)
    ]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.thorough
def test_who_sends_many_bad_calendars_holds_nobody_up(
    server: Server, alice: Browser, meeting: Json
) -> None:
    answers: list[tuple[int, Json]] = []

    def send() -> None:
        with uploading(server, alice, meeting, calendar(*[NEVER] * 1_200)) as connection:
            answer = connection.getresponse()
            answers.append((answer.status, json.load(answer)))

    threads = [threading.Thread(target=send) for _ in range(12)]
    threads[0].start()
    soon(lambda: readers(server))
    (reader,) = readers(server)
    reader.suspend()  # so that it is still at it when all the others have been answered
    for one in threads[1:]:
        one.start()
    soon(lambda: len(answers) == 11)
    for _ in range(20):
        assert server.get("/api/v1/clock")
        assert readers(server) == [reader]
    assert len(answers) == 11, "one is being read, and others are answered meanwhile"
    reader.resume()
    for one in threads:
        one.join()
    assert [status for status, _ in answers] == [503] * 11 + [422]
    assert f"more than {LITTLE_S:g} s of work" in answers[-1][1]["detail"]


@pytest.mark.slow
def test_who_goes_away_has_nothing_read(server: Server, alice: Browser, meeting: Json) -> None:
    with uploading(server, alice, meeting, calendar(HOUR)):
        soon(lambda: readers(server))
        (reader,) = readers(server)
        reader.suspend()  # it will not end by itself
    soon(lambda: not readers(server))
    statuses: list[int] = []

    def read_another() -> int:
        with uploading(server, alice, meeting, calendar(HOUR)) as connection:
            statuses.append(connection.getresponse().status)
        return statuses[-1]

    # The first one's turn is over once the web process, too, has seen its reader end.
    soon(lambda: read_another() != 503)
    assert statuses[-1] == 200
