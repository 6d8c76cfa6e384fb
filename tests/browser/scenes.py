"""Every page with something on it: what is done until it is there, in any language."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urljoin

from playwright.sync_api import Locator, Page, expect

from tests.browser.furnished import Furnished

Who = Literal["demo", "operator", "nobody"]
"""The demo's user, an operator with an account, or somebody who opened a link."""

STATION = "from=56.1458,10.2076&from_name=Banegården"
HARBOUR = "to=56.155,10.2227&to_name=Havnebadet"
PARKING = f"/plan?for=parking&{HARBOUR.replace('10.2227', '10.2180')}&radius=900"
TRAVEL = f"/plan?{STATION}&{HARBOUR}"
BY_LINE = "/plan?from=56.135,10.165&from_name=Hjem&to=56.16,10.205&to_name=Arbejde&mode=transit"
END_TRIPS = """async () => {
    const { trips } = await (await fetch('/api/v1/trips')).json();
    for (const { id } of trips) await fetch(`/api/v1/trips/${id}`, { method: 'DELETE' });
}"""
UNFOLD = "for (const each of document.querySelectorAll('{} details')) each.open = true"


@dataclass(frozen=True)
class Scene:
    """A page, and what is done on it."""

    path: Callable[[Furnished], str]
    play: Callable[[Page], None]
    who: Who = "demo"

    @property
    def name(self) -> str:
        return self.play.__name__

    def open(self, page: Page, city: Furnished) -> None:
        """Go there, and do it."""
        path = self.path(city)
        # Or the next part of the same page would be no page anew.
        page.goto(urljoin(city.site.server.url, "/healthz"))
        page.goto(urljoin(city.site.server.url, path))
        if path.startswith("/plan"):  # No trip of an earlier scene stands before the form.
            page.evaluate(END_TRIPS)
        self.play(page)
        page.wait_for_timeout(150)  # What is asked for besides, and what fades in.


SCENES: list[Scene] = []


def scene(
    path: str | Callable[[Furnished], str], who: Who = "demo"
) -> Callable[[Callable[[Page], None]], Callable[[Page], None]]:
    """A function that does something on a page is a scene."""

    def add(play: Callable[[Page], None]) -> Callable[[Page], None]:
        SCENES.append(Scene(path if callable(path) else lambda _: path, play, who))
        return play

    return add


def loaded(page: Page) -> None:
    """The page knows the city."""
    expect(page.locator("city-connection")).to_have_attribute("data-loaded", "true")


def unfold(page: Page, where: str = "main") -> None:
    """Open all that can be opened, also what is in it."""
    for _ in range(2):
        page.evaluate(UNFOLD.format(where))
        page.wait_for_timeout(50)


def press(at: Locator) -> None:
    """Press a button, wherever it is and whatever lies on it."""
    at.first.dispatch_event("click")


@scene("/")
def the_map(page: Page) -> None:
    loaded(page)
    expect(page.locator(".event-pin").first).to_be_attached()


@scene("/?event=old-jam")
def an_event_and_the_legend(page: Page) -> None:
    loaded(page)
    expect(page.locator(".leaflet-popup article")).to_be_visible()
    unfold(page)


@scene("/")
def a_search_on_the_map(page: Page) -> None:
    loaded(page)
    page.locator("map-search input").fill("torv")
    expect(page.locator(".suggestions [role=option]").first).to_be_visible()


@scene("/")
def the_bell(page: Page) -> None:
    loaded(page)
    page.locator(".bell summary").press("Enter")
    expect(page.locator(".bell-notices li").first).to_be_visible()


@scene("/list")
def the_list_and_the_settings(page: Page) -> None:
    loaded(page)
    expect(page.locator("city-garages article").first).to_be_visible()
    unfold(page)
    page.locator(".top > .menu summary").press("Enter")


@scene("/apps")
def the_apps(page: Page) -> None:
    loaded(page)
    expect(page.locator("app-shelf article").first).to_be_attached()
    unfold(page)


@scene("/apps")
def a_form_of_an_app_and_its_faults(page: Page) -> None:
    loaded(page)
    unfold(page)
    press(page.locator("app-shelf article .button"))
    form = page.locator("dialog[open]")
    expect(form).to_be_visible()
    form.locator("input[type=number]").first.fill("3")
    press(form.locator(".primary"))
    expect(form.locator(".field-error:visible").first).to_be_visible()


@scene("/apps/traces")
def the_evaluations(page: Page) -> None:
    loaded(page)
    unfold(page)


@scene("/plan")
def the_form_of_the_plan(page: Page) -> None:
    loaded(page)
    unfold(page, ".plan-form")
    for _ in range(2):
        press(page.locator(".plan-form .wish-chips .chip-button"))
    press(page.locator(".plan-more .chip-button"))


@scene("/plan?for=parking")
def the_form_of_parking(page: Page) -> None:
    loaded(page)
    unfold(page, ".plan-form")
    press(page.locator(".plan-form .wish-chips .chip-button"))
    press(page.locator(".plan-go"))
    expect(page.locator(".field-error:visible").first).to_be_visible()


@scene(TRAVEL + "&wishes=pollution,time")
def routes_and_their_details(page: Page) -> None:
    expect(page.locator("ol.options > li").first).to_be_visible()
    loaded(page)
    unfold(page)


@scene(TRAVEL + "&limit=time<%3D1")
def limits_that_no_route_meets(page: Page) -> None:
    expect(page.locator(".conflict")).to_be_visible()
    loaded(page)


