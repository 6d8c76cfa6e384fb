"""Every endpoint that takes an id, with one that is Anna's and one that nobody has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from flask import Flask, url_for

from citywise.backend.api import access
from tests.security.cast import BROWSER, REPEAT, SUBSCRIPTION, TRIP, Cast

NOBODYS = "u-aaaaaaaaaaaaaaaaaaaa"
_JAM = "jam_ahead~jam-1~20140805T120000Z"

IDS: dict[str, Callable[[Cast], tuple[Any, Any]]] = {
    "instance_id": lambda cast: (cast.instance, f"{NOBODYS}.jam_ahead"),
    "user": lambda cast: (cast.anna.user, NOBODYS),
    "notice_id": lambda cast: (cast.notice, f"{NOBODYS}.jam_ahead~{_JAM}"),
    "login_id": lambda cast: (cast.login, "0" * 64),
    "identity_id": lambda cast: (cast.identity, "0" * 64),
    "browser_id": lambda cast: (BROWSER, "w-" + "0" * 32),
    "passkey_id": lambda cast: (cast.passkey, "0" * 64),
    "token_id": lambda cast: (cast.token, "d-" + "0" * 16),
    "repeat_id": lambda cast: (REPEAT, "rt_" + "f" * 24),
    "trip_id": lambda cast: (TRIP, "tr_" + "f" * 24),
    "account_id": lambda cast: (cast.anna.user, NOBODYS),
    "meeting_id": lambda cast: (cast.meeting, "m-" + "a" * 20),
    "subscription_id": lambda cast: (SUBSCRIPTION, "urn:ngsi-ld:Subscription:nobodys"),
    "webhook_id": lambda cast: (cast.webhook, "s-" + "0" * 16),
    "person_id": lambda cast: (cast.seat, "p-" + "a" * 20),
}
"""By the name of the address's part: what is Anna's, and what is nobody's."""
NOT_OF_PEOPLE = {
    "action_id": "1",
    "attendee_id": "a1",
    "day": "2026-05-04",
    "event_id": "1",
    "form": "kind",
    "kind": "noise",
    "letter_id": "1",
    "name": "noise",
    "number": "1",
    "subject": "position",
    "trace_id": "1",
}
"""Parts that are no person's: of operators and developers, kinds of context, and what is within
something of somebody's; and one of each."""
_READING = {"at": "2026-05-04T09:03:00Z", "values": {"noise_db": 80}}
BODIES: dict[str, Any] = {
    "api.instances.put_instance": {"values": {"radius": 500}, "title": "mine now"},
    "api.context.put_context": {"position": {"lat": 1.0, "lon": 1.0}},
    "api.context.patch_context": {"activity": "Walking"},
    "api.attend.snooze": {"minutes": 60},
    "api.accounts.change_account": {"disabled": True},
    "ngsi_subscriptions.change_subscription": {"isActive": False},
    "api.webhooks.change_webhook": {"label": "mine now"},
    "api.passkeys.remove": {},
    "api.passkeys.change_passkey": {"name": "mine now"},
    "api.repeats.change_repeat": {"name": "mine now"},
    "api.trips.put_position": {"lat": 56.15, "lon": 10.2},
    "api.trips.answer_proposal": {"answer": "decline"},
    "api.meetings.change_meeting": {"version": 1, "title": "mine now"},
    "api.meetings.act": {"do": "start"},
    "api.meetings.override": {"speak": "off"},
    "api.meetings.answer_proposal": {"answer": "decline"},
    "api.meetings.decide": {"text": "mine now"},
    "api.meeting_people.join": {"key": "guess", "name": "Eve"},
    "api.meeting_people.say": {"hand": True},
    "api.meeting_people.share": {"sensors": ["noise"]},
    "api.meeting_people.tell": _READING,
    "api.meeting_people.tell_arrival": {"tells": True},
    "api.meeting_people.agree_talk_time": {"agrees": True},
    "api.meeting_people.open_mqtt": {},
    "api.meeting_papers.send_invitations": {},
    "api.meeting_reminders.choose_reminder": {"minutes": 15},
}


@dataclass(frozen=True)
class Attempt:
    """A call, once about what is Anna's and once about what nobody has."""

    endpoint: str
    method: str
    hers: str
    nobodys: str
    body: Any

    def granted(self, cast: Cast) -> str:
        """The address with what else Anna needs to be granted what it gives."""
        link = self.endpoint == "api.meeting_people.show_link"
        return f"{self.hers}?key={cast.key}" if link else self.hers


def attempts(cast: Cast) -> Iterator[Attempt]:
    """Every method of every endpoint with somebody's id in its address."""
    for endpoint, method, part in parts(cast.app):
        if part in IDS:
            hers, nobodys = (_address(cast, endpoint, part, each) for each in IDS[part](cast))
            yield Attempt(endpoint, method, hers, nobodys, BODIES.get(endpoint))


def parts(app: Flask) -> Iterator[tuple[str, str, str]]:
    """Endpoint, method and the name of each part of an address that is not the city's."""
    for rule in app.url_map.iter_rules():
        if access.of(app, rule.endpoint).kind != "city":
            for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
                for part in sorted(rule.arguments):
                    yield rule.endpoint, method, part


def _address(cast: Cast, endpoint: str, part: str, value: str) -> str:
    """An endpoint's address with a value in one part; in its others what is Anna's."""
    values: dict[str, Any] = NOT_OF_PEOPLE | {name: ids(cast)[0] for name, ids in IDS.items()}
    (rule, *_) = cast.app.url_map.iter_rules(endpoint)
    values = {name: values[name] for name in rule.arguments} | {part: value}
    with cast.app.test_request_context():
        address = url_for(endpoint, **values)
    return address.removeprefix("/api/v1") if address.startswith("/api/") else f"/{address}"
