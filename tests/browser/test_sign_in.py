"""In a browser: logging in at a provider of identities, and out again."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

pytest.importorskip("authlib")

from citywise.backend.machine import free_port
from citywise.backend.settings import People, Settings, Web
from tests.api.server import serving
from tests.databases import begun
from tests.people.providers import Provider, providing

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def log_in_there(page: Page, name: str) -> None:
    """At the provider: a name, any password, and agreeing."""
    page.get_by_placeholder("Enter any login").fill(name)
    page.get_by_placeholder("and password").fill("x")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def test_one_comes_with_the_roles_of_now_and_leaves(
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
        with serving(settings, keep_port=True):
            context = browser.new_context()
            comes_and_leaves(context.new_page(), root, provider)
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

    page.goto(f"{root}/log-in?refused=time")
    expect(page.get_by_role("alert")).to_contain_text("clock")
