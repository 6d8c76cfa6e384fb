"""In a browser: logging in at a provider of identities, and out again."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

pytest.importorskip("authlib")

from citywise.backend.machine import free_port
from citywise.backend.settings import People, Settings, Web
from tests.api.server import serving
from tests.databases import begun
from tests.people.providers import Provider, providing, visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]


AHEAD = """
import pathlib, time
def ahead(now=time.time):
    return now() + float(pathlib.Path({0!r}).read_text())
time.time = ahead
"""
"""So many seconds the city's clock is ahead of the provider's."""


def log_in_there(page: Page, name: str) -> None:
    """At the provider: a name, any password, and agreeing."""
    page.get_by_placeholder("Enter any login").fill(name)
    page.get_by_placeholder("and password").fill("x")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


@pytest.mark.thorough
def test_one_comes_with_the_roles_of_now_and_leaves_and_who_is_not_meant_is_refused(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    port = free_port()
    root = f"http://127.0.0.1:{port}"
    with providing(tmp_path, f"{root}/sign-in/done") as provider:
        provider.put(anna=["staff"])
        settings = Settings(
            data_dir=tmp_path / "state",
            web=Web(port=port, public_url=root),
            people=People(private=True),
            sign_in=provider.settings(),
        )
        begun(settings.database_url).dispose()
        clock = tmp_path / "clock"
        clock.write_text("30")  # The clocks differ by half a minute.
        with serving(settings, keep_port=True, before=AHEAD.format(str(clock))):
            context = browser.new_context()
            comes_and_leaves(context.new_page(), root, provider)
            context.close()
            for refuses in (a_stolen_answer, one_of_another_issuer_or_code, one_at_another_time):
                context = browser.new_context()
                refuses(context.new_page(), root, clock)
                context.close()


def comes_and_leaves(page: Page, root: str, provider: Provider) -> None:
    page.goto(f"{root}/list")  # of a private city: one is led to log in, and back
    page.get_by_role("link", name="Log in with City ID").click()
    log_in_there(page, "anna")
    expect(page).to_have_url(f"{root}/list")
    expect(page.locator(".person-name")).to_have_text("anna")
    page.goto(f"{root}/account")
    expect(page.locator("account-identities li")).to_have_count(1)

    page.locator("person-menu summary").click()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="Yes, sign me out").click()
    expect(page).to_have_url(f"{root}/log-in")

    provider.put(anna=["chiefs"])
    page.get_by_role("link", name="Log in with City ID").click()
    log_in_there(page, "anna")
    expect(page.locator(".person-name")).to_have_text("anna")
    roles = page.evaluate("fetch('/api/v1/me').then((r) => r.json()).then((me) => me.roles)")
    assert roles == ["admin", "user"]


def answered(page: Page, root: str) -> str:
    """The address at which a browser is sent back by the provider, which it has not opened yet."""
    sent = page.context.request.get(f"{root}/sign-in", max_redirects=0)
    return visit(sent.headers["location"], "anna", f"{root}/sign-in/done")


def is_refused(page: Page, address: str, says: str) -> None:
    """Opening an address leads to the page to log in, which says why, and to nobody's login."""
    page.goto(address)
    expect(page.get_by_role("alert")).to_contain_text(says)
    me = page.evaluate("fetch('/api/v1/me').then((answer) => answer.json())")
    assert me["user"] is None


def a_stolen_answer(page: Page, root: str, _clock: Path) -> None:
    """It lets in the browser that began, once."""
    back = answered(page, root)
    thief = page.context.browser.new_context()
    other = thief.new_page()
    is_refused(other, back, "not begun in this browser")
    answered(other, root)  # with something begun of its own
    is_refused(other, back, "not begun in this browser")
    thief.close()
    page.goto(back)
    expect(page.locator(".person-name")).to_have_text("anna")
    page.context.clear_cookies(name="citywise-login")
    is_refused(page, back, "has been used")


def one_of_another_issuer_or_code(page: Page, root: str, _clock: Path) -> None:
    used = answered(page, root)
    page.goto(used)
    expect(page.locator(".person-name")).to_have_text("anna")
    page.context.clear_cookies(name="citywise-login")
    code = parse_qs(urlsplit(used).query)["code"][0]
    for name, value, says in (
        ("iss", "https://evil.example", "another provider"),
        ("code", code, "does not take the code"),
    ):
        where, _, query = answered(page, root).partition("?")
        told = {key: values[0] for key, values in parse_qs(query).items()}
        is_refused(page, f"{where}?{urlencode({**told, name: value})}", says)


def one_at_another_time(page: Page, root: str, clock: Path) -> None:
    """A token that is over, and one of a clock that is five minutes ahead of the city's."""
    for ahead in (7200, -300):
        clock.write_text(str(ahead))
        is_refused(page, answered(page, root), "its clock is wrong")
    clock.write_text("0")
    page.goto(answered(page, root))
    expect(page.locator(".person-name")).to_have_text("anna")
