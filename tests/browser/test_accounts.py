"""People have accounts: they sign up, choose what reaches them, and take themselves away."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from citywise.backend.notices import announcing, answers, book, reminders
from citywise.backend.people import two_factor
from citywise.backend.times import parse_ms
from tests.api.browsers import PASSWORD
from tests.api.templates import Change, change
from tests.api.town import soon
from tests.browser.conftest import DESKTOP, NOON, PHONE, Open, Person, Site, Watched, fresh, settle
from tests.browser.keys import expect_focused, focused, go_to, press
from tests.browser.test_people import come, drawn, serious, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]

JAM, FULL = "Jam ahead, Randersvej, Risskov: 3 → 4", "Jam ahead, Bruuns"


def tell(site: Site, *changes: Change) -> None:
    with site.town.engine.begin() as connection:
        book.apply(connection, changes)


def jam(user: str, kind: str = "opened", **more: Any) -> Change:
    told = {"about": "old-jam", "user": user, "instance": f"{user}.jam_ahead"}
    return change(kind, **(told | more))


def garage(user: str) -> Change:
    return jam(user, about="BRUUNS", about_type="place", criticality=2)


def card(page: Page, about: str) -> Locator:
    return page.locator("city-notices .notice-card").filter(has_text=about)


def held(page: Page) -> Locator:
    return page.locator("city-notices .held")


def seen(page: Page, about: str) -> Locator:
    """The mark of a notice that was acknowledged."""
    return card(page, about).get_by_text("Seen", exact=True)


def own_id(page: Page) -> str:
    found: str = page.evaluate("fetch('/api/v1/me').then((r) => r.json()).then((me) => me.user)")
    return found


@pytest.mark.thorough
def test_by_keyboard_alone_one_comes_chooses_what_one_is_told_and_is_forgotten(
    open_page: Open, homes: Site, watched: Watched, tmp_path: Path
) -> None:
    name = fresh("Key")
    page = open_page("/sign-up", DESKTOP, url=homes.server.url)
    go_to(page, "Name")
    page.keyboard.type(name)
    go_to(page, "Password")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Your account")
    user = own_id(page)
    press(page, "List")
    expect(page.locator("h1")).to_have_text("City now")
    settled(page)
    tell(homes, jam(user), garage(user))
    expect(card(page, "Randersvej")).to_be_visible()

    press(page, f"Snooze: {JAM}")
    press(page, f"15 min: {JAM}")
    expect(page.get_by_role("status")).to_contain_text([f"Snoozed until 14:15: {JAM}."])
    expect(held(page)).to_contain_text("Held back: 1")
    expect_focused(page, "Undo")
    go_to(page, f"Mute alerts like this: {FULL}", "Shift+Tab")
    page.keyboard.press("Enter")
    expect(held(page)).to_contain_text("Held back: 2")
    expect(page.locator(".toast")).to_contain_text("Muted: Jam ahead.")
    expect_focused(page, "Undo")
    page.keyboard.press("Enter")
    expect(held(page)).to_contain_text("Held back: 1")
    expect_focused(page, f"Mark as seen: {FULL}")
    go_to(page, f"Mark as seen: {FULL}", "Shift+Tab")
    page.keyboard.press("Enter")
    expect(seen(page, "Bruuns")).to_be_visible()
    expect_focused(page, "Undo")
    page.keyboard.press("Enter")
    expect(seen(page, "Bruuns")).to_be_hidden()
    expect_focused(page, f"Mark as seen: {FULL}")

    go_to(page, f"Your account: {name}", "Shift+Tab")
    page.keyboard.press("Enter")
    press(page, "Account")
    expect(page.locator("h1")).to_have_text("Your account")
    go_to(page, "Download my data")
    with page.expect_download() as begun:
        page.keyboard.press("Enter")
    begun.value.save_as(tmp_path / "mine.json")
    mine = (tmp_path / "mine.json").read_text(encoding="utf-8")
    assert name in mine
    assert "old-jam" in mine
    json.loads(mine)

    press(page, "Delete my account…")
    expect(page.get_by_role("dialog")).to_contain_text("This cannot be undone.")
    press(page, "Continue")
    page.keyboard.type("not the password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Password", exact=True)).to_have_attribute(
        "aria-invalid", "true"
    )
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Account deleted")
    page.keyboard.press("Enter")
    expect(page).to_have_url(homes.server.url + "/")
    assert own_id(page) is None
    with homes.town.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT user FROM notices").scalars().all()
    assert user not in rows
    watched.errors.clear()  # The browser notes the 422 of the wrong password itself.


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_bell_on_every_page_counts_lists_and_tells_alerts(
    open_page: Open, homes: Site, axe: str, size: dict[str, int]
) -> None:
    ann = settle(homes, f"Ann{size['width']}")
    page = settled(open_page("/system", size, url=homes.server.url, person=ann))
    bell = page.locator("notice-bell summary")
    expect(bell).to_have_attribute("aria-label", "Alerts")
    tell(homes, garage(ann.id))
    expect(bell).to_have_attribute("aria-label", "Alerts: 1 new")
    toast = page.locator(".bell-toast")
    expect(toast).to_contain_text(FULL)
    toast.get_by_role("button", name="Mute").click()
    expect(page.locator(".toast")).to_contain_text("Muted: Jam ahead.")
    expect(bell).to_have_attribute("aria-label", "Alerts")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(bell).to_have_attribute("aria-label", "Alerts: 1 new")

    bell.click()
    new = page.locator("notice-bell section").filter(has_text="New")
    expect(new.get_by_role("link", name=FULL)).to_be_visible()
    assert serious(page, axe) == []
    page.get_by_role("button", name="Mark all as seen").click()
    expect(bell).to_have_attribute("aria-label", "Alerts")
    expect_focused(page, "Alerts")
    earlier = page.locator("notice-bell section").filter(has_text="Earlier")
    earlier.get_by_role("link", name=FULL).click()
    expect(page).to_have_url(re.compile("/list"))
    expect(card(page, "Bruuns")).to_be_focused()


def test_the_focus_stays_with_who_goes_on_while_something_is_undone(
    open_page: Open, homes: Site
) -> None:
    jo = settle(homes, "Jo")
    page = settled(open_page("/list", url=homes.server.url, person=jo))
    tell(homes, garage(jo.id))
    press(page, f"Mark as seen: {FULL}")
    expect_focused(page, "Undo")
    asked: list[Route] = []
    page.route("**/acknowledge*", lambda route: asked.append(route))
    page.keyboard.press("Enter")
    come(page, asked, 1)
    go_to(page, "Your account: Jo", "Shift+Tab")
    with page.expect_event("requestfinished", lambda one: one == asked[0].request):
        asked[0].continue_()
    expect(seen(page, "Bruuns")).to_be_hidden()
    drawn(page)
    assert focused(page) == "Your account: Jo"


def test_the_focus_stays_with_a_notice_that_is_acknowledged_elsewhere(
    open_page: Open, homes: Site
) -> None:
    """Or here, where the stream tells of it only once it has been taken back."""
    flo = settle(homes, "Flo")
    page = settled(open_page("/list", url=homes.server.url, person=flo))
    tell(homes, garage(flo.id))
    go_to(page, f"Mark as seen: {FULL}")
    (notice,) = page.evaluate("fetch('/api/v1/notices').then((r) => r.json())")["notices"]
    for answer, name in (
        (answers.acknowledge, f"Mark as not seen: {FULL}"),
        (answers.unacknowledge, f"Mark as seen: {FULL}"),
    ):
        with homes.town.engine.begin() as connection:
            announcing.begin(connection)
            answer(connection, notice["id"], parse_ms(NOON))
        expect(page.get_by_role("button", name=name)).to_be_visible()
        drawn(page)
        assert focused(page) == name


def test_what_is_snoozed_comes_back_and_what_is_muted_stays_held(
    open_page: Open, homes: Site
) -> None:
    ann = settle(homes, "Ann")
    page = settled(open_page("/list", url=homes.server.url, person=ann))
    tell(homes, jam(ann.id), garage(ann.id))
    card(page, "Randersvej").locator(".snooze summary").click()
    card(page, "Randersvej").get_by_role("button", name="Until tomorrow").click()
    expect(page.locator(".toast")).to_contain_text("Snoozed until 6 Aug, 07:00")
    page.get_by_role("button", name="Undo").click()
    card(page, "Randersvej").locator(".snooze summary").click()
    card(page, "Randersvej").get_by_role("button", name="1 hour").click()
    held(page).locator("summary").first.click()
    expect(held(page)).to_contain_text("Snoozed. Delivered at 15:00.")
    with homes.town.engine.begin() as connection:
        reminders.remind(connection, parse_ms("2014-08-05T13:00:01Z"))
    expect(held(page)).to_be_hidden()
    expect(page.locator("city-announcer")).to_contain_text("For you: Jam ahead")
    card(page, "Bruuns").get_by_role("button", name="Mute alerts like this").click()
    expect(held(page)).to_contain_text("You muted this type. It stays here.")
    page.goto(homes.server.url + "/account")
    page.get_by_role("button", name="Unmute: Jam ahead").click()
    expect(page.locator("notice-wishes")).to_contain_text("None. You can mute a type")
    page.goto(homes.server.url + "/list")
    expect(card(page, "Bruuns")).to_be_visible()


def test_how_one_is_told_is_kept_and_what_is_wrong_with_it_is_said(
    open_page: Open, homes: Site
) -> None:
    bea = settle(homes, "Bea")
    page = settled(open_page("/account", url=homes.server.url, person=bea))
    slider = page.get_by_label("Minimum importance")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "3: matters today")
    page.get_by_role("button", name="Add quiet hours").click()
    for day in ("Saturday", "Sunday"):
        page.get_by_label(day).uncheck(force=True)
    page.get_by_label("Exceptions").select_option("4")
    page.get_by_label("Quiet until").fill("")
    save = page.get_by_role("button", name="Save", exact=True)
    save.click()
    expect(page.locator("notice-wishes")).to_contain_text("Choose a start and an end.")
    page.get_by_label("Quiet until").fill("06:30")
    page.get_by_label("Minimum time between").select_option("1800")
    save.click()
    expect(page.locator(".toast")).to_contain_text("Saved.")
    page.get_by_label("MQTT to my devices").uncheck()
    expect(page.locator(".toast")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Quiet until")).to_have_value("06:30")
    wishes = page.evaluate("fetch('/api/v1/me/wishes').then((r) => r.json())")
    quiet = {"from": "22:00", "until": "06:30", "days": [1, 2, 3, 4, 5], "except_from": 4}
    assert (wishes["threshold"], wishes["quiet"], wishes["cool_down_s"]) == (3, [quiet], 1800)
    assert wishes["channels"] == {"browser": True, "mqtt": False, "email": None}


@pytest.mark.thorough
def test_one_logs_out_everywhere_and_nothing_of_one_stays_on_the_device(
    open_page: Open, homes: Site, watched: Watched
) -> None:
    cy = settle(homes, "Cy")
    url = homes.server.url
    page = open_page("/list", url=url, person=cy, service_workers="allow")
    page.evaluate("navigator.serviceWorker.ready")
    page.goto(f"{url}/list?notice={cy.id}.x")
    other = page.context.new_page()
    other.goto(url + "/account")
    expect(other.locator("my-consents")).to_be_visible()
    tell(homes, jam(cy.id))
    expect(card(page, "Randersvej")).to_be_visible()
    kept = """async () => (await Promise.all((await caches.keys()).map(async (name) => {
        const cache = await caches.open(name);
        return Promise.all((await cache.keys()).map(async (request) =>
            request.url + await (await cache.match(request)).text())) }))).flat().join()"""
    assert cy.id not in page.evaluate(kept)
    page.get_by_label("Your account: Cy").click()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(url + "/")
    expect(page.get_by_label("Log in or sign up")).to_be_visible()
    expect(other.locator("person-gate")).to_contain_text("Log in to choose")
    expect(other.locator("my-consents")).to_be_hidden()
    assert page.evaluate("Object.keys(sessionStorage).length") == 0
    assert cy.id not in page.evaluate(kept)
    page.goto(url + "/log-in?next=//evil.example/x")
    page.get_by_label("Name").fill("cy")
    page.get_by_label("Password", exact=True).fill("wrong wrong wrong")
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("Wrong name or password")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page).to_have_url(url + "/account")
    expect(other.locator("my-consents")).to_be_visible()
    watched.errors.clear()  # The browser notes the 401 itself.


def test_a_login_that_ends_meanwhile_loses_nothing_that_was_typed(
    open_page: Open, homes: Site, watched: Watched
) -> None:
    dea = settle(homes, "Dea")
    page = settled(open_page("/account", url=homes.server.url, person=dea))
    another = fresh("Dea")
    page.get_by_label("Name", exact=True).fill(another)
    with homes.town.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM logins")
    page.get_by_role("button", name="Change the name").click()
    dialog = page.get_by_role("dialog", name="Log in again")
    expect(dialog.get_by_label("Name")).to_have_value("Dea")
    dialog.get_by_label("Password", exact=True).fill(PASSWORD)
    dialog.get_by_role("button", name="Log in").click()
    expect(page.locator(".toast")).to_contain_text(f"Your name is now {another}.")
    watched.errors.clear()  # The browser notes the 401 itself.


def test_too_many_attempts_are_told_when_to_come_again(
    open_page: Open, homes: Site, watched: Watched
) -> None:
    page = open_page("/log-in", url=homes.server.url)
    problem = {"type": "urn:citywise:problem:too-many", "title": "Too many", "status": 429}
    page.route(
        "**/api/v1/login",
        lambda route: route.fulfill(status=429, json=problem, headers={"Retry-After": "90"}),
    )
    page.get_by_label("Name").fill("x")
    page.get_by_label("Password", exact=True).fill("y")
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_have_text("Too many attempts. Try again in 1 min.")
    watched.errors.clear()


def test_what_is_wrong_at_signing_up_is_said_in_the_pages_language(
    open_page: Open, homes: Site, watched: Watched
) -> None:
    settle(homes, "Eva")
    page = open_page("/sign-up", PHONE, lang="da", url=homes.server.url)
    submit = page.get_by_role("main").get_by_role("button", name="Opret konto")
    for password, said in (
        ("kort", "En adgangskode har 10 til 200 tegn."),
        ("a" * 12, "Adgangskoden er for let at gætte."),
        (PASSWORD, "Det navn er taget."),
    ):
        page.get_by_label("Navn", exact=True).fill("Eva")
        page.get_by_label("Adgangskode", exact=True).fill(password)
        submit.click()
        expect(page.locator(".field-error:visible")).to_contain_text(said)
    watched.errors.clear()  # The browser notes the answers itself.


def test_context_is_told_only_with_consent_which_is_asked_for_in_place(
    open_page: Open, homes: Site, axe: str
) -> None:
    eli = settle(homes, "Eli")
    here = {"latitude": 56.16, "longitude": 10.2}
    page = open_page(
        "/apps",
        PHONE,
        url=homes.server.url,
        person=eli,
        permissions=["geolocation"],
        geolocation=here,
    )
    page.get_by_role("button", name="Share my location").click()
    expect(page.locator("my-context .offer")).to_contain_text("for alerts about what is near")
    expect(page.get_by_role("button", name="Allow, and share my location")).to_be_focused()
    assert serious(page, axe) == []
    page.keyboard.press("Enter")
    expect(page.locator("my-context")).to_contain_text("Location shared: 56.1600, 10.2000")
    page.goto(homes.server.url + "/account")
    position = page.locator("[data-consent='position']")
    expect(position).to_contain_text("known now")
    expect(position).to_contain_text("Used by: Jam watch.")
    position.get_by_label("Deleted when").select_option("6")
    expect(page.locator(".toast")).to_contain_text("Saved: Location.")
    position.get_by_role("switch").uncheck()
    expect(page.locator(".toast")).to_contain_text("The data have been deleted.")
    expect(position).to_contain_text("not known now")


def test_secrets_of_a_device_and_of_the_second_step_are_shown_once(
    open_page: Open, homes: Site, axe: str, watched: Watched
) -> None:
    fay = settle(homes, "Fay")
    page = settled(open_page("/account", PHONE, url=homes.server.url, person=fay))
    page.get_by_text("Add a device").click()
    page.get_by_label("Name of the device").fill("my phone")
    page.get_by_role("button", name="Make a token").click()
    made = page.get_by_role("region", name="The new token")
    expect(made).to_be_focused()
    expect(made).to_contain_text(re.compile(rf"citywise/notices/{fay.id}/d-\w+"))
    secret = made.locator("code").first.inner_text()
    assert serious(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.reload()
    expect(page.locator("account-devices")).to_contain_text("my phone")
    assert secret not in page.content()
    page.get_by_role("button", name="Remove: my phone").click()
    expect(page.locator("[data-token]")).to_have_count(0)
    codes = _set_up_two_steps(page, axe)
    other = open_page("/log-in", PHONE, url=homes.server.url)
    form = other.locator("log-in")
    form.get_by_label("Name", exact=True).fill("Fay")
    form.get_by_label("Password", exact=True).fill(PASSWORD)
    form.get_by_role("button", name="Log in").click()
    expect(form.get_by_label("Code", exact=True)).to_be_focused()
    form.get_by_label("Code", exact=True).fill(codes[0])
    form.get_by_role("button", name="Log in").click()
    expect(other.locator("account-two-factor")).to_contain_text("Recovery codes left: 9.")
    other.get_by_role("button", name="End all others").click()
    expect(other.locator("[data-login]")).to_have_count(1)
    watched.errors.clear()  # The browser notes that a code was asked for.


def _set_up_two_steps(page: Page, axe: str) -> list[str]:
    """Turn two-factor sign-in on; returns the recovery codes."""
    steps = page.locator("account-two-factor")
    steps.locator("summary").click()
    steps.get_by_label("Password", exact=True).fill(PASSWORD)
    steps.get_by_role("button", name="Set up an authenticator app").click()
    secret = steps.locator("code").first.inner_text()
    expect(steps.get_by_role("img")).to_be_visible()
    assert steps.get_by_role("img").evaluate("image => image.naturalWidth") > 0
    assert serious(page, axe) == []
    steps.get_by_label("Code", exact=True).fill(two_factor.code_at(secret, time.time()))
    steps.get_by_role("button", name="Turn on").click()
    expect(steps).to_contain_text("Recovery codes left: 10.")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    return steps.locator(".recovery code").all_inner_texts()


def test_a_passkey_is_a_second_step_lets_in_alone_and_is_removed(
    open_page: Open, homes: Site, axe: str, watched: Watched
) -> None:
    """With Chromium's virtual device; browsers have passkeys for names only."""
    here = homes.server.url.replace("127.0.0.1", "localhost")
    ida = settle(homes, "Ida")
    page = settled(open_page("/account", PHONE, url=here, person=ida))
    device = page.context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    able = {"hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True}
    options = {"protocol": "ctap2", "transport": "internal", **able}
    device.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    steps = page.locator("account-two-factor")
    steps.locator("summary", has_text="Add a passkey").click()
    steps.get_by_label("What it is called").fill("Phone of Ida")
    steps.get_by_label("Password", exact=True).first.fill(PASSWORD)
    assert serious(page, axe) == []
    steps.get_by_role("button", name="Add a passkey").click()
    expect(steps).to_contain_text("Recovery codes left: 10.")
    expect(steps.locator(".recovery code")).to_have_count(10)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

    steps.locator("summary", has_text="Rename Phone of Ida").click()
    called = steps.locator("li").get_by_label("What it is called")
    expect(called).to_have_value("Phone of Ida")
    called.fill("Old phone")
    steps.get_by_role("button", name="Rename Phone of Ida").click()
    expect(steps.locator("li strong")).to_have_text("Old phone")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    assert serious(page, axe) == []
    page.keyboard.press("Enter")
    expect(steps.locator("li strong")).to_have_text("Phone of Ida")

    page.context.clear_cookies()
    page.goto(f"{here}/log-in")
    page.get_by_role("button", name="Log in with a passkey").click()
    expect(page.locator("h1")).to_have_text("Your account")

    page.context.clear_cookies()
    page.goto(f"{here}/log-in")
    form = page.locator("log-in")
    form.get_by_label("Name", exact=True).fill("Ida")
    form.get_by_label("Password", exact=True).fill(PASSWORD)
    form.get_by_role("button", name="Log in", exact=True).click()
    expect(page.locator("h1")).to_have_text("Your account")

    steps.locator("summary", has_text="Remove Phone of Ida").click()
    steps.get_by_role("button", name="Remove Phone of Ida").click()
    expect(steps).to_contain_text("Off.")
    watched.errors.clear()  # The browser notes that a second step was asked for.


def test_only_an_admin_is_offered_tokens_that_speak_for_the_city(
    open_page: Open, homes: Site
) -> None:
    places = "Add, change and remove the city's places"
    for name, roles, offered in ("Gil", (), 0), ("Lea", ("admin",), 1):
        person = settle(homes, name, *roles)
        page = settled(open_page("/account", url=homes.server.url, person=person))
        page.get_by_text("Add a device").click()
        expect(page.get_by_label("Receive and answer alerts")).to_be_visible()
        expect(page.get_by_label(places)).to_have_count(offered)
    page.get_by_label("Name of the device").fill("importer")
    page.get_by_label("Receive and answer alerts").uncheck()
    page.get_by_label(places).check()
    page.get_by_role("button", name="Make a token").click()
    expect(page.locator("[data-token]")).to_contain_text("places")


def test_nothing_of_one_person_reaches_another(open_page: Open, homes: Site) -> None:
    gus, hal = settle(homes, "Gus"), settle(homes, "Hal")
    theirs = [settled(open_page("/list", url=homes.server.url, person=who)) for who in (hal, None)]
    mine = settled(open_page("/list", url=homes.server.url, person=gus))
    tell(homes, jam(gus.id))
    expect(card(mine, "Randersvej")).to_be_visible()
    for page in theirs:
        expect(page.locator("city-notices")).to_be_hidden()
        page.reload()
        settled(page)
        expect(page.locator("city-notices")).to_be_hidden()
        assert gus.id not in page.content()


def _hidden(page: Page) -> None:
    """The page is in a tab that nobody looks at."""
    page.evaluate(
        """() => { Object.defineProperty(document, 'hidden', {value: true, configurable: true});
        document.dispatchEvent(new Event('visibilitychange')) }"""
    )


NOTIFICATIONS = """
    Object.defineProperty(Notification, 'permission', {get: () => 'granted'});
    const read = (key) => JSON.parse(localStorage.getItem(key) ?? '[]');
    const write = (key, value) => localStorage.setItem(key, JSON.stringify(value));
    const shown = ServiceWorkerRegistration.prototype;
    shown.showNotification = async (title, {tag, body, data}) => {
        write('calls', [...read('calls'), tag]);
        const others = read('shown').filter((one) => one.tag !== tag);
        write('shown', [...others, {title, tag, body, data}]);
    };
    shown.getNotifications = async ({tag} = {}) => read('shown')
        .filter((one) => !tag || one.tag === tag)
        .map((one) => ({...one, close: () =>
            write('shown', read('shown').filter((other) => other.tag !== one.tag))}));
"""
"""Stands in for the device's notifications, which a browser without a window has none of."""


def _shown(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        """async () => (await (await navigator.serviceWorker.ready).getNotifications())
            .map(({title, body}) => `${title}: ${body}`)"""
    )
    return found


@pytest.mark.thorough
def test_a_notification_comes_once_where_nobody_looks_and_is_answered(
    open_page: Open, homes: Site
) -> None:
    ida: Person = settle(homes, "Ida")
    page = open_page("/list", url=homes.server.url, person=ida, service_workers="allow")
    page.context.add_init_script(NOTIFICATIONS)
    page.reload()
    other = page.context.new_page()
    other.goto(homes.server.url + "/account")
    for each in (page, other):
        settled(each)
    tell(homes, garage(ida.id))
    expect(card(page, "Bruuns")).to_be_visible()
    page.wait_for_timeout(300)
    assert _shown(page) == [], "somebody looks at a page"
    for each in (page, other):
        _hidden(each)
    tell(homes, jam(ida.id))
    expect(card(page, "Randersvej")).to_be_visible()
    jammed = ["Jam ahead: Traffic jam: Randersvej, Risskov: 3 → 4 in 420 m"]
    soon(lambda: _shown(page) == jammed)
    page.wait_for_timeout(300)
    assert page.evaluate("localStorage.getItem('calls').split(',').length") == 1, "by each page"
    page.context.service_workers[0].evaluate(
        "(tag) => answer({tag, close() {}}, 'acknowledge')",
        page.evaluate("JSON.parse(localStorage.getItem('shown'))[0].tag"),
    )
    expect(seen(page, "Randersvej")).to_be_visible()
    soon(lambda: _shown(page) == [])  # what was acknowledged elsewhere takes its notification away
    about: dict[str, Any] = {"about": "jam-2", "about_type": "term"}
    tell(homes, jam(ida.id, **about))
    expect(card(page, "jam-2")).to_be_visible()
    soon(lambda: len(_shown(page)) == 1)
    tell(homes, jam(ida.id, "closed", t_ms=parse_ms(NOON) + 60_000, **about))
    expect(card(page, "jam-2")).to_have_count(0)
    soon(lambda: _shown(page) == [])  # what is over takes its notification away
    assert page.context.service_workers[0].evaluate(PUSHED) == [["Jam", "Ringgade", "n-1"]]


PUSHED = """async () => {
    const told = [], data = {json: () => ({id: 'n-1', title: 'Jam', text: 'Ringgade', lang: 'en'})};
    const tell = async (title, {body, tag}) => told.push([title, body, tag]);
    self.registration.showNotification = tell;
    await pushed(data); // A page is seen, and shows it.
    self.clients.matchAll = async () => [];
    await pushed(data);
    return told;
}"""
"""What a message of the push service does, first while a page is seen."""
