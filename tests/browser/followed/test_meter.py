"""docs/tutorial-meter.md in a running city: from nothing to a coloured map and a warning."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Locator, Page, expect

from citywise.backend.times import iso
from tests.browser.conftest import Open
from tests.browser.following import Followed
from tests.browser.test_people import serious, settled
from tests.packs.test_tutorial_app import METER, write

pytestmark = [
    pytest.mark.browser,
    pytest.mark.spark,
    pytest.mark.thorough,
]


def made(part: Locator, sort: str, text: str, key: str) -> None:
    """Make a kind in the page."""
    part.get_by_role("button", name=sort, exact=True).click()
    part.get_by_role("textbox").fill(text)
    expect(part.locator(".bullets")).to_contain_text("Nothing is wrong with it.")
    part.get_by_role("button", name="Save").click()
    expect(part.locator(f"[data-kind='{key}']")).to_contain_text("made here")


def connected(page: Page, mapping: str, sample: str) -> tuple[str, str]:
    """Add a source for the meter, after a try; the address and the secret that the page tells."""
    part = page.locator("operator-sources")
    part.get_by_role("button", name="Add a source").click()
    part.get_by_label("Source", exact=True).fill("meters")
    part.get_by_label("Format", exact=True).select_option("mapping")
    part.locator("textarea[name='mapping']").fill(mapping)
    part.get_by_label("Sample message").fill(sample.replace("67.24", '"loud"'))
    part.get_by_role("button", name="Try", exact=True).click()
    becomes = part.get_by_role("list", name="What it becomes").locator("li")
    expect(becomes.filter(has_text="number")).to_contain_text("/db")
    part.get_by_label("Sample message").fill(sample)
    part.get_by_role("button", name="Try", exact=True).click()
    expect(becomes.last).to_contain_text("sound m1 · observed_at")
    expect(becomes.last).to_contain_text("level = 67.2, battery = 3.71, rssi = -71")
    part.get_by_text("Messages that others send").click()
    part.get_by_label("Takes messages by HTTP POST").check()
    part.get_by_role("button", name="Save").click()
    told = part.get_by_role("region", name="Address and secret")
    expect(told).to_be_focused()
    address, secret = told.locator("dd code").all_text_contents()
    part.get_by_role("button", name="Done").click()
    return address, secret


def test_a_meter_of_a_new_kind_is_connected_seen_and_warned_of(
    open_at: Open, followed: Followed, axe: str, tmp_path: Path
) -> None:
    folder = write(tmp_path, METER).parent
    text = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.*")
            if path.is_file()}  # fmt: skip
    page = settled(open_at(followed.url, "/system"))
    page.get_by_role("tab", name="Kinds").click()
    kinds = page.locator("operator-kinds")
    made(kinds, "New kind of place", text["sound_meter.toml"], "place sound_meter")
    made(kinds, "New kind of observation", text["sound.toml"], "kind sound")
    page.get_by_role("tab", name="Sources").click()
    address, secret = connected(page, text["meters.toml"], text["message.json"])

    def post(level: object) -> None:
        message = json.loads(text["message.json"])
        body = json.dumps({**message, "at": iso(followed.now_ms()), "db": level}).encode()
        with urlopen(Request(address, body, {"X-Citywise-Secret": secret}), timeout=60) as answer:
            assert answer.status == 204

    def fares() -> bool:
        (source,) = followed.ask("GET", "operator/sources")["sources"]
        return bool(source["refused"]) and bool(source["observations"])

    post("loud")
    post(67.24)
    followed.until(fares)
    expect(page.locator("[data-source='meters']")).to_contain_text("number · /db")

    # The app waited for the kind; its template is there now.
    followed.until(lambda: "loud" in {app["name"] for app in followed.ask("GET", "apps")["apps"]})
    page.goto(f"{followed.url}/apps")
    page.get_by_text("Advanced: all alerts").click()
    page.get_by_role("button", name="Add: Loud near my home").click()
    form = page.get_by_role("dialog", name="Loud near my home")
    for label, value in (("Latitude", 56.15), ("Longitude", 10.2), ("Radius (m)", 300)):
        form.get_by_role("spinbutton", name=label).fill(str(value))
    expect(form.get_by_label("Louder than")).to_have_value("65")
    form.get_by_label("For at least").fill("1")
    form.get_by_label("Unit").select_option(label="seconds")
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    followed.until(lambda: bool(followed.ask("GET", "notices")["notices"]))
    expect(page.locator("article .notice-card", has_text="m1: 67 dB")).to_be_visible()

    page.goto(f"{followed.url}/list")
    row = page.locator("city-kinds [data-kind='sound'] [data-place='m1']")
    expect(row).to_contain_text("67.2 dB")
    page.goto(f"{followed.url}/")
    legend = page.locator(".legend [data-of='sound']")
    expect(legend.locator("dt")).to_have_text(["quiet", "lively", "loud"])
    page.locator(".kind-sound.grade-5").dispatch_event("click")
    card = page.locator(".leaflet-popup")
    expect(card.locator(".kind-chip")).to_have_text("loud")
    expect(card).to_contain_text("3.71 V")
    expect(card).to_contain_text("-71 dBm")
    card.get_by_text("The last 24 hours").press("Enter")
    expect(card.get_by_role("img", name="Level: 67.2 to 67.2 dB")).to_be_visible()
    with urlopen(str(card.get_by_role("link", name="As CSV").evaluate("(a) => a.href"))) as rows:
        assert b",m1,level," in rows.read()
    assert serious(page, axe) == []
    _put_away(followed)


def _put_away(followed: Followed) -> None:
    """Leave nothing that tells the person of other tests anything."""
    for instance in followed.ask("GET", "instances")["instances"]:
        if instance["template"] == "loud":
            followed.ask("DELETE", f"instances/{instance['id']}")
    followed.ask("DELETE", "operator/sources/meters")
