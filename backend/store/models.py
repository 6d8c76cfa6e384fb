"""The tables of Citywise."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Float,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    true,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

BigKey = BigInteger().with_variant(Integer, "sqlite")
LARGEST_ID = 2**63 - 1
"""What a `BigKey` holds; to look for more is an error of the database."""
RequestName = String(128)
"""Of a template: `app/template@version`."""
UserId = String(64)
"""The id of an account (`backend.people.ids`), of a session, or the name of a test person."""


class Base(DeclarativeBase):
    """Base of all tables. Columns ending in `_ms` are Unix milliseconds."""


class PlaceRow(Base):
    """A place sensors watch; written by the ingest when a place payload arrives."""

    __tablename__ = "places"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    kind: Mapped[str] = mapped_column(String(32), index=True)
    name: Mapped[str] = mapped_column(String(200))
    lat: Mapped[float] = mapped_column(Float)
    lon: Mapped[float] = mapped_column(Float)
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The whole `Place` payload."""
    updated_ms: Mapped[int] = mapped_column(BigInteger)


class ReadingRow(Base):
    """The latest observation of each sensor and kind."""

    __tablename__ = "readings"
    kind: Mapped[str] = mapped_column(String(32), primary_key=True)
    place_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    observed_ms: Mapped[int] = mapped_column(BigInteger)
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The values of the observation, without sensor and time."""
    change: Mapped[int] = mapped_column(BigKey, index=True)
    """Log position of the batch that wrote the row: grows with every batch."""


class EventRow(Base):
    """A city event: open while `end_ms` is null."""

    __tablename__ = "events"
    id: Mapped[str] = mapped_column(String(160), primary_key=True)
    type: Mapped[str] = mapped_column(String(64), index=True)
    level: Mapped[int] = mapped_column(Integer)
    place_id: Mapped[str] = mapped_column(String(64), index=True)
    start_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    confirmed_ms: Mapped[int] = mapped_column(BigInteger)
    end_ms: Mapped[int | None] = mapped_column(BigInteger, index=True)
    request: Mapped[str] = mapped_column(RequestName)
    causes: Mapped[dict[str, Any]] = mapped_column(JSON)
    """Ground atoms behind it: `{"opened": [...], "confirmed": [...], "ended": [...]}`."""
    place: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Of an event opened by hand: its own place, `{name, kind, lat, lon, geometry}`; None:
    that of `place_id`."""
    key: Mapped[str | None] = mapped_column(String(160), index=True)
    """Of an event that a request concludes: what it calls it now. A corrected start changes this,
    not the id."""
    opened_ms: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """Stream time of the evaluation that opened it."""
    revised: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """How often it was corrected, and by which readings at last: `{number, because: […]}`."""
    withdrawn_ms: Mapped[int | None] = mapped_column(BigInteger)
    """Stream time at which it turned out never to have been; then it counts as over."""


class OutboxRow(Base):
    """An announcement, written in the transaction of the change; its id is the
    event stream's `id`."""

    __tablename__ = "outbox"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    t_ms: Mapped[int] = mapped_column(BigInteger)
    """Stream time of the evaluation."""
    kind: Mapped[str] = mapped_column(String(32))
    """`event.opened`, `.updated`, `.cleared`, `.corrected`, `.withdrawn`, or `notice`."""
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The event (docs/api.md) or the notice as the API shows it."""
    created_ms: Mapped[int] = mapped_column(BigInteger)
    user: Mapped[str | None] = mapped_column(UserId)
    """Of a notice: to whom; nobody else sees it."""
    traceparent: Mapped[str | None] = mapped_column(String(55))
    """The trace that it came of, where there are traces (`backend.telemetry`)."""
    __table_args__ = (Index("ix_outbox_user", "user", "id"), {"sqlite_autoincrement": True})


class MessageTraceRow(Base):
    """The trace of a message in the log, for whoever answers it (`backend.telemetry`)."""

    __tablename__ = "message_traces"
    position: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    """Of its first record."""
    traceparent: Mapped[str] = mapped_column(String(55))
    created_ms: Mapped[int] = mapped_column(BigInteger, index=True)


class CursorRow(Base):
    """How far a request has come: the truth from which a restart continues."""

    __tablename__ = "cursors"
    request: Mapped[str] = mapped_column(RequestName, primary_key=True)
    position: Mapped[int] = mapped_column(BigInteger)
    """Log position up to which answers are committed."""
    resume_from: Mapped[int] = mapped_column(BigInteger)
    """Log position from which the window's content can be rebuilt."""
    answered_ms: Mapped[int | None] = mapped_column(BigInteger)
    """Stream time up to which answers are committed."""
    state: Mapped[dict[str, Any]] = mapped_column(JSON)
    updated_ms: Mapped[int] = mapped_column(BigInteger)


