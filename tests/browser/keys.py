"""Using a page by the keyboard alone."""

from __future__ import annotations

import time

from playwright.sync_api import Page

from tests.conftest import WAITED_MS

_MOST = 120
_FOCUSED = """() => { const e = document.activeElement;
    const name = e?.getAttribute('aria-label') || e?.labels?.[0]?.textContent || e?.textContent;
    return (name ?? '').trim().slice(0, 90) }"""


def focused(page: Page) -> str:
    """What has the focus is called so."""
    found: str = page.evaluate(_FOCUSED)
    return found


def expect_focused(page: Page, name: str) -> None:
    """Wait until what is called `name` has the focus: it may come with an answer of the server."""
    deadline = time.monotonic() + WAITED_MS / 1000
    while (found := focused(page)) != name:
        assert time.monotonic() < deadline, f"the focus is on {found!r}, not on {name!r}"
        page.wait_for_timeout(20)


def go_to(page: Page, name: str, key: str = "Tab") -> None:
    """Press Tab until what has the focus is called `name`, or begins so where that ends in ….

    A page that is still loading may not have it yet: then go round again.
    """
    deadline = time.monotonic() + WAITED_MS / 1000
    while name not in (seen := _round(page, name, key)):
        assert time.monotonic() < deadline, f"the keyboard does not reach {name!r}, but {seen}"


def _round(page: Page, name: str, key: str) -> list[str]:
    """What has had the focus on the way to what is called `name`, which ends it."""
    seen: list[str] = []
    for _ in range(_MOST):
        page.keyboard.press(key)
        found = focused(page)
        if found == name or (name[-1] == "…" and found.startswith(name[:-1])):
            return [*seen, name]
        seen.append(found)
    return seen


def press(page: Page, name: str, key: str = "Enter") -> None:
    """Go to something and press a key on it."""
    go_to(page, name)
    page.keyboard.press(key)