@scene(BY_LINE)
def routes_by_line(page: Page) -> None:
    expect(page.locator("ol.options > li").first).to_be_visible()
    loaded(page)
    unfold(page, "plan-results")


@scene(PARKING)
def garages_and_their_details(page: Page) -> None:
    expect(page.locator("ol.options > li").first).to_be_visible()
    loaded(page)
    unfold(page)


@scene(BY_LINE)
def a_trip_that_is_repeated(page: Page) -> None:
    expect(page.locator("ol.options > li").first).to_be_visible()
    loaded(page)
    press(page.locator("plan-tools button"))
    expect(page.locator("dialog[open]")).to_be_visible()


@scene(TRAVEL)
def a_trip_that_is_followed(page: Page) -> None:
    expect(page.locator("ol.options > li").first).to_be_visible()
    loaded(page)
    press(page.locator(".option > footer > .button"))
    expect(page.locator(".trip-card .trip-title")).to_be_visible()
    unfold(page)


@scene("/meetings")
def the_meetings(page: Page) -> None:
    expect(page.locator(".meeting-cards li").first).to_be_visible()


@scene("/meetings")
def the_form_of_a_meeting(page: Page) -> None:
    expect(page.locator(".meeting-cards li").first).to_be_visible()
    press(page.locator("meetings-list .primary"))
    unfold(page, "dialog")
    press(page.locator("dialog[open] .primary"))


@scene(lambda city: city.meeting.path)
def a_meeting_that_runs(page: Page) -> None:
    expect(page.locator(".proposal")).to_be_visible()
    unfold(page)


@scene(lambda city: city.meeting.path)
def a_meeting_that_is_changed(page: Page) -> None:
    expect(page.locator(".proposal")).to_be_visible()
    press(page.locator(".meeting-does button:visible"))
    expect(page.locator("dialog[open]")).to_be_visible()
    unfold(page, "dialog")


@scene(lambda city: city.planned.path)
def a_meeting_to_come(page: Page) -> None:
    expect(page.locator(".meeting-head h1")).to_be_visible()


@scene(lambda city: city.ended.path)
def a_meeting_that_is_over(page: Page) -> None:
    expect(page.locator(".meeting-head h1")).to_be_visible()
    unfold(page)


@scene(lambda city: f"/api/v1{city.ended.path}/minutes.html")
def the_minutes(page: Page) -> None:
    expect(page.locator("h1")).to_be_visible()


def _section(name: str) -> None:
    def play(page: Page) -> None:
        loaded(page)
        expect(page.locator(f"[role=tab][data-name={name}]")).to_be_visible()
        page.wait_for_timeout(200)
        unfold(page)

    play.__name__ = f"the_operators_{name}"
    scene(f"/system#{name}", "operator")(play)


for each in (
    *("sensors", "kinds", "sources", "layers", "duties", "webhooks", "requests", "letters"),
    *("post", "byhand", "audit", "accounts"),
):
    _section(each)


def _form(section: str, button: str) -> None:
    def play(page: Page) -> None:
        loaded(page)
        adding = page.locator(f"operator-{section} {button}")
        expect(adding.first).to_be_visible()
        press(adding)
        page.wait_for_timeout(100)
        unfold(page)

    play.__name__ = f"the_operators_form_of_{section}"
    scene(f"/system#{section}", "operator")(play)


for each, button in (
    ("kinds", "[data-example=kind]"),
    ("sources", "> .button"),
    ("layers", "> .button"),
    ("webhooks", "> .button"),
):
    _form(each, button)


@scene("/account", "operator")
def the_account(page: Page) -> None:
    loaded(page)
    expect(page.locator("account-logins li").first).to_be_visible()
    unfold(page)


@scene("/log-in", "nobody")
def logging_in(page: Page) -> None:
    expect(page.locator("log-in .primary")).to_be_visible()
    press(page.locator("log-in .primary"))
    unfold(page)


@scene("/sign-up", "nobody")
def signing_up(page: Page) -> None:
    expect(page.locator("sign-up .primary")).to_be_visible()
    press(page.locator("sign-up .primary"))


@scene("/offline", "nobody")
def no_connection(page: Page) -> None:
    expect(page.locator("h1")).to_be_visible()


@scene("/nowhere", "nobody")
def no_page(page: Page) -> None:
    expect(page.locator("h1")).to_be_visible()


@scene("/reset", "nobody")
def a_new_password(page: Page) -> None:
    expect(page.locator("h1")).to_be_visible()


@scene(lambda city: city.link, "nobody")
def a_meeting_that_one_is_invited_to(page: Page) -> None:
    page.context.clear_cookies(name=re.compile("meeting"))
    page.evaluate("localStorage.clear(), sessionStorage.clear(), location.reload()")
    expect(page.locator(".meet-join select")).to_be_visible()
    page.locator(".meet-join select").select_option("other")


@scene(lambda city: city.link, "nobody")
def what_one_shares_with_a_meeting(page: Page) -> None:
    a_meeting_that_one_is_invited_to(page)
    page.locator(".meet-join input").fill("Gerda")
    press(page.locator(".meet-join .primary"))
    expect(page.locator(".meet-consent")).to_be_visible()


@scene(lambda city: city.link, "nobody")
def a_meeting_that_one_is_in(page: Page) -> None:
    what_one_shares_with_a_meeting(page)
    press(page.locator(".meet-enter .button:not(.primary)"))
    expect(page.locator(".meet-live")).to_be_visible()
    unfold(page)
