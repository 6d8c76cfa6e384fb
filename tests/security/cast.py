"""Who tries what: two people with something to lose, one with each role, a device, nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Flask
from sqlalchemy import Engine, insert, select
from sqlalchemy.orm import DeclarativeBase

from citywise.apps.meeting_mgr.tables import (
    MeetingEntryRow,
    MeetingPersonRow,
    MeetingRow,
    ReminderRow,
)
from citywise.apps.travel_planner import repeats, trips
from citywise.apps.travel_planner.repeat_times import Pattern
from citywise.apps.travel_planner.tables import RepeatRow, TripRow
from citywise.backend.ingest import inlet
from citywise.backend.notices import book
from citywise.backend.outgoing import subscriptions
from citywise.backend.outgoing.subscriptions import PUSH
from citywise.backend.people import accounts, audit, consents, identities, logins
from citywise.backend.settings import Settings
from citywise.backend.store.models import (
    AccountRow,
    ConsentRow,
    InletRow,
    InstanceRow,
    InvitationRow,
    LoginRow,
    NoticeRow,
    OutboxRow,
    PasskeyRow,
    RecoveryCodeRow,
    SubscriptionRow,
    TokenRow,
    TraceRow,
    WishesRow,
)
from citywise.backend.store.outbox import begin
from tests.api.browsers import PASSWORD, Browser
from tests.api.log import Log
from tests.api.templates import NOON_MS, change, install, jam_ahead
from tests.api.town import NOON, Town

SECRET = "where-anna-lives"
"""Part of everything that is Anna's and could be told."""
REPEAT = "rt_0123456789abcdef01234567"
"""The id of a repeating trip of Anna's."""
TRIP = "tr_0123456789abcdef01234567"
"""The id of a trip of Anna's."""
BROWSER = "w-" + "0123456789abcdef" * 2
SUBSCRIPTION = "urn:ngsi-ld:Subscription:annas"
_WATCHED: tuple[type[DeclarativeBase], ...] = (
    AccountRow,
    ConsentRow,
    InletRow,
    InstanceRow,
    InvitationRow,
    MeetingEntryRow,
    MeetingPersonRow,
    MeetingRow,
    NoticeRow,
    OutboxRow,
    PasskeyRow,
    RecoveryCodeRow,
    ReminderRow,
    RepeatRow,
    SubscriptionRow,
    TripRow,
    WishesRow,
)


@dataclass
class Cast:
    """The application, who uses it, and the ids of what is Anna's."""

    app: Flask
    engine: Engine
    anna: Browser
    bert: Browser
    developer: Browser
    admin: Browser
    device: Browser
    nobody: Browser
    carl: Browser
    olga: Browser
    """Who came by a provider of identities."""
    meter: Browser
    """A device of the admin, with a scope."""
    token: str
    login: str
    session: str
    meeting: str = ""
    seat: str = ""
    key: str = ""
    """A meeting of Anna's, as whom she takes part in it, and the key of its link."""
    identity: str = ""
    """Who Anna is at a provider of identities."""
    passkey: str = ""
    webhook: str = ""

    @property
    def others(self) -> dict[str, Browser]:
        """All who are not Anna."""
        return {
            "bert": self.bert,
            "developer": self.developer,
            "admin": self.admin,
            "device": self.device,
            "nobody": self.nobody,
            "olga": self.olga,
            "meter": self.meter,
        }

    @property
    def instance(self) -> str:
        return f"{self.anna.user}.jam_ahead"

    @property
    def notice(self) -> str:
        return f"{self.instance}~jam_ahead~jam-1~20140805T120000Z"

    def everything(self) -> dict[str, list[Any]]:
        """What tables hold that somebody could change; not when a login or a page was last seen."""
        with self.engine.connect() as connection:
            found = {
                row.__tablename__: list(map(tuple, connection.execute(select(*_columns(row)))))
                for row in _WATCHED
            }
            for row, columns in (
                (LoginRow, (LoginRow.id, LoginRow.account, LoginRow.expires_ms)),
                (TokenRow, (TokenRow.id, TokenRow.account, TokenRow.rights)),
            ):
                found[row.__tablename__] = list(map(tuple, connection.execute(select(*columns))))
        return found