class DeadLetterRow(Base):
    """A message or item that was not accepted, and why."""

    __tablename__ = "dead_letters"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    key: Mapped[str] = mapped_column(String(128), unique=True)
    """Makes the entry idempotent: where the message came from."""
    received_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    topic: Mapped[str] = mapped_column(String(1024))
    reason: Mapped[str] = mapped_column(String(64), index=True)
    detail: Mapped[str] = mapped_column(Text)
    size: Mapped[int] = mapped_column(Integer)
    payload: Mapped[str] = mapped_column(Text)
    """The beginning of the payload, undecodable bytes escaped."""
    replayed_ms: Mapped[int | None] = mapped_column(BigInteger)
    """Wall time at which it was published again."""
    source: Mapped[str] = mapped_column(String(64), default="", server_default="")
    """The sensor or topic it came from, where that is nobody's: none pushes out others."""
    bytes: Mapped[int] = mapped_column(Integer, default=0, server_default="0", index=True)
    """About what the row takes. All are added up at each write: without the index that would be
    as much reading as the letters are long."""


class RefusalRow(Base):
    """How many dead letters came in an hour (of the wall), of which some are kept."""

    __tablename__ = "refusals"
    hour_ms: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    reason: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)


class TraceRow(Base):
    """One evaluation of a request, kept for a bounded time.

    Of an app's template it also says what was evaluated (`keys`, `changed`), at which log
    position, and what came of it, so that a page can show it and a replay can repeat it.
    """

    __tablename__ = "traces"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    request: Mapped[str] = mapped_column(RequestName)
    t_ms: Mapped[int] = mapped_column(BigInteger)
    items: Mapped[int] = mapped_column(Integer)
    """Items in the windows; of a template: facts."""
    atoms: Mapped[int] = mapped_column(Integer)
    """Atoms of the answer."""
    seconds: Mapped[float] = mapped_column(Float)
    position: Mapped[int | None] = mapped_column(BigInteger)
    """Log position up to which entries counted."""
    keys: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    """Template instances evaluated."""
    notices: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    """Notices opened, updated and closed."""
    error: Mapped[str | None] = mapped_column(Text)
    """Why there was no answer."""
    changed: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Some of the instances evaluated and of the notices changed (bounded):
    `{"instances": [id, …], "notices": [{"change", "instance", "notice", "about",
    "criticality"}, …]}`."""
    created_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    __table_args__ = (Index("ix_traces_request_t", "request", "t_ms"),)


class HeartbeatRow(Base):
    """A process says that it lives and how it fares (read by `/readyz`)."""

    __tablename__ = "heartbeats"
    process: Mapped[str] = mapped_column(String(32), primary_key=True)
    at_ms: Mapped[int] = mapped_column(BigInteger)
    detail: Mapped[dict[str, Any]] = mapped_column(JSON)


class InletRow(Base):
    """What the web and the pipeline want in the log: written in the transaction of the
    change, appended and removed by the ingest (docs/delivery.md)."""

    __tablename__ = "inlet"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    subject: Mapped[str] = mapped_column(String(16))
    """As of `backend.ingest.records.Standing`."""
    key: Mapped[str] = mapped_column(String(160))
    body: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """None where it is removed."""
    created_ms: Mapped[int] = mapped_column(BigInteger)
    __table_args__ = ({"sqlite_autoincrement": True},)


class InstanceRow(Base):
    """A template instance: whose it is, of which template version, and its values."""

    __tablename__ = "instances"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    app: Mapped[str] = mapped_column(String(32))
    template: Mapped[str] = mapped_column(String(32))
    version: Mapped[int] = mapped_column(Integer)
    user: Mapped[str] = mapped_column(String(64), index=True)
    values: Mapped[dict[str, Any]] = mapped_column(JSON)
    """All values, checked and with defaults filled in, as `TemplateVersion.bind` gives them."""
    title: Mapped[str | None] = mapped_column(String(200))
    """What the user calls it."""
    duty: Mapped[str | None] = mapped_column(String(32))
    """The role that it comes of (`backend.packs.duties`); None: its user made it."""
    created_ms: Mapped[int] = mapped_column(BigInteger)
    updated_ms: Mapped[int] = mapped_column(BigInteger)
    __table_args__ = (Index("ix_instances_template", "app", "template", "version"),)


class DutyRow(Base):
    """A role that a person has, at a place or (empty) at all: given by an operator."""

    __tablename__ = "duties"
    role: Mapped[str] = mapped_column(String(32), primary_key=True)
    place: Mapped[str] = mapped_column(String(64), primary_key=True)
    user: Mapped[str] = mapped_column(UserId, primary_key=True, index=True)
    created_ms: Mapped[int] = mapped_column(BigInteger)


class TemplateVersionRow(Base):
    """An installed version of a template: never changed, kept while instances use it."""

    __tablename__ = "template_versions"
    app: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    version: Mapped[int] = mapped_column(Integer, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64))
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    """`TemplateVersion.to_json()`."""
    installed_ms: Mapped[int] = mapped_column(BigInteger)


class AppTablesRow(Base):
    """What is known of an app's own tables (`backend.packs.tables`)."""

    __tablename__ = "app_tables"
    app: Mapped[str] = mapped_column(String(32), primary_key=True)
    version: Mapped[int] = mapped_column(Integer)
    """How many of its migrations have been run."""
    tables: Mapped[list[str]] = mapped_column(JSON)
    personal: Mapped[dict[str, str]] = mapped_column(JSON)
    """Tables about people: name → the column with the account's id."""
    exported: Mapped[bool] = mapped_column(Boolean)
    """Whether the rows about a person are exported as they are."""
    error: Mapped[str | None] = mapped_column(Text)
    """Why the last upgrade failed."""


