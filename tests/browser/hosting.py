"""A meeting in a served city, with people whom the reasoner has judged."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    Ability,
    AbilityState,
    Capability,
    Cause,
    ItemId,
    Placed,
    Presence,
    Proposal,
    Proposed,
    Reason,
)
from citywise.apps.meeting_mgr.steps import answering, running, taking_part
from citywise.backend.times import iso, wall_ms
from tests.browser.conftest import Site
from tests.meeting_mgr.kept import Kept

MINUTE_MS = 60_000
ITEMS = ("Semantic Web", "Customer budget", "Demo")


@dataclass(frozen=True)
class Hosted:
    """A meeting of the demo's user, changed as the reasoner and participants change it."""

    kept: Kept
    id: str

    @property
    def path(self) -> str:
        return f"/meetings/{self.id}"

    def start(self) -> None:
        self.kept.change(self.id, lambda record: running.start(record, wall_ms()))

    def join(self, name: str, attendee: str) -> str:
        """One of the invited joins, able to do everything."""
        person = self.kept.join(self.id, name=name, attendee=attendee, now_ms=wall_ms())
        self.conclude(person, "on")
        return person

    def person(self, name: str) -> str:
        """The id of somebody in it, by how their name begins."""
        return next(one.id for one in self.kept.people(self.id) if one.name.startswith(name))

    def finish(self) -> None:
        """It ends, unless it has."""
        if self.kept.record(self.id).state == "running":
            self.kept.change(self.id, lambda record: running.end(record, wall_ms()))

    def conclude(
        self,
        person: str,
        state: Ability,
        *capabilities: Capability,
        because: Sequence[Reason] = (),
        presence: Presence = "remote",
    ) -> None:
        """What the reasoner does when it has judged somebody anew; of all where none is named."""
        now_ms = wall_ms()
        found = self.kept.person(self.id, person).state
        fresh = AbilityState(state=state, since_ms=now_ms, because=tuple(because))
        abilities = {**found.abilities, **dict.fromkeys(capabilities or CAPABILITIES, fresh)}
        judged = found.model_copy(
            update={"abilities": abilities, "presence": presence, "presence_since_ms": now_ms}
        )
        self.kept.change_person(
            self.id, person, lambda record, one: taking_part.concluded(record, one, judged, now_ms)
        )

    def propose(self, *order: ItemId) -> None:
        """What the reasoner does when another order of the agenda is better."""
        now_ms = wall_ms()
        places = [
            Placed(item=item, starts_ms=now_ms + 15 * MINUTE_MS * n, minutes=15)
            for n, item in enumerate(order)
        ]
        best = Proposed(agenda=tuple(places), moved=(order[-1],), cost=(0,))
        cause = Cause(item=order[-1], person="a2", lacks=("speak",), because=("noise",))
        proposal = Proposal(
            number=1, at_ms=now_ms, kind="reorder", causes=(cause,), options=(best,)
        )
        self.kept.change(self.id, lambda record: answering.propose(record, proposal, now_ms))


def hosted(site: Site, **more: Any) -> Hosted:
    """A planned meeting of three about to begin, with three items of a quarter of an hour."""
    now_ms = wall_ms()
    people = ("Alice Maud Mary", "Bob Simmons", "Charlie Wilson")
    body = {
        "title": "Business Meeting",
        "room": {"name": "Room B", "lat": 56.1551, "lon": 10.2085},
        "starts": iso(now_ms),
        "ends": iso(now_ms + 60 * MINUTE_MS),
        "attendees": [{"id": f"a{n}", "name": name} for n, name in enumerate(people, 1)],
        "agenda": [
            {"id": f"i{n}", "title": title, "minutes": 15, "speaker": f"a{n}"}
            for n, title in enumerate(ITEMS, 1)
        ],
        **more,
    }
    request = urllib.request.Request(
        f"{site.server.url}/api/v1/meetings",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Origin": site.server.url},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        made = json.load(answer)
    return Hosted(Kept(site.town.engine, site.settings), made["id"])