def _columns(row: Any) -> list[Any]:
    return [column for column in row.__table__.columns if column.name != "page_ms"]


def play(app: Flask, settings: Settings, engine: Engine) -> Cast:
    """A city in which Anna has told everything, and the others nothing."""
    _city(engine)
    with engine.begin() as connection:
        for name, role in (("Dora", "developer"), ("Ada", "admin")):
            accounts.create(connection, name, PASSWORD, (role,))
    anna, bert = Browser.of(app), Browser.of(app)
    anna.sign_up("Anna")
    bert.sign_up("Bert")
    made = anna.post("/me/tokens", {"label": SECRET, "rights": ["all"]}).json
    ada = Browser.of(app, "Ada")
    scoped = {"rights": ["sensors", "places"], "scope": {"kinds": ["noise"], "places": ["n1*"]}}
    meter = ada.post("/me/tokens", {"label": "meter", **scoped}).json["bearer"]
    device = bert.post("/me/tokens", {"label": "script", "rights": ["all"]}).json["bearer"]
    cast = Cast(
        app,
        engine,
        anna,
        bert,
        Browser.of(app, "Dora"),
        ada,
        Browser.device(app, device),
        Browser.of(app),
        Browser.of(app),
        _by_provider(app, engine, "Olga"),
        Browser.device(app, meter),
        made["id"],
        anna.get("/me/logins").json["logins"][0]["id"],
        "citypulse-" + "0123456789abcdef" * 2,
    )
    with engine.begin() as connection:
        claims = {"iss": "https://id.example", "sub": "anna"}
        identities.link(connection, anna.user, claims)
        cast.identity = identities.identify(claims["iss"], claims["sub"])
        cast.passkey = "a" * 64
        key = {"credential": SECRET, "public_key": SECRET, "signed": 0, "created_ms": NOON_MS}
        row = {"id": cast.passkey, "account": anna.user, "name": SECRET, **key}
        connection.execute(insert(PasskeyRow), row)
        at = "https://8.8.8.8/push"
        keys = {"p256dh": SECRET, "auth": SECRET, "language": "en", "login": None}
        subscriptions.add(
            connection, anna.user, PUSH, at, "", label=SECRET, extra=keys, name=BROWSER
        )
    hook = {"url": "https://8.8.8.8/hook", "label": SECRET}
    wanted = {"type": "Subscription", "id": SUBSCRIPTION, "entities": [{"type": "TrafficJam"}]}
    endpoint = {"notification": {"endpoint": {"uri": "https://8.8.8.8/hook"}}}
    assert anna.post("//ngsi-ld/v1/subscriptions", {**wanted, **endpoint}).status_code == 201
    cast.webhook = anna.post("/webhooks", hook).json["id"]
    _tell(cast, settings)
    return cast


def _by_provider(app: Flask, engine: Engine, name: str) -> Browser:
    """A browser of somebody for whom a provider of identities vouches."""
    issuer = "https://id.example"
    with engine.begin() as connection:
        account = accounts.create_without_password(connection, name, ["user"])
        identities.link(connection, account.id, {"iss": issuer, "sub": name})
        login, secret = logins.open_login(connection, account.id, 1, issuer=issuer)
    found = Browser.of(app)
    found.client.set_cookie("citywise-login", secret)
    found.csrf, found.user, found.name = login.csrf, account.id, name
    return found


def _city(engine: Engine) -> None:
    town = Town(engine)
    town.running()
    town.road("100", "Viborgvej")
    town.event("jam-1", "100", "2014-08-05T11:30:00Z")
    town.dead_letter(1, "not-json")
    install(town, jam_ahead())


