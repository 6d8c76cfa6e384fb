"""Using a page by the keyboard alone."""

from __future__ import annotations

from playwright.sync_api import Page

_MOST = 120
_FOCUSED = """() => { const e = document.activeElement;
    return (e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent)
        .trim().slice(0, 90) }"""


def focused(page: Page) -> str:
    """What has the focus is called so."""
    found: str = page.evaluate(_FOCUSED)
    return found


def go_to(page: Page, name: str, key: str = "Tab") -> None:
    """Press Tab until what has the focus is called `name`, or begins so where that ends in …."""
    seen = []
    for _ in range(_MOST):
        page.keyboard.press(key)
        seen.append(focused(page))
        if seen[-1] == name or (name[-1] == "…" and seen[-1].startswith(name[:-1])):
            return
    raise AssertionError(f"the keyboard does not reach {name!r}, but {seen}")


def press(page: Page, name: str, key: str = "Enter") -> None:
    """Go to something and press a key on it."""
    go_to(page, name)
    page.keyboard.press(key)
