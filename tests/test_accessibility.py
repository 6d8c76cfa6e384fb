"""The statement of accessibility names every clause, and tests that there are."""

from __future__ import annotations

import re
from functools import cache

from citywise.backend.machine import REPOSITORY

PAGE = (REPOSITORY / "docs" / "accessibility.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([\d.]+) \| ([^|]+) \| ([^|]+) \| ([^|]*) \|$", re.MULTILINE)
STATUS = {"supported", "by design", "partly", "does not apply"}
WCAG_2_1 = {
    1: {1: [1], 2: [1, 2, 3, 4, 5], 3: [1, 2, 3, 4, 5], 4: [1, 2, 3, 4, 5, 10, 11, 12, 13]},
    2: {1: [1, 2, 4], 2: [1, 2], 3: [1], 4: [1, 2, 3, 4, 5, 6, 7], 5: [1, 2, 3, 4]},
    3: {1: [1, 2], 2: [1, 2, 3, 4], 3: [1, 2, 3, 4]},
    4: {1: [1, 2, 3]},
}
"""The criteria of levels A and AA: principles, guidelines, numbers."""
WCAG_2_2 = {"2.4.11", "2.5.7", "2.5.8", "3.2.6", "3.3.7", "3.3.8"}


@cache
def known() -> frozenset[str]:
    """The names of all tests of the pages."""
    files = (*(REPOSITORY / "tests/browser").glob("*.py"), REPOSITORY / "tests/api/test_pages.py")
    texts = (path.read_text(encoding="utf-8") for path in files)
    return frozenset(name for text in texts for name in re.findall(r"^def (test_\w+)", text, re.M))


def test_the_statement_has_every_criterion_once() -> None:
    numbers = [found[0] for found in ROW.findall(PAGE)]
    of_web = {
        f"9.{principle}.{guideline}.{number}"
        for principle, guidelines in WCAG_2_1.items()
        for guideline, found in guidelines.items()
        for number in found
    }
    assert len(of_web) == 50
    assert len(numbers) == len(set(numbers))
    assert (of_web | WCAG_2_2) - set(numbers) == set()
    assert {n for n in numbers if n.startswith("9.")} - of_web == {"9.6"}


def test_what_is_supported_is_shown_by_tests_that_there_are() -> None:
    for number, _name, status, said in ROW.findall(PAGE):
        assert status in STATUS, number
        named = set(re.findall(r"`(test_\w+)`", said))
        assert named - known() == set(), number
        assert named or status != "supported" or number.startswith("12."), number
        assert said.strip(), number


def test_what_is_partly_met_says_what_is_missing() -> None:
    for number, _name, status, said in ROW.findall(PAGE):
        assert status != "partly" or len(said) > 20, number