class KindRow(Base):
    """A kind of observation or place (`backend.kinds.installed`)."""

    __tablename__ = "kinds"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """`kind/<name>` or `place/<name>`."""
    version: Mapped[int] = mapped_column(Integer)
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    origin: Mapped[str] = mapped_column(String(16))
    """`files` or `operator`."""
    changed_ms: Mapped[int] = mapped_column(BigInteger)


class LayerRow(Base):
    """How a layer fares whose places are in `places` (`backend.layers`)."""

    __tablename__ = "layers"
    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    """Of its kind of place."""
    digest: Mapped[str | None] = mapped_column(String(64))
    """SHA-256 of what was taken; None: nothing yet."""
    file_digest: Mapped[str | None] = mapped_column(String(64))
    """The same of the file in the city's folder that was looked at last."""
    origin: Mapped[str | None] = mapped_column(Text)
    """Where what was taken came from: the name of a file, or an address."""
    tag: Mapped[dict[str, Any]] = mapped_column(JSON)
    """What the address calls the version that was taken (`ETag`, `Last-Modified`)."""
    places: Mapped[int] = mapped_column(Integer)
    remarks: Mapped[list[str]] = mapped_column(JSON)
    taken_ms: Mapped[int | None] = mapped_column(BigInteger)
    asked_ms: Mapped[int] = mapped_column(BigInteger)
    """When a file came or the address was asked last."""
    error: Mapped[str | None] = mapped_column(Text)
    """Why nothing was taken then; what was taken before stays."""
    is_shown: Mapped[bool] = mapped_column(Boolean, server_default=true())
    """On maps; rules know its places all the same."""


class SourceRow(Base):
    """A source that an operator made (`backend.sources.made`)."""

    __tablename__ = "sources"
    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    """Its settings; keys and passwords are in it, because they are sent."""
    is_active: Mapped[bool] = mapped_column(Boolean)
    version: Mapped[int] = mapped_column(Integer)
    """Grows with each change."""


class PostedRow(Base):
    """A message that was posted for a source and not yet read (`backend.sources.posted`)."""

    __tablename__ = "posted"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    source: Mapped[str] = mapped_column(String(32), index=True)
    body: Mapped[bytes] = mapped_column(LargeBinary)
    received_ms: Mapped[int] = mapped_column(BigInteger)


