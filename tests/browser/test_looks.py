"""Every page, with something on it, in every language, in light and dark and at every width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.browser.conftest import Watched
from tests.browser.furnished import Furnished, furnished
from tests.browser.scenes import SCENES, Scene, Who
from tests.conftest import WAITED_MS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LANGUAGES = ("en", "da", "de")
THEMES = ("light", "dark")
WIDTHS = (320, 360, 390, 600, 768, 1024, 1440)
HEIGHTS = {width: 800 if width < 600 else 900 for width in WIDTHS}
LOOKS = Path(__file__).with_name("looks.js").read_text(encoding="utf-8")

Look = tuple[str, str, int]
"""Language, colours and width."""


def share(number: int) -> Look:
    """The look at the scene of some number, where only one is taken."""
    return LANGUAGES[number % 3], THEMES[number // 7 % 2], WIDTHS[number % 7]


@dataclass
class Visitors:
    """One page for each of those who look."""

    browser: Browser
    city: Furnished
    axe: str
    watched: Watched
    pages: dict[Who, Page] = field(default_factory=dict)

    def of(self, who: Who) -> Page:
        if who not in self.pages:
            self.pages[who] = self._come(who)
        return self.pages[who]

    def _come(self, who: Who) -> Page:
        context: BrowserContext = self.browser.new_context(
            service_workers="block", reduced_motion="reduce"
        )
        context.set_default_timeout(WAITED_MS)
        context.add_init_script("localStorage.setItem('citywise-developing', '')")
        if who == "operator":
            _keep(context, self.city, "citywise-login", self.city.operator.cookie)
        page = context.new_page()
        page.on("pageerror", lambda error: self.watched.errors.append(str(error)))
        return page

    def faults(self, scene: Scene, looks: Sequence[Look]) -> list[str]:
        """What is wrong with a scene: by all rules in the first look of each language, and in the
        others by what colours or a width may change."""
        page, found = self.of(scene.who), []
        for language in dict.fromkeys(look[0] for look in looks):
            mine = [look[1:] for look in looks if look[0] == language]
            seen: set[int] = set()
            for theme, width in mine:
                if not seen:
                    self._open(page, scene, language, theme, width)
                page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
                rules = [] if not seen else ["color-contrast"]
                if width not in seen:
                    _resize(page, width)
                    found += _told(page, "layout", [], language, theme, width)
                    rules += ["target-size"] if seen else []
                seen.add(width)
                found += _told(page, "axe", rules, language, theme, width)
        return found

    def _open(self, page: Page, scene: Scene, language: str, theme: str, width: int) -> None:
        _keep(page.context, self.city, "lang", language)
        _keep(page.context, self.city, "theme", theme)
        _resize(page, width)
        scene.open(page, self.city)
        page.evaluate(self.axe)
        page.evaluate(LOOKS)


def _keep(context: BrowserContext, city: Furnished, name: str, value: str) -> None:
    context.add_cookies([{"name": name, "value": value, "url": city.site.server.url}])


def _resize(page: Page, width: int) -> None:
    page.set_viewport_size(ViewportSize(width=width, height=HEIGHTS[width]))
    page.evaluate("new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)))")


def _told(page: Page, what: str, rules: list[str], *look: object) -> list[str]:
    found: list[str] = page.evaluate(f"rules => looks.{what}(...rules)", rules)
    return [f"{' '.join(map(str, look))}: {fault}" for fault in found]


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Furnished]:
    with furnished(tmp_path_factory.mktemp("looks")) as city:
        yield city


@pytest.fixture(scope="module")
def visitors(browser: Browser, city: Furnished) -> Iterator[Visitors]:
    source = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
    visitors = Visitors(browser, city, source.read_text(encoding="utf-8"), Watched())
    yield visitors
    for page in visitors.pages.values():
        page.context.close()


def test_the_share_of_looks_has_every_two_of_language_colours_and_width_together() -> None:
    shares = [share(number) for number in range(len(SCENES) // 2)]
    for one, other in combinations((LANGUAGES, THEMES, WIDTHS), 2):
        wanted = set(product(one, other))
        assert wanted <= {pair for look in shares for pair in product(look, look)}


def shared() -> Iterator[Any]:
    """Half of the scenes with each `make test`, the others with `make test-thorough`."""
    for number, scene in enumerate(SCENES):
        marks = [pytest.mark.thorough] if number % 2 else []
        yield pytest.param(scene, share(number // 2), id=scene.name, marks=marks)


@pytest.mark.parametrize(("scene", "look"), list(shared()))
def test_axe_finds_nothing_and_all_of_a_page_can_be_read_and_reached(
    visitors: Visitors, scene: Scene, look: Look
) -> None:
    assert visitors.faults(scene, [look]) == []
    errors, visitors.watched.errors[:] = list(visitors.watched.errors), []  # not the next scene's
    assert errors == []


@pytest.mark.long
@pytest.mark.parametrize("scene", SCENES, ids=[s.name for s in SCENES])
def test_so_it_is_in_every_look(visitors: Visitors, scene: Scene) -> None:
    looks = [(lang, theme, w) for lang, w, theme in product(LANGUAGES, WIDTHS, THEMES)]
    assert visitors.faults(scene, looks) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_header_of_a_wide_screen_is_one_line(visitors: Visitors, language: str) -> None:
    """With all that an operator has in it."""
    page = visitors.of("operator")
    _keep(page.context, visitors.city, "lang", language)
    page.goto(f"{visitors.city.site.server.url}/account")
    expect(page.locator("city-time button").first).to_be_visible()
    page.evaluate(LOOKS)
    for width in (1440, 1520, 1600, 1700, 1880, 1900):
        page.set_viewport_size(ViewportSize(width=width, height=900))
        found = _told(page, "layout", [], language, width)
        assert [fault for fault in found if "broken" in fault] == []
        assert page.evaluate("document.querySelector('.top').clientHeight") < 80, width


FAULTY = """document.querySelector('main').replaceChildren(...[
    ['button', 'width: 30px; overflow: hidden', 'Rindfleischetikettierung'],
    ['div', 'position: fixed; inset: 0; z-index: 9999', ''],
    ['p', 'color: #eee; background: #fff', 'Pale'],
    ['p', 'width: 9000px', 'plan.key'],
    ['p', 'margin-top: -20px', 'Another'],
].map(([name, style, text]) => {
    const element = Object.assign(document.createElement(name), { textContent: text });
    element.style = style;
    element.className = name === 'button' ? 'button primary' : '';
    return element;
}))"""


def test_what_is_wrong_is_found(visitors: Visitors) -> None:
    broken = Scene(lambda _: "/offline", lambda page: page.evaluate(FAULTY), "nobody")
    found = " ".join(visitors.faults(broken, [("en", "light", 360)]))
    for fault in ("wide:", "cut:", "covered:", "mixed:", "unwritten:", "color-contrast:"):
        assert fault in found, fault
