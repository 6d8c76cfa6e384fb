"""The pages of meetings: what they can be installed as."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient


@pytest.mark.parametrize("page", ["/meetings", "/meetings/m-x", "/meet/m-x"])
def test_what_is_installed_from_a_page_of_meetings_opens_with_them(
    client: FlaskClient, page: str
) -> None:
    assert 'rel="manifest" href="/meetings.webmanifest"' in client.get(page).text
    answer = client.get("/meetings.webmanifest", headers={"Accept-Language": "da"})
    assert answer.content_type == "application/manifest+json"
    found = answer.json
    assert (found["name"], found["start_url"], found["id"]) == ("Møder", "/meetings", "/meetings")


def test_the_city_is_installed_as_before(client: FlaskClient) -> None:
    assert 'rel="manifest" href="/manifest.webmanifest"' in client.get("/list").text
    assert client.get("/manifest.webmanifest").json["start_url"] == "/"
