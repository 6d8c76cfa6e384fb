"""Kinds of one's own: made in the page, then coloured on the map, with a legend and a list."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citywise.backend.kinds import builtin, installed
from citywise.backend.layers import taking
from citywise.backend.layers.reading import read
from citywise.backend.times import parse_ms
from tests.browser.conftest import NOON, PHONE, Open, Site, settle
from tests.browser.test_people import serious, settled
from tests.history.recorded import Told, append, write
from tests.layers.files import SCHOOL, collection, feature, polygon

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LATELY = "2014-08-05T11:59:30Z"


@pytest.fixture(scope="module")
def noisy(site: Site) -> Site:
    """The city with three noise meters: loud, quiet, and one that was heard long ago."""
    installed.install(site.town.engine, builtin())
    told: list[Told] = [
        ("noise", "n1", parse_ms(NOON) - n * 600_000, {"level": 60.0 + n}) for n in range(1, 9)
    ]
    append(site.settings.log_dir, told)
    write(site.town.engine, site.settings.log_dir)
    for name, lon in (("n1", 10.19), ("n2", 10.20), ("n3", 10.21)):
        body = {"geometry": {"type": "Point", "coordinates": [lon, 56.153]}, "kind": "noise_meter"}
        site.town.road(name, f"Meter {name}", **body, sensors=["noise"])
    site.town.reading("noise", "n1", LATELY, level=67.2)
    site.town.reading("noise", "n2", LATELY, level=41.0)
    site.town.reading("noise", "n3", "2014-08-05T10:00:00Z", level=70.0)
    installed.install(site.town.engine, builtin().with_kinds(SCHOOL))
    schools = collection(feature("a", navn="Nordskolen"), feature("b", polygon(10.22)))
    with site.town.engine.begin() as connection:
        taking.take(connection, read(SCHOOL, schools, "s"), schools, "s")
    site.town.running(now=NOON, speed=0)
    return site


@pytest.fixture(scope="module")
def operator(homes: Site) -> Any:
    installed.install(homes.town.engine, builtin())
    return settle(homes, "Kind operator", "admin")


@pytest.mark.thorough
def test_readings_of_any_kind_are_coloured_with_a_legend_and_open_a_card(
    open_page: Open, noisy: Site, axe: str
) -> None:
    page = settled(open_page("/", url=noisy.server.url))
    layer = page.locator(".kind-noise")
    expect(layer).to_have_count(3)
    expect(page.locator(".kind-noise.grade-4")).to_have_count(1)  # 67.2 dB
    expect(page.locator(".kind-noise.grade-1")).to_have_count(1)  # 41 dB
    expect(page.locator(".kind-noise.grade-0")).to_have_count(1)  # old
    legend = page.locator(".legend [data-of='noise']")
    expect(legend.locator("dt")).to_have_text(["good", "fair", "poor"])
    expect(legend.locator("dd")).to_have_text(["from 0 dB", "from 55 dB", "from 65 dB"])
    page.locator(".kind-noise.grade-4").dispatch_event("click")
    card = page.locator(".leaflet-popup")
    expect(card).to_contain_text("Meter n1")
    expect(card).to_contain_text("67.2 dB")
    expect(card.locator(".kind-chip")).to_have_text("poor")
    card.get_by_text("The last 24 hours").press("Enter")
    chart = card.get_by_role("img", name="level: 61 to 68 dB, on average 64.5")
    expect(chart.locator(".mean")).to_have_count(1)
    assert serious(page, axe) == []
    page.get_by_text("Layers and legend").click()
    page.locator(".legend").get_by_label("Noise").uncheck()
    expect(layer).to_have_count(0)


@pytest.mark.parametrize("lang", ["en", "da"])
def test_a_layer_of_ones_own_is_drawn_when_it_is_switched_on_and_opens_a_card(
    open_page: Open, noisy: Site, axe: str, lang: str
) -> None:
    page = settled(open_page("/", url=noisy.server.url, lang=lang, viewport=PHONE))
    layer = page.locator(".own-place")
    page.locator(".legend summary").click()
    switch = page.locator(".legend").get_by_label({"en": "Schools", "da": "Skoler"}[lang])
    expect(switch).not_to_be_checked()
    switch.check()
    expect(layer).to_have_count(2)
    layer.first.dispatch_event("click")
    card = page.locator(".leaflet-popup")
    expect(card).to_contain_text({"en": "North School", "da": "Nordskolen"}[lang])
    expect(card).to_contain_text("40 km/h")
    expect(card).to_have_css("opacity", "1")
    assert serious(page, axe) == []
    switch.uncheck()
    expect(layer).to_have_count(0)


@pytest.mark.parametrize("lang", ["en", "da"])
def test_they_are_listed_by_kind_in_the_language_of_the_page(
    open_page: Open, noisy: Site, lang: str
) -> None:
    page = settled(open_page("/list", url=noisy.server.url, lang=lang, viewport=PHONE))
    section = page.locator("city-kinds [data-kind='noise']")
    expect(section.locator("h3")).to_have_text({"en": "Noise", "da": "Støj"}[lang])
    expect(section.locator("li")).to_have_count(3)
    loud = section.locator("[data-place='n1']")
    expect(loud).to_contain_text({"en": "67.2 dB", "da": "67,2 dB"}[lang])
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide


def kinds(open_page: Open, homes: Site, person: Any) -> Page:
    page = settled(open_page("/system", url=homes.server.url, person=person))
    page.get_by_role("tab", name="Kinds").click()
    return page


@pytest.mark.thorough
def test_an_operator_makes_a_kind_is_told_of_faults_and_removes_it(
    open_page: Open, homes: Site, operator: Any, axe: str
) -> None:
    page = kinds(open_page, homes, operator)
    part = page.locator("operator-kinds")
    expect(part.locator("[data-kind='kind noise']")).to_contain_text("level (decimal, dB)")
    part.get_by_role("button", name="New kind of place").click()
    part.get_by_role("button", name="Save").click()
    expect(part.locator("[data-kind='place dust_meter']")).to_contain_text("made here")
    part.get_by_role("button", name="New kind of observation").click()
    text = part.get_by_role("textbox")
    sound = text.input_value()
    text.fill(sound.replace('"decimal"', '"decimals"'))
    expect(part.locator(".bullets")).to_contain_text("Line 8")
    expect(part.locator(".bullets")).to_contain_text("did you mean `decimal`?")
    expect(part.get_by_role("button", name="Save")).to_be_disabled()
    text.fill(sound)
    expect(part.locator(".bullets")).to_contain_text("Nothing is wrong with it.")
    assert serious(page, axe) == []
    part.get_by_role("button", name="Save").click()
    made = part.locator("[data-kind='kind dust']")
    expect(made).to_contain_text("made here")
    made.get_by_role("button", name="Remove").click()
    expect(made).to_have_count(0)
    page.get_by_role("tab", name="Actions").click()
    expect(page.locator("operator-audit")).to_contain_text("Kind made")