def _tell(cast: Cast, settings: Settings) -> None:
    """What is known of Anna, of a session, and of a test person."""
    wish = {"app": "jam_watch", "template": "jam_ahead"}
    made = cast.anna.post("/instances", {**wish, "title": SECRET, "values": {"radius": 150}})
    assert made.json["id"] == cast.instance
    assert cast.developer.post("/instances", {**wish, "user": "alice"}).status_code == 201
    standing = {**wish, "version": 1, "values": {"radius": 300, "garage": None}}
    row = {"title": None, "created_ms": 0, "updated_ms": 0}
    with cast.engine.begin() as connection:
        for subject in consents.SUBJECTS:
            consents.write(connection, cast.anna.user, subject, given=True)
        session = {"id": cast.session, "user": cast.session, **standing, **row}
        connection.execute(insert(InstanceRow), session)
        inlet.write(connection, [("activity", cast.anna.user, {"activity": "Cycling"})])
        for instance, user in (
            (cast.instance, cast.anna.user),
            (cast.session, cast.session),
            ("alice.jam_ahead", "alice"),
        ):
            details = {"metres": 420, "where": SECRET if user == cast.anna.user else ""}
            opened = change("opened", instance=instance, user=user, details=details)
            book.apply(connection, [opened])
        audit.record(connection, "u-somebody", "test.done", "target")
    _follow(cast, settings)
    _meet(cast)
    _traces(cast)
    cast.anna.put("/me/wishes", {"threshold": 2})
    log = Log(settings.log_dir)
    for user in (cast.anna.user, cast.session, "alice"):
        name = user if user == cast.session else f"{user}.jam_ahead"
        log.stands("instance", name, {**standing, "user": user})
        log.stands("position", user, {"lat": 56.15, "lon": 10.2, "heading": None, "along_m": None})
    log.clock(NOON)
    log.close()


def _follow(cast: Cast, settings: Settings) -> None:
    """A trip that Anna is on, and one that she makes each Monday."""
    line = {"type": "LineString", "coordinates": [[10.2, 56.15], [10.2, 56.16]]}
    plan = {"id": "r1", "mode": "walk", "geometry": line, "time_s": 800.0, "distance_m": 1113.0}
    to = {"lat": 56.16, "lon": 10.2, "name": SECRET}
    content = trips.Content({}, plan, {"plan": "pl_1", "choice": "r1"}, to)
    trip = trips.Trip(TRIP, cast.anna.user, "travel", "following", NOON_MS, NOON_MS, None, content)
    each_monday = repeats.Content(Pattern("08:00", "depart", (1,)), {"to": to}, SECRET)
    user = cast.anna.user
    repeat = repeats.Repeat(REPEAT, user, NOON_MS, NOON_MS, None, each_monday)
    with cast.engine.begin() as connection:
        begin(connection)
        trips.save(connection, trips.boxes_of(settings), trip)
        repeats.save(connection, trips.boxes_of(settings), repeat)


def _meet(cast: Cast) -> None:
    """A meeting that Anna hosts, in which she takes part and Carl, who has no account."""
    times = {"starts": "2026-05-04T09:00:00Z", "ends": "2026-05-04T10:00:00Z"}
    attendees = [{"id": "a1", "name": SECRET, "email": "anna@example.org"}]
    told = {"title": SECRET, "room": {"name": SECRET}, **times, "attendees": attendees}
    made = cast.anna.post("/meetings", told).json
    cast.meeting, cast.key = made["id"], made["join"]["key"]
    people = f"/meetings/{cast.meeting}/people"
    joined = cast.anna.post(people, {"key": cast.key, "name": SECRET})
    cast.seat = joined.json["me"]["id"]
    assert cast.carl.post(people, {"key": cast.key, "name": "Carl"}).status_code == 201


def _traces(cast: Cast) -> None:
    evaluated = [cast.instance, cast.session, "alice.jam_ahead"]
    changed = {
        "instances": evaluated,
        "notices": [
            {
                "change": "opened",
                "instance": name,
                "notice": "jam_ahead",
                "about": "jam-1",
                "criticality": 3,
            }
            for name in evaluated
        ],
    }
    Town(cast.engine).save(
        TraceRow(
            id=1,
            request="jam_watch/jam_ahead@1",
            t_ms=NOON_MS,
            items=3,
            atoms=1,
            seconds=0.1,
            keys=3,
            error=f"instance '{cast.instance}' and instance '{cast.session}': too many atoms",
            changed=changed,
            created_ms=NOON_MS,
        )
    )
