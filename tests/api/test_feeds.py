"""Events as Atom and CAP, in the reader's language, whatever they are called."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

import pytest
from flask.testing import FlaskClient

from citywise.backend.connectors import Desk, Event, Message, connector
from citywise.backend.kinds import builtin
from tests.api.town import NOON, Town

ATOM = {"a": "http://www.w3.org/2005/Atom", "g": "http://www.georss.org/georss"}
CAP = {"c": "urn:oasis:names:tc:emergency:cap:1.2"}


@pytest.fixture
def busy(town: Town) -> Town:
    town.running(now=NOON)
    town.road("100", "Viborgvej & <co> \u0001\U0001f600")
    town.event("a", "100", "2014-08-05T06:00:00Z", "2014-08-05T07:00:00Z", level=4)
    town.event("b&c", "100", "2014-08-05T08:00:00Z", confirmed="2014-08-05T09:00:00Z")
    town.event("d", "unheard", "2014-08-05T08:30:00Z", kind="ParkingFull")
    return town


@pytest.mark.usefixtures("busy")
def test_the_feed_has_what_changed_last_first(client: FlaskClient) -> None:
    answer = client.get("/api/v1/events.atom?lang=da")
    assert answer.mimetype == "application/atom+xml"
    feed = Xml.fromstring(answer.data)
    assert feed.findtext("a:title", namespaces=ATOM) == "Byens hændelser"
    entries = feed.findall("a:entry", ATOM)
    ids = [entry.findtext("a:id", "", ATOM).rpartition("/")[2] for entry in entries]
    assert ids == ["b%26c", "d", "a"]
    first = entries[0]
    assert first.findtext("a:title", namespaces=ATOM) == "Trafikkø: Viborgvej & <co> �😀"
    assert first.findtext("a:updated", namespaces=ATOM) == "2014-08-05T09:00:00Z"
    assert first.findtext("g:point", namespaces=ATOM) == "56.155000 10.200000"
    assert entries[1].find("g:point", ATOM) is None
    assert len(client.get("/api/v1/events.atom?type=ParkingFull").text.split("<entry>")) == 2
    for needed in ("id", "title", "updated", "author"):
        assert feed.find(f"a:{needed}", ATOM) is not None


@pytest.mark.usefixtures("busy")
def test_an_event_is_an_alert_with_its_severity(client: FlaskClient) -> None:
    answer = client.get("/api/v1/events/a/cap")
    assert answer.mimetype == "application/cap+xml"
    alert = Xml.fromstring(answer.data)

    def said(path: str) -> str | None:
        return alert.findtext("/".join(f"c:{tag}" for tag in path.split("/")), namespaces=CAP)

    assert said("msgType") == "Update"
    assert said("status") == "Exercise"  # a replay: nobody is to act on it
    assert said("sent") == "2014-08-05T07:00:00-00:00"
    assert said("references") == "localhost,a.1407218400000,2014-08-05T06:00:00-00:00"
    assert said("info/severity") == "Severe"
    assert said("info/responseType") == "AllClear"
    assert said("info/category") == "Transport"
    assert said("info/area/circle") == "56.155000,10.200000 0.1"
    order = [child.tag.rpartition("}")[2] for child in alert.find("c:info", CAP) or ()]
    assert order == [
        "language", "category", "event", "responseType", "urgency", "severity", "certainty",
        "onset", "expires", "senderName", "headline", "description", "web", "area",
    ]  # fmt: skip


def test_our_own_connector_reads_an_alert_of_a_real_city(client: FlaskClient, town: Town) -> None:
    town.running(now=NOON, source="wall")
    town.road("100", "Vej")
    town.event("a", "100", "2014-08-05T06:00:00Z", level=4)
    answer = client.get("/api/v1/events/a/cap")
    reader = connector("cap", Desk(builtin(), source="cap"))
    (event,) = reader.read(Message(answer.data, None, None))
    assert isinstance(event, Event)
    assert event.body is not None
    assert (event.body["level"], event.body["type"]) == (4, "TrafficJam")


@pytest.mark.usefixtures("town")
def test_what_there_is_not_is_said(client: FlaskClient) -> None:
    assert client.get("/api/v1/events/none/cap").status_code == 404
    assert client.get("/api/v1/events.atom?limit=0").status_code == 400
    assert client.get("/api/v1/events.atom?lang=xx").status_code == 400
