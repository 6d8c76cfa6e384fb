"""A fault that comes with every batch does not fill the log."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from citywise.backend.repeats import Repeats


class Logged:
    """A logger behind the filter, and a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.text = io.StringIO()
        self.handler = logging.StreamHandler(self.text)
        self.handler.addFilter(Repeats(lambda: self.now))
        self.log = logging.getLogger("citywise.test_repeats")
        self.log.propagate = False
        self.log.addHandler(self.handler)

    def fail(self, with_what: Exception, name: str = "a") -> None:
        try:
            raise with_what
        except Exception:
            self.log.exception("cannot do %s", name)

    def lines(self) -> list[str]:
        """What was written since the last call, a traceback as its first and last line."""
        written = self.text.getvalue().splitlines()
        self.text.seek(0)
        self.text.truncate()
        return [line for line in written if not line.startswith((" ", "Traceback"))]


@pytest.fixture
def logged() -> Iterator[Logged]:
    """A logger that is taken down again."""
    found = Logged()
    yield found
    found.log.removeHandler(found.handler)
    found.log.propagate = True


def test_the_same_fault_is_told_once_with_a_traceback_then_counted(logged: Logged) -> None:
    logged.fail(ValueError("x"))
    assert "Traceback" in logged.text.getvalue()
    assert logged.lines() == ["cannot do a", "ValueError: x"]
    for _batch in range(1000):
        logged.now += 0.05
        logged.fail(ValueError("x"))
    assert logged.lines() == []
    logged.now += 60
    logged.fail(ValueError("x"), "b")
    assert logged.lines() == ["cannot do b (ValueError: x; 1000 times since it was last told)"]


def test_a_fault_that_lasts_for_days_takes_a_line_an_hour(logged: Logged) -> None:
    for _try in range(2 * 24 * 60):
        logged.now += 60
        logged.fail(ValueError("x"))
    assert 40 < len(logged.lines()) < 60


def test_what_is_another_fault_or_was_long_gone_is_told_whole(logged: Logged) -> None:
    logged.fail(ValueError("x"))
    logged.fail(KeyError("x"))
    logged.now += 3 * 3600
    logged.fail(ValueError("x"))
    logged.log.error("no exception")
    logged.log.error("no exception")
    assert logged.lines() == [
        "cannot do a", "ValueError: x", "cannot do a", "KeyError: 'x'",
        "cannot do a", "ValueError: x", "no exception", "no exception",
    ]  # fmt: skip


def test_faults_of_one_kind_from_several_lines_are_told_apart(logged: Logged) -> None:
    logged.fail(ValueError("x"))
    try:
        int("y")
    except ValueError:
        logged.log.exception("cannot do a")
    assert len(logged.lines()) == 4