class NoticeRow(Base):
    """A notice to a user: open while `closed_ms` is null."""

    __tablename__ = "notices"
    id: Mapped[str] = mapped_column(String(300), primary_key=True)
    """`<instance>~<kind>~<about>~<opened>`."""
    app: Mapped[str] = mapped_column(String(32))
    template: Mapped[str] = mapped_column(String(32))
    version: Mapped[int] = mapped_column(Integer)
    instance: Mapped[str] = mapped_column(String(64), index=True)
    user: Mapped[str] = mapped_column(String(64))
    kind: Mapped[str] = mapped_column(String(32))
    about: Mapped[str] = mapped_column(String(200))
    """Id of an event or a place, or the text of a term."""
    about_type: Mapped[str] = mapped_column(String(16))
    """`event`, `place` or `term`."""
    about_name: Mapped[str] = mapped_column(String(200))
    """Its name, as it was when the notice opened; what it is may be forgotten before."""
    about_lat: Mapped[float | None] = mapped_column(Float)
    about_lon: Mapped[float | None] = mapped_column(Float)
    criticality: Mapped[int] = mapped_column(Integer)
    """1 (least) to 5."""
    details: Mapped[dict[str, Any]] = mapped_column(JSON)
    why: Mapped[list[str]] = mapped_column(JSON)
    """Ground atoms behind it."""
    opened_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    updated_ms: Mapped[int] = mapped_column(BigInteger)
    closed_ms: Mapped[int | None] = mapped_column(BigInteger)
    closed_because: Mapped[str | None] = mapped_column(String(64))
    alerted_ms: Mapped[int | None] = mapped_column(BigInteger)
    """Stream time at which its user was last alerted to it."""
    alerted_criticality: Mapped[int | None] = mapped_column(Integer)
    """The highest criticality its user knows of: was alerted to, or acknowledged."""
    held_because: Mapped[str | None] = mapped_column(String(32))
    """Why its user was not alerted to its last change, see `backend.notices.attention`."""
    due_ms: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """Stream time at which an alert that was held back is to come, if it is still open."""
    snoozed_until_ms: Mapped[int | None] = mapped_column(BigInteger)
    acknowledged_ms: Mapped[int | None] = mapped_column(BigInteger)
    """Stream time at which its user said to have seen it: no more alerts."""
    advice: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """What an app's own code proposes to do about it (docs/notices.md)."""
    taken_back: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True))
    """The readings because of which it turned out that there was no reason for it."""
    amended: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Its criticality before readings of the past changed it at last (`was`), and these readings
    (`because`)."""
    late_ms: Mapped[int | None] = mapped_column(BigInteger)
    """How long after its last change it was told of: the system was away then."""
    __table_args__ = (Index("ix_notices_user_closed", "user", "closed_ms"),)


class AccountRow(Base):
    """A person with an account. Nothing but this row says who an id is."""

    __tablename__ = "accounts"
    id: Mapped[str] = mapped_column(UserId, primary_key=True)
    """Opaque (`backend.people.ids`): what the log, notices and instances know a person by."""
    name: Mapped[str] = mapped_column(String(64))
    """What the person is called and logs in with, as they write it."""
    name_key: Mapped[str] = mapped_column(String(128), unique=True)
    """The name as it is compared: two names that look alike are one."""
    password: Mapped[str | None] = mapped_column(String(255))
    """Argon2 hash; None: nobody can log in (the demo's user)."""
    roles: Mapped[list[str]] = mapped_column(JSON)
    created_ms: Mapped[int] = mapped_column(BigInteger)
    disabled_ms: Mapped[int | None] = mapped_column(BigInteger)
    totp_secret: Mapped[str | None] = mapped_column(String(64))
    """What an authenticator app has too, in base 32 (`backend.people.two_factor`)."""
    totp_since_ms: Mapped[int | None] = mapped_column(BigInteger)
    """None: its codes are not asked for (yet)."""
    totp_step: Mapped[int | None] = mapped_column(BigInteger)
    """The newest step of which a code was used."""


class RecoveryCodeRow(Base):
    """A code that stands once for one of the authenticator app."""

    __tablename__ = "recovery_codes"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of account and code."""
    account: Mapped[str] = mapped_column(UserId, index=True)


class PasskeyRow(Base):
    """A key on a device of somebody (`backend.people.passkeys`)."""

    __tablename__ = "passkeys"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of the credential's id."""
    account: Mapped[str] = mapped_column(UserId, index=True)
    name: Mapped[str] = mapped_column(String(64))
    """What the person calls it."""
    credential: Mapped[str] = mapped_column(String(1400))
    """The id by which the device knows it, in base64url, as the key."""
    public_key: Mapped[str] = mapped_column(Text)
    """COSE."""
    signed: Mapped[int] = mapped_column(BigInteger)
    """What its counter of signatures said last; 0 where it has none."""
    created_ms: Mapped[int] = mapped_column(BigInteger)
    used_ms: Mapped[int | None] = mapped_column(BigInteger)


class LoginRow(Base):
    """A browser that is logged in."""

    __tablename__ = "logins"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of the cookie's secret."""
    account: Mapped[str] = mapped_column(UserId, index=True)
    csrf: Mapped[str] = mapped_column(String(64))
    created_ms: Mapped[int] = mapped_column(BigInteger)
    seen_ms: Mapped[int] = mapped_column(BigInteger)
    expires_ms: Mapped[int] = mapped_column(BigInteger)
    agent: Mapped[str] = mapped_column(String(200))
    """What the browser says it is, for the person to tell logins apart."""
    issuer: Mapped[str] = mapped_column(String(400), default="", server_default="")
    """The provider of identities who vouched for it; empty: a password did."""


class IdentityRow(Base):
    """Who an account's person is at a provider of identities."""

    __tablename__ = "identities"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of the issuer and of what it calls the person (`sub`), which is not kept."""
    account: Mapped[str] = mapped_column(UserId, index=True)
    issuer: Mapped[str] = mapped_column(String(400))
    created_ms: Mapped[int] = mapped_column(BigInteger)
    used_ms: Mapped[int] = mapped_column(BigInteger)


class TokenRow(Base):
    """A device's bearer token, which is also its user name and password at the broker."""

    __tablename__ = "tokens"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    account: Mapped[str] = mapped_column(UserId, index=True)
    label: Mapped[str] = mapped_column(String(100))
    rights: Mapped[list[str]] = mapped_column(JSON)
    """Of `backend.people.tokens.RIGHTS`."""
    secret: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the secret, which is random and long."""
    broker_hash: Mapped[str] = mapped_column(String(200))
    """The secret as mosquitto's password file has it (`$7$…`)."""
    created_ms: Mapped[int] = mapped_column(BigInteger)
    used_ms: Mapped[int | None] = mapped_column(BigInteger)
    expires_ms: Mapped[int | None] = mapped_column(BigInteger)
    scope: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """What its rights to the city are limited to (`backend.people.scopes`)."""


class InvitationRow(Base):
    """A link with which one person can sign up, once."""

    __tablename__ = "invitations"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of the link's secret."""
    roles: Mapped[list[str]] = mapped_column(JSON)
    created_ms: Mapped[int] = mapped_column(BigInteger)
    expires_ms: Mapped[int] = mapped_column(BigInteger)


class ConsentRow(Base):
    """Whether one kind of a person's context may be used, and how long it is kept."""

    __tablename__ = "consents"
    account: Mapped[str] = mapped_column(UserId, primary_key=True)
    subject: Mapped[str] = mapped_column(String(16), primary_key=True)
    """Of `backend.ingest.standing.CONTEXT`."""
    given_ms: Mapped[int | None] = mapped_column(BigInteger)
    """Wall time at which it was given; None: it was withdrawn."""
    hours: Mapped[float | None] = mapped_column(Float)
    """Kept so long without word; None: `ingest.context_hours`."""


class WishesRow(Base):
    """What may alert a user, and when (`backend.notices.attention.Wishes`)."""

    __tablename__ = "wishes"
    user: Mapped[str] = mapped_column(UserId, primary_key=True)
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    updated_ms: Mapped[int] = mapped_column(BigInteger)


class MailAddressRow(Base):
    """Where somebody is written to (`backend.mail.addresses`)."""

    __tablename__ = "mail_addresses"
    account: Mapped[str] = mapped_column(UserId, primary_key=True)
    address: Mapped[str | None] = mapped_column(String(254), index=True)
    """Theirs, as a link in a letter has shown."""
    wanted: Mapped[str | None] = mapped_column(String(254))
    """To be used once it has been shown to be theirs."""
    language: Mapped[str] = mapped_column(String(16))
    unsubscribe: Mapped[str] = mapped_column(String(64), unique=True)
    """What a link in every letter with alerts has; it ends them and does nothing else."""
    error: Mapped[str | None] = mapped_column(String(500))
    """Why letters come back; nothing is sent until the address is shown again."""
    since_ms: Mapped[int] = mapped_column(BigInteger)
    hour_ms: Mapped[int] = mapped_column(BigInteger)
    """When the hour began in which so many letters with alerts were sent:"""
    hour_count: Mapped[int] = mapped_column(Integer)


class MailSecretRow(Base):
    """A link in a letter that does something once."""

    __tablename__ = "mail_secrets"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of the link's secret."""
    account: Mapped[str] = mapped_column(UserId, index=True)
    purpose: Mapped[str] = mapped_column(String(16))
    """`verify` or `reset`."""
    address: Mapped[str] = mapped_column(String(254))
    """Where it was sent."""
    expires_ms: Mapped[int] = mapped_column(BigInteger)


class LetterRow(Base):
    """A letter that is to be sent, or that could not be (`backend.mail.letters`)."""

    __tablename__ = "letters"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    account: Mapped[str] = mapped_column(UserId, index=True)
    """Empty: whoever `about` names."""
    purpose: Mapped[str] = mapped_column(String(16))
    about: Mapped[str] = mapped_column(String(300))
    """Of `notice` the notice's id, of `asked` the name or address that somebody typed."""
    created_ms: Mapped[int] = mapped_column(BigInteger)
    due_ms: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """None: given up."""
    tries: Mapped[int] = mapped_column(Integer)
    error: Mapped[str | None] = mapped_column(String(500))
    __table_args__ = ({"sqlite_autoincrement": True},)


class SavedPlacesRow(Base):
    """The places that somebody saved, sealed (`backend.privacy.saved_places`)."""

    __tablename__ = "saved_places"
    user: Mapped[str] = mapped_column(UserId, primary_key=True)
    box: Mapped[str] = mapped_column(Text)
    updated_ms: Mapped[int] = mapped_column(BigInteger)


class ReceiverRow(Base):
    """A device that is sent notices over MQTT, and how far it has come."""

    __tablename__ = "receivers"
    device: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Id of its token."""
    user: Mapped[str] = mapped_column(UserId, index=True)
    seen: Mapped[int] = mapped_column(BigKey)
    """Id in the outbox of the last notice it said to have."""


class AuditRow(Base):
    """What somebody did with the rights of an operator."""

    __tablename__ = "audit"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    at_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    actor: Mapped[str] = mapped_column(UserId, index=True)
    action: Mapped[str] = mapped_column(String(64), index=True)
    target: Mapped[str] = mapped_column(String(200))
    before: Mapped[Any] = mapped_column(JSON(none_as_null=True), nullable=True)
    after: Mapped[Any] = mapped_column(JSON(none_as_null=True), nullable=True)
    undoes: Mapped[int | None] = mapped_column(BigInteger)
    """The id of the action that this one undid."""
    undone_ms: Mapped[int | None] = mapped_column(BigInteger)
    __table_args__ = ({"sqlite_autoincrement": True},)


class OperatorEventRow(Base):
    """An event opened by hand: what was asked for, from before it begins until it is over."""

    __tablename__ = "operator_events"
    id: Mapped[str] = mapped_column(String(160), primary_key=True)
    type: Mapped[str] = mapped_column(String(64))
    level: Mapped[int] = mapped_column(Integer)
    place_id: Mapped[str] = mapped_column(String(64))
    place: Mapped[dict[str, Any]] = mapped_column(JSON)
    """As of `EventRow.place`."""
    start_ms: Mapped[int] = mapped_column(BigInteger, index=True)
    until_ms: Mapped[int | None] = mapped_column(BigInteger, index=True)
    """Stream time at which it ends by itself."""
    state: Mapped[str] = mapped_column(String(16), index=True)
    """`planned`, `open`, `ended` or `withdrawn`."""
    end_ms: Mapped[int | None] = mapped_column(BigInteger)
    updated_ms: Mapped[int] = mapped_column(BigInteger)


class ForgettingRow(Base):
    """A person whose account is gone, and of whom traces may still come in (see
    `backend.people.forgetting`)."""

    __tablename__ = "forgettings"
    user: Mapped[str] = mapped_column(UserId, primary_key=True)
    since_ms: Mapped[int] = mapped_column(BigInteger)
    position: Mapped[int | None] = mapped_column(BigInteger)
    """Log position from which on nothing about the user is written; None: not yet known."""


class HistorySeriesRow(Base):
    """What one sensor has said in one field of one kind, as long as anything of it is kept."""

    __tablename__ = "history_series"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    kind: Mapped[str] = mapped_column(String(32))
    sensor: Mapped[str] = mapped_column(String(64))
    field: Mapped[str] = mapped_column(String(32))
    newest_ms: Mapped[int] = mapped_column(BigInteger)
    """Time of the newest value: what comes later is new without looking."""
    __table_args__ = (Index("ix_history_series", "kind", "sensor", "field", unique=True),)


class HistoryValueRow(Base):
    """A value as it was measured: a number (true is 1), or a text."""

    __tablename__ = "history_values"
    series: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=False)
    at_ms: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    value: Mapped[float | None] = mapped_column(Float)
    text: Mapped[str | None] = mapped_column(Text)
    __table_args__ = ({"sqlite_with_rowid": False},)


class HistoryRollupRow(Base):
    """The numbers of a series within a span of time, added up."""

    __tablename__ = "history_rollups"
    series: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=False)
    span_s: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    """Of `backend.history.spans`: 300, 3600 or 86400 seconds."""
    start_ms: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(Integer)
    low: Mapped[float] = mapped_column(Float)
    high: Mapped[float] = mapped_column(Float)
    total: Mapped[float] = mapped_column(Float)
    __table_args__ = ({"sqlite_with_rowid": False},)


class FollowerRow(Base):
    """How far somebody has come who follows the log or the announcements."""

    __tablename__ = "followers"
    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    position: Mapped[int] = mapped_column(BigInteger)
    """In the log: bytes; in the outbox: the id of the last announcement."""


class SubscriptionRow(Base):
    """Who is told of changes at an address of theirs (`backend.outgoing.subscriptions`)."""

    __tablename__ = "subscriptions"
    id: Mapped[str] = mapped_column(String(200), primary_key=True)
    account: Mapped[str] = mapped_column(UserId, index=True)
    form: Mapped[str] = mapped_column(String(16))
    """`webhook`, `ngsi-ld` or `web-push`."""
    url: Mapped[str] = mapped_column(Text)
    secret: Mapped[str] = mapped_column(String(128))
    """What messages are signed with, so it cannot be a digest."""
    label: Mapped[str] = mapped_column(String(200))
    filter: Mapped[dict[str, Any]] = mapped_column(JSON)
    extra: Mapped[dict[str, Any]] = mapped_column(JSON)
    is_active: Mapped[bool] = mapped_column(Boolean)
    position: Mapped[int] = mapped_column(BigKey)
    """Id of the last announcement that was dealt with."""
    created_ms: Mapped[int] = mapped_column(BigInteger)
    sent: Mapped[int] = mapped_column(BigInteger)
    success_ms: Mapped[int | None] = mapped_column(BigInteger)
    failure_ms: Mapped[int | None] = mapped_column(BigInteger)
    error: Mapped[str | None] = mapped_column(Text)


class UndeliveredRow(Base):
    """A change that a subscription's receiver did not take."""

    __tablename__ = "undelivered"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    subscription: Mapped[str] = mapped_column(String(200), index=True)
    account: Mapped[str] = mapped_column(UserId, index=True)
    number: Mapped[int] = mapped_column(BigKey)
    """Id of the announcement, with which it is sent again."""
    body: Mapped[dict[str, Any]] = mapped_column(JSON)
    error: Mapped[str] = mapped_column(Text)
    failed_ms: Mapped[int] = mapped_column(BigInteger)
    is_due: Mapped[bool] = mapped_column(Boolean)
    """Whether it is to be sent again."""


def longest(row: type[Base], column: str) -> int:
    """How many characters a column of texts holds."""
    kind = row.__table__.c[column].type
    assert isinstance(kind, String)
    assert kind.length is not None
    return kind.length
