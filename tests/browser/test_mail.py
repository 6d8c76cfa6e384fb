"""An address is confirmed, gets the alerts that are wanted, and replaces a forgotten password."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from citywise.backend.mail.postman import Postman
from citywise.backend.settings import Mail
from tests.api.browsers import PASSWORD
from tests.browser.conftest import DESKTOP, PHONE, Open, Site, Watched, settle, writing
from tests.browser.test_people import serious, settled
from tests.mail.conftest import text_of
from tests.mail.mail_server import Box, served

pytestmark = [pytest.mark.browser, pytest.mark.slow]
FRESH = "four large ships in a storm"


class Reader:
    """Sends what is due and opens the link of the newest mail."""

    def __init__(self, site: Site, box: Box) -> None:
        self.site, self.box = site, box
        self._postman = Postman(site.town.engine, site.settings, threading.Event())

    def open(self, page: Page) -> None:
        before = len(self.box.mails)
        while self._postman.step() or len(self.box.mails) == before:
            pass
        words = text_of(self.box.mails[-1]).split()
        (link,) = [word for word in words if word.startswith("http://city.example/")]
        page.goto(link.replace("http://city.example", self.site.server.url))


def test_an_address_is_confirmed_used_for_alerts_and_for_a_password_that_was_forgotten(
    open_page: Open, watched: Watched, axe: str, tmp_path: Path
) -> None:
    box = Box()
    with served(box) as port:
        mail = Mail(host="127.0.0.1", port=port, security="none", sender="city@city.example")
        with writing(tmp_path, mail) as site:
            _journey(open_page, site, Reader(site, box), axe)
    watched.errors.clear()  # The browser notes the 401 of the wrong password itself.


def _journey(open_page: Open, site: Site, reader: Reader, axe: str) -> None:
    url = site.server.url
    anna = settle(site, "Anna")
    page = settled(open_page("/account", DESKTOP, url=url, person=anna))
    section = page.locator("account-mail")
    expect(section).to_contain_text("No address yet.")
    section.get_by_text("Add an address").click()
    section.get_by_label("E-mail address").fill("anna@example.org")
    section.get_by_label("Password", exact=True).fill(PASSWORD)
    section.get_by_role("button", name="Send me a link").click()
    expect(section).to_contain_text("that city@city.example sends to anna@example.org")
    reader.open(page)
    assert serious(page, axe) == []
    expect(page).to_have_url(f"{url}/mail")  # The secret is not left in the address.
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("main")).to_contain_text("anna@example.org is confirmed.")

    page.goto(url + "/account")
    section.get_by_label("Alerts by e-mail").check()
    expect(section.get_by_label("Minimum importance")).to_have_value("3")
    section.get_by_label("Minimum importance").select_option("4")
    section.get_by_role("button", name="Save").click()
    expect(page.locator(".toast")).to_contain_text("Saved.")
    assert serious(page, axe) == []
    page.reload()
    expect(section.get_by_label("Minimum importance")).to_have_value("4")

    phone = open_page("/log-in", PHONE, url=url, theme="dark")
    phone.get_by_role("link", name="Forgot your password?").click()
    phone.get_by_label("Name or e-mail address").fill("anna@example.org")
    assert serious(phone, axe) == []
    phone.get_by_role("button", name="Send the link").click()
    expect(phone.get_by_role("main")).to_contain_text("an e-mail is on its way")
    reader.open(phone)
    phone.get_by_label("New password", exact=True).fill(FRESH)
    assert serious(phone, axe) == []
    phone.get_by_role("button", name="Change the password").click()
    expect(phone.get_by_role("main")).to_contain_text("Your password has been changed.")
    phone.get_by_role("link", name="Log in", exact=True).last.click()
    phone.get_by_label("Name").fill("Anna")
    phone.get_by_label("Password", exact=True).fill(FRESH)
    phone.get_by_role("button", name="Log in").click()
    expect(phone.locator("h1")).to_have_text("Your account")
    page.reload()
    expect(page.get_by_role("main")).to_contain_text("Log in")
    for each in (page, phone):  # Before the server ends, which they would note.
        each.context.close()
