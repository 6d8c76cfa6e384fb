"""Configuration: defaults, a TOML file, and `CITYWISE_SET__…` environment variables."""

from __future__ import annotations

import hmac
import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from citywise.backend.errors import CitywiseError
from citywise.backend.times import ZONE
from citywise.reasoning import Limits

if TYPE_CHECKING:
    from sqlalchemy import Engine

OfApp = TypeVar("OfApp", bound="Section")


class SettingsError(CitywiseError):
    """A configuration file or variable is wrong; the message names it."""


_MASTER = re.compile(r"local(\[[^\[\]]+\])?|spark://[^\s/]+:\d+(,[^\s/]+:\d+)*|yarn|k8s://\S+")
_LOOPBACK = ("localhost", "127.", "[::1]")
_MOST_PARTS = 1000


def _separated(given: object) -> object:
    """A list that an environment variable gives as text, its elements separated by commas."""
    return given.split(",") if isinstance(given, str) else given


_Link = Annotated[str, Field(pattern=r"^(https?://|mailto:)[^\s\"<>]+$")]


class Section(BaseModel):
    """A section of the configuration: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Broker(Section):
    """The MQTT broker; `embedded` starts our own on a free loopback port."""

    embedded: bool = True
    host: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, le=65535)
    username: str | None = None
    password: str | None = None
    prefix: str = "citywise"
    tls: bool = False
    """Connect to it with TLS."""
    ca: Path | None = None
    """Certificates (PEM) that the broker's is checked against; default: the system's."""
    devices_port: int = Field(default=0, ge=0, le=65535)
    """Where the embedded broker takes devices from the network, over TLS with the web's
    certificate; 0: nowhere."""
    websocket_port: int = Field(default=0, ge=0, le=65535)
    """Where the embedded broker takes browsers (MQTT over WebSocket), on the host and with the
    certificate of the web; 0: a free port."""
    websocket_url: str | None = Field(default=None, pattern=r"^wss?://[^/\s;,]+(/[^\s;,]*)?$")
    """The address at which browsers reach the broker, where it is not that one (a proxy's, an
    external broker's)."""

    def of_process(self, role: str) -> Broker:
        """The broker as a process of ours sees it.

        At the embedded broker every process is a user of its own, `citywise.<role>`, with no
        more rights than its work needs (`backend/broker.mjs`). An external broker knows us all
        by the one name of the settings.
        """
        if not self.embedded or self.password is None:
            return self
        secret = hmac.new(self.password.encode(), role.encode(), "sha256").hexdigest()
        return self.model_copy(update={"username": f"citywise.{role}", "password": secret})


class Ingest(Section):
    """Limits of what is accepted, and when acknowledgement stops."""

    clock: Literal["topic", "wall"] = "wall"
    """Whose time counts: a source's clock topic (replay, simulation) or the wall's."""
    max_payload_bytes: int = 4_000_000
    future_tolerance_s: float = 60
    max_age_s: float = 3600
    horizon_s: float = Field(default=3600, ge=0)
    """How far behind the present a reading may come late, be corrected or withdrawn, so that the
    answers that it changes are made again; 0: none is (docs/delivery.md)."""
    horizons: dict[str, Annotated[float, Field(ge=0)]] = {}
    """The same of kinds of observations that have their own, in seconds."""
    grace_s: float = 1.0
    """With the wall clock: how long after its time a reading may still arrive in order."""
    max_lag_bytes: int = 256_000_000
    min_free_bytes: int = 500_000_000
    segment_bytes: int = 16_000_000
    dead_letters: int = Field(default=20_000, ge=100)
    """How many of the messages refused are kept; all are counted."""
    dead_letter_bytes: int = Field(default=50_000_000, ge=1_000_000)
    retention_hours: float = Field(default=24, ge=0)
    context_hours: float = Field(default=24, gt=0)
    """After how long without word of a user what the phone told of them is forgotten."""
    serve_host: str = "127.0.0.1"
    """The address at which this machine serves its log, and at which others find it."""
    serve_port: int = Field(default=0, ge=0, le=65535)
    """0: the log is not served, and only this machine can read it."""
    serve_token: str | None = Field(default=None, min_length=16, pattern=r"^[!-~][ -~]*[!-~]$")
    """The secret that a reader must know; letters, digits and signs of ASCII."""

    def all_horizons(self) -> dict[str, float]:
        """The horizons by kind, and `*` for all others."""
        return {"*": self.horizon_s, **self.horizons}

    @property
    def longest_s(self) -> float:
        """The longest of the horizons, in seconds."""
        return max(self.horizon_s, *self.horizons.values(), 0.0)

    def horizon_of(self, kind: str) -> float:
        """Seconds within which readings of a kind may be revised."""
        return self.horizons.get(kind, self.horizon_s)

    @model_validator(mode="after")
    def _served_to_those_who_know(self) -> Ingest:
        if self.serve_port and self.serve_token is None:
            raise ValueError(
                "ingest.serve_port is set but not ingest.serve_token: without a secret "
                "everybody could read the log; set one of at least 16 characters"
            )
        return self


def _is_filter(topic: str) -> bool:
    """Whether a text is a topic of MQTT, in which `+` is one level and `#` the rest."""
    levels = topic.split("/")
    plain = all(level in "+#" or not {"+", "#"} & set(level) for level in levels)
    sized = 0 < len(topic.encode("utf-8", "replace")) <= 65_535
    return sized and "\0" not in topic and plain and "#" not in levels[:-1]


def _see_zone(name: str, where: str = "") -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{where}no time zone `{name}`") from error


class Subscribed(Section):
    """A context broker of NGSI-LD that is to notify us of its entities."""

    broker: str = Field(max_length=1000)
    """Its API, e.g. `https://broker.example/ngsi-ld/v1`."""
    types: tuple[str, ...] = Field(min_length=1, max_length=50)
    """Of entities, as the broker calls them: `AirQualityObserved`."""
    notify: str = Field(max_length=1000)
    """The address at which the broker reaches us, e.g. `https://city.example`."""
    renew_s: float = Field(default=600, ge=5, le=86_400)
    """How often it is renewed and caught up with; it lasts three times as long."""


class Source(Section):
    """A foreign system whose messages a connector reads (docs/connectors.md)."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")
    connector: str = Field(default="", max_length=1000)
    """A name that `citywise connect list` gives, or the path of a mapping file."""
    mapping: str | None = Field(default=None, max_length=1_000_000)
    """The text of a mapping file, instead of a connector."""
    urls: tuple[str, ...] = ()
    """Addresses that are asked again and again, in this order."""
    topics: tuple[str, ...] = ()
    """Of MQTT, whole topics; `+` and `#` as there."""
    broker: Broker | None = None
    """Where the topics are; default: the system's broker."""
    interval_s: float = Field(default=60, ge=1, le=86_400)
    timeout_s: float = Field(default=20, gt=0, le=600)
    """For the whole of one answer."""
    max_bytes: int = Field(default=10_000_000, ge=1_000, le=50_000_000)
    """Of one answer, or one message."""
    headers: dict[str, str] = {}
    """Sent with each request, e.g. a key."""
    prefix: str = Field(default="", pattern=r"^[A-Za-z0-9_.:-]{0,20}$")
    """Before each id, where two sources could use the same."""
    zone: str | None = None
    """Of times without one, e.g. `Europe/Copenhagen`."""
    secret: str | None = Field(default=None, min_length=16, max_length=200, pattern=r"^[!-~]+$")
    """With it messages are taken by POST at `/api/v1/sources/NAME`."""
    subscribe: Subscribed | None = None
    """A context broker that posts them there."""

    @model_validator(mode="after")
    def _comes_from_somewhere(self) -> Source:
        if bool(self.connector) == (self.mapping is not None):
            raise ValueError(f"source `{self.name}`: give a `connector` or a `mapping`")
        if not (self.urls or self.topics or self.secret):
            raise ValueError(f"source `{self.name}`: give `urls`, `topics` or a `secret`")
        if self.subscribe is not None and self.secret is None:
            raise ValueError(f"source `{self.name}`: `subscribe` needs a `secret` to know it by")
        for topic in self.topics:
            if not _is_filter(topic):
                raise ValueError(f"source `{self.name}`: `{topic}` is no topic of MQTT")
        own = self.subscribe
        for url in (*self.urls, *((own.broker, own.notify) if own else ())):
            if not re.fullmatch(r"https?://[^\s/?#]+\S*", url):
                raise ValueError(f"source `{self.name}`: `{url}` is no http(s) address")
        if self.zone is not None:
            _see_zone(self.zone, f"source `{self.name}`: ")
        return self


class RequestLimits(Section):
    """Bounds on one evaluation of one request; beyond one it fails, and it alone."""

    seconds: float = Field(default=10, gt=0)
    megabytes: int = Field(default=2048, gt=0)
    atoms: int = Field(default=5_000_000, gt=0)
    models: int = Field(default=10_000, gt=0)

    def of_engine(self) -> Limits:
        """These limits as the engines take them."""
        return Limits(**self.model_dump())


class Cluster(Section):
    """What a Spark cluster needs beyond its address; not used by a local master."""

    driver_host: str = Field(default="127.0.0.1", min_length=1)
    """The address at which the executors find the driver; it listens there and only there."""
    driver_port: int = Field(default=0, ge=0, le=65535)
    block_port: int = Field(default=0, ge=0, le=65535)
    """Ports of the driver, for a firewall; 0: free ones."""
    cores: int = Field(default=2, gt=0)
    """Of all executors together."""
    patience_s: float = Field(default=180, gt=0)
    """How long to wait at the start for the master, and then for a first executor."""
    python: str | None = None
    """Path or name of Python on driver and executors; default: the driver's own."""
    secret: str | None = Field(default=None, min_length=16)
    """What Spark's processes prove each other that they belong together with (the master's
    and the workers' `spark.authenticate.secret`); with it they talk encrypted."""
    spark: tuple[str, ...] = ()
    """Further settings of Spark, each `name=value`."""

    @field_validator("spark", mode="before")
    @classmethod
    def _list(cls, given: object) -> object:
        return _separated(given)

    @field_validator("spark")
    @classmethod
    def _names_and_values(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for text in given:
            if text.startswith(("spark.authenticate", "spark.network.crypto")):
                raise ValueError(f"`{text}`: set pipeline.cluster.secret instead")
            if not re.fullmatch(r"spark\.[\w.]+=.*", text):
                raise ValueError(f"`{text}` is not of the form spark.executor.memory=2g")
        return given


class Pipeline(Section):
    """Spark and the requests it runs."""

    master: str = "local[2]"
    requests: tuple[str, ...] = ("traffic_jam", "garage_nearly_full")
    """Names of files in `backend/city/requests`, or paths of `.casp` files."""
    max_batch_bytes: int = 2_000_000
    partitions: Literal["auto"] | int = "auto"
    """Into how many parts a request divides whose plan has the place as its key; 0 or 1:
    none does."""
    engine: Literal["auto", "incremental", "solver"] = "auto"
    """What evaluates requests; `incremental` refuses one that it cannot evaluate."""
    backlog_s: float = Field(default=60, gt=0)
    """Seconds since the oldest unanswered record came, beyond which the system is not ready but
    catching up."""
    trace_retention_hours: float = 24
    checkpoint: str | None = None
    """Folder or Hadoop address where Spark notes its batches; default: in `data_dir`."""
    limits: RequestLimits = RequestLimits()
    cluster: Cluster = Cluster()

    @field_validator("master")
    @classmethod
    def _address_of_spark(cls, given: str) -> str:
        if not _MASTER.fullmatch(given):
            raise ValueError(
                f"`{given}` is no master of Spark: expected local[2], spark://HOST:PORT, yarn or "
                "k8s://ADDRESS"
            )
        return given

    @field_validator("requests", mode="before")
    @classmethod
    def _list(cls, given: object) -> object:
        return _separated(given)

    @field_validator("partitions", mode="before")
    @classmethod
    def _auto_or_number(cls, given: object) -> str | int:
        text = str(given)
        if text == "auto":
            return text
        if not text.isdecimal() or int(text) > _MOST_PARTS:
            raise ValueError(f"`{text}` is neither `auto` nor a number from 0 to {_MOST_PARTS}")
        return int(text)

    @property
    def is_local(self) -> bool:
        """Whether Spark runs in the pipeline's own process."""
        return self.master.startswith("local")


class KindFiles(Section):
    """Kinds of observations and places beside those of apps (docs/kinds.md)."""

    built_in: bool = True
    """Whether there are those that come with Citywise."""
    folders: tuple[str, ...] = ()
    """Folders with files of kinds, which may replace those that come with Citywise; the city's
    own, `kinds` in its folder, is always looked into."""

    @field_validator("folders", mode="before")
    @classmethod
    def _list(cls, given: object) -> object:
        return _separated(given)


class Apps(Section):
    """The apps beside those that Citywise brings along."""

    folders: tuple[str, ...] = ()
    """Folders of apps, or folders that hold apps."""

    @field_validator("folders", mode="before")
    @classmethod
    def _list(cls, given: object) -> object:
        return _separated(given)


class City(Section):
    """What is known of the city beside its sensors, and what is assumed where nobody says."""

    folder: Path | None = None
    """Where the road network and the named places are; default: `city` in `data_dir`."""
    zone: str = ZONE
    """The time zone of its days, times of day and opening hours."""
    planners: int = Field(default=2, ge=1, le=64)
    """Processes that plan for the web pages."""
    car_cost_per_km: float = Field(default=2.0, ge=0)
    """What driving is taken to cost (fuel and wear), in `currency`."""
    car_co2_g_per_km: float = Field(default=167.0, ge=0)
    """Grams of CO₂ that a car is taken to emit for each kilometre: an average car of unknown fuel
    (UK Government GHG Conversion Factors for Company Reporting, 2024)."""
    parking_per_hour: float = Field(default=20.0, ge=0)
    """The price of each hour begun in a garage that does not say its own."""
    parking_day_most: float = Field(default=160.0, ge=0)
    """The most that such a garage is taken to ask for 24 hours."""
    currency: str = Field(default="DKK", pattern=r"^[A-Z]{3}$")

    @field_validator("zone")
    @classmethod
    def _zone_there_is(cls, given: str) -> str:
        _see_zone(given)
        return given


class Links(Section):
    """What the menu of every page leads to, where whoever runs the city has such pages."""

    help: _Link | None = None
    feedback: _Link | None = None
    privacy: _Link | None = None
    about: _Link | None = None
    """Who runs the city: the imprint."""


class Web(Section):
    host: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, le=65535)
    tiles: str | None = None
    """URL template of an online tile server; none is contacted unless this is set."""
    tiles_attribution: str = "© OpenStreetMap contributors"
    certificate: Path | None = None
    """Certificate chain (PEM): with it the pages are served over HTTPS only."""
    private_key: Path | None = None
    public_url: str | None = Field(default=None, pattern=r"^https?://[^/\s]+$")
    """The address at which people reach the pages, where it is not this one (a proxy's)."""
    trusted_proxies: int = Field(default=0, ge=0, le=10)
    """How many proxies stand before us and say in `X-Forwarded-…` who asks."""
    connections: int = Field(default=2_000, ge=10, le=50_000)
    """How many may be open at once."""
    connections_per_address: int = Field(default=250, ge=1)
    """How many of one address, or requests under way of one behind a trusted proxy; this
    machine and the proxies themselves have no limit of their own."""
    head_seconds: float = Field(default=20, gt=0)
    """How long the head of a request may take to come."""
    body_seconds: float = Field(default=60, gt=0)
    """How long its body may take."""
    idle_seconds: float = Field(default=75, gt=0)
    """How long a connection may stay open without a request."""
    send_seconds: float = Field(default=60, gt=0)
    """How long a client may take nothing of an answer."""
    links: Links = Links()

    @model_validator(mode="after")
    def _both_or_none(self) -> Web:
        if (self.certificate is None) != (self.private_key is None):
            raise ValueError("web.certificate and web.private_key belong together; set both")
        return self

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach the pages over HTTPS."""
        return self.certificate is not None or (self.public_url or "").startswith("https:")

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches the pages."""
        return self.host.startswith(_LOOPBACK) or self.host == "::1"


class People(Section):
    """Accounts."""

    demo_user: bool = False
    """Who is not logged in is the user `demo`, in all roles; only on loopback."""
    sign_up: Literal["open", "invited", "closed"] = "open"
    private: bool = False
    """Nothing of the city is shown to who is not logged in."""
    login_hours: float = Field(default=24 * 14, gt=0)
    two_factor: tuple[Literal["host", "developer", "admin"], ...] = ()
    """Roles in which only who has set up two-factor sign-in may act."""
    rate_limits: bool = True

    @field_validator("two_factor", mode="before")
    @classmethod
    def _list(cls, given: object) -> object:
        return _separated(given)


class SignIn(Section):
    """A provider of identities (OpenID Connect) at which people log in, beside accounts with
    passwords."""

    issuer: str | None = Field(default=None, pattern=r"^https?://[^\s?#]+$")
    """Its address, as it calls itself; None: there is none."""
    client_id: str = ""
    client_secret: str | None = None
    name: str = Field(default="", max_length=40)
    """What the button says; default: the issuer's host."""
    scopes: tuple[str, ...] = ("openid", "profile")
    roles_claim: str = ""
    """Where its claims say what somebody may, such as `groups` or `realm_access.roles`."""
    roles: tuple[str, ...] = ()
    """`VALUE=ROLE`: who has this value has this role here, at each login anew."""
    accounts: Literal["made", "known"] = "made"
    """Whether who comes for the first time gets an account, or has to link one that is there."""
    passwords: bool = True
    """Whether people log in with passwords, too."""

    @field_validator("scopes", "roles", mode="before")
    @classmethod
    def _list(cls, given: object) -> object:
        return _separated(given)

    @model_validator(mode="after")
    def _whole(self) -> SignIn:
        if self.issuer is None:
            if not self.passwords:
                raise ValueError("sign_in.passwords is off, but there is no sign_in.issuer")
            return self
        host = urlsplit(self.issuer).hostname or ""
        if not self.issuer.startswith("https:") and not host.startswith(_LOOPBACK):
            raise ValueError(f"sign_in.issuer is {self.issuer}: expected https://")
        if not self.client_id:
            raise ValueError("sign_in.issuer is set, but not sign_in.client_id")
        if "openid" not in self.scopes:
            raise ValueError("sign_in.scopes has to have `openid`")
        if self.roles and not self.roles_claim:
            raise ValueError("sign_in.roles is set, but not sign_in.roles_claim")
        for text in self.roles:
            value, _, role = text.rpartition("=")
            if not value or role not in ("user", "host", "developer", "admin"):
                raise ValueError(
                    f"sign_in.roles: `{text}` is not VALUE=ROLE, with user, host, developer or "
                    "admin as the role"
                )
        return self

    @property
    def shown(self) -> str:
        """What people know the provider by."""
        return self.name or urlsplit(self.issuer or "").hostname or ""


class History(Section):
    """For how many days readings, their roll-ups and events are kept (docs/history.md); a kind's
    file may say otherwise of its readings."""

    readings: float = Field(default=31, ge=0)
    """As they were measured; 0: not at all."""
    minutes: float = Field(default=92, ge=0)
    """Roll-ups of five minutes."""
    hours: float = Field(default=731, ge=0)
    days: float = Field(default=7310, ge=0)
    events: float = Field(default=3655, gt=0)
    """Events that are over."""


class Outgoing(Section):
    """What leaves as MQTT topics beside events (docs/outgoing.md)."""

    readings: bool = False
    """Whether each reading of a public kind does."""


class Webhooks(Section):
    """How changes are posted to subscribers (docs/outgoing.md)."""

    allow: tuple[str, ...] = ()
    """Hosts, or HOST:PORT, that may be inside our networks and without TLS."""
    timeout_s: float = Field(default=10, gt=0, le=60)
    """How long a receiver may take to answer."""
    first_retry_s: float = Field(default=1, gt=0)
    longest_retry_s: float = Field(default=600, gt=0)
    """Between two tries: twice as long each time, up to this."""
    give_up_hours: float = Field(default=6, gt=0)
    """After so long a change is put among the undelivered; after half of
    `pipeline.trace_retention_hours` at the latest."""
    workers: int = Field(default=8, ge=1, le=64)
    """How many receivers are sent to at once."""

    @field_validator("allow", mode="before")
    @classmethod
    def _list(cls, given: object) -> object:
        return _separated(given)


class Mail(Section):
    """The mail server by which letters to people leave (docs/notices.md)."""

    host: str | None = None
    """None: there are no letters."""
    port: int = Field(default=587, ge=1, le=65535)
    security: Literal["none", "starttls", "tls"] = "starttls"
    ca: Path | None = None
    """Certificates (PEM) that the mail server's is checked against; default: the system's."""
    username: str | None = None
    password: str | None = None
    sender: str | None = Field(default=None, pattern=r"^[^@\s<>\"]+@[^@\s<>\"]+$")
    """The address that letters come from."""
    sender_name: str = Field(default="Citywise", min_length=1, max_length=80, pattern=r"^[^\r\n]+$")
    per_hour: int = Field(default=12, ge=1, le=1000)
    """How many letters with alerts one person gets in an hour; what is more waits for the next."""
    timeout_s: float = Field(default=20, gt=0, le=120)
    """How long the mail server may take for each of its answers."""
    first_retry_s: float = Field(default=60, gt=0)
    longest_retry_s: float = Field(default=3600, gt=0)
    """Between two tries: twice as long each time, up to this."""
    give_up_hours: float = Field(default=24, gt=0)
    """A letter that is older is given up, and shown to operators."""
    workers: int = Field(default=2, ge=1, le=16)
    """How many letters are handed over at once."""

    @model_validator(mode="after")
    def _whole(self) -> Mail:
        if self.host is not None and self.sender is None:
            raise ValueError(
                "mail.host is set but not mail.sender: mail needs the address it comes from"
            )
        if (self.username is None) != (self.password is None):
            raise ValueError("mail.username and mail.password belong together; set both")
        if self.password is not None and self.security == "none":
            raise ValueError(
                "mail.password would be sent unencrypted: set mail.security to starttls or tls"
            )
        return self


class Fetching(Section):
    """What sources and layers are fetched from (docs/connectors.md)."""

    allow: tuple[str, ...] = ()
    """Hosts, or HOST:PORT, that may be on the machine's own link (169.254.0.0/16, fe80::/10)."""

    @field_validator("allow", mode="before")
    @classmethod
    def _list(cls, given: object) -> object:
        return _separated(given)


class Start(Section):
    """How long a start may take. Who gets on is waited for."""

    patience_s: float = Field(default=180, gt=0)
    """A start ends when nothing that it waits for has got on for so long."""
    limit_s: float = Field(default=3600, gt=0)
    """A start ends after so long, whatever gets on."""


class Settings(Section):
    """All settings of a running system. Paths are relative to the working directory."""

    model_config = ConfigDict(extra="allow")  # sections of apps

    data_dir: Path = Path(".citywise/data")
    database: str | None = None
    """SQLAlchemy URL; default: SQLite in `data_dir`."""
    broker: Broker = Broker()
    ingest: Ingest = Ingest()
    pipeline: Pipeline = Pipeline()
    kinds: KindFiles = KindFiles()
    apps: Apps = Apps()
    city: City = City()
    web: Web = Web()
    people: People = People()
    sign_in: SignIn = SignIn()
    history: History = History()
    outgoing: Outgoing = Outgoing()
    webhooks: Webhooks = Webhooks()
    mail: Mail = Mail()
    fetching: Fetching = Fetching()
    start: Start = Start()
    sources: tuple[Source, ...] = ()

    @field_validator("sources")
    @classmethod
    def _sources_are_told_apart(cls, given: tuple[Source, ...]) -> tuple[Source, ...]:
        names = [source.name for source in given]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"two sources are called `{min(twice)}`; rename one")
        return given

    @model_validator(mode="after")
    def _others_are_sections(self) -> Settings:
        for name, value in self.of_apps.items():
            if not isinstance(value, dict | BaseModel):
                raise ValueError(f"`{name}`: there is no such setting, and no section of it")
        return self

    @property
    def of_apps(self) -> dict[str, Any]:
        """What stands in sections that are not Citywise's own, by name."""
        return self.model_extra or {}

    def open_database(self) -> Engine:
        """The database; each process opens it once."""
        from citywise.backend.store.database import create_engine_for

        return create_engine_for(self.database_url)

    def section(self, name: str, model: type[OfApp]) -> OfApp:
        """What stands in the section of an app, or its defaults."""
        found = self.of_apps.get(name, {})
        return found if isinstance(found, model) else model.model_validate(found)

    @model_validator(mode="after")
    def _demo_stays_at_home(self) -> Settings:
        web = self.web
        elsewhere = {
            "web.host": None if web.is_local else web.host,
            "web.public_url": web.public_url,
            "web.trusted_proxies": web.trusted_proxies or None,
        }
        for name, value in elsewhere.items():
            if self.people.demo_user and value is not None:
                raise ValueError(
                    f"people.demo_user is set, but {name} is {value}: everybody who reaches it "
                    "would be an admin; remove people.demo_user and sign up"
                )
        return self

    @model_validator(mode="after")
    def _executors_can_read(self) -> Settings:
        if not self.pipeline.is_local and not self.ingest.serve_port:
            raise ValueError(
                f"pipeline.master is {self.pipeline.master}, but the log is not served to its "
                "executors: set ingest.serve_host, ingest.serve_port and ingest.serve_token "
                "(docs/deployment.md)"
            )
        return self

    @model_validator(mode="after")
    def _executors_can_reach_the_driver(self) -> Settings:
        master, host = self.pipeline.master, self.pipeline.cluster.driver_host
        elsewhere = not master.removeprefix("spark://").startswith(_LOOPBACK)
        if not self.pipeline.is_local and elsewhere and host.startswith(_LOOPBACK):
            raise ValueError(
                f"pipeline.master is {master}, but executors elsewhere cannot reach the driver "
                f"at {host}: set pipeline.cluster.driver_host to this machine's address"
            )
        return self

    @property
    def writes_to_people(self) -> bool:
        """Whether people are written to by e-mail: there is a mail server, and an address for
        the links in letters."""
        return self.mail.host is not None and self.web.public_url is not None

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data_dir.resolve() / 'citywise.db'}"

    @property
    def log_dir(self) -> Path:
        return self.data_dir / "log"

    @property
    def city_dir(self) -> Path:
        """The road network and the named places (`apps.travel_planner.roads.cityfiles`)."""
        return self.city.folder or self.data_dir / "city"

    @property
    def keys_dir(self) -> Path:
        """The keys of what is personal in the log (`backend.ingest.keyring`)."""
        return self.data_dir / "keys"


def load(path: Path | None = None) -> Settings:
    """Read settings from a TOML file; `CITYWISE_SET__BROKER__PORT=1883` overrides a value.

    Raises `SettingsError` naming the file, line and key (or the variable), and what was expected.
    """
    given = _Given(path)
    try:
        settings = Settings.model_validate(given.values)
    except ValidationError as error:
        raise given.wrong(error) from error
    if settings.of_apps:
        from citywise.backend.packs import sections  # Few have any, and it loads the apps.

        for name in settings.of_apps:
            try:
                sections.check(settings, name)
            except ValidationError as error:
                raise given.wrong(error, name) from error
            except SettingsError as error:
                raise given.fault((name,), str(error)) from error
    return settings


class _Given:
    """What file and environment say, and where."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._text = path, _text(path)
        self._variables: dict[tuple[str, ...], str] = {}
        try:
            self.values: dict[str, Any] = tomllib.loads(self._text)
        except (ValueError, RecursionError) as error:
            raise SettingsError(f"{path}: not valid TOML: {error}") from error
        for name, text in os.environ.items():
            if name.startswith("CITYWISE_SET__"):
                self._override(name, text)

    def _override(self, name: str, text: str) -> None:
        *sections, key = name.removeprefix("CITYWISE_SET__").lower().split("__")
        target = self.values
        for section in sections:
            target = target.setdefault(section, {})
            if not isinstance(target, dict):
                raise SettingsError(f"{name}: `{section}` is a value, no section")
        target[key] = text
        self._variables[*sections, key] = name

    def wrong(self, error: ValidationError, section: str | None = None) -> SettingsError:
        """The first of what is wrong, in a section if it is one of an app's."""
        first = error.errors(include_url=False)[0]
        key = tuple(map(str, first["loc"]))
        return self.fault((section, *key) if section else key, first["msg"])

    def fault(self, key: tuple[str, ...], message: str) -> SettingsError:
        """What is wrong with a value, where it stands."""
        from citywise.backend.packs.toml_places import Places

        named = ".".join(key) or "settings"
        if variable := self._variables.get(key):
            return SettingsError(f"{variable}: {named}: {message}")
        if self._path is None:
            return SettingsError(f"environment: {named}: {message}")
        line = Places(self._text, str(self._path)).location(key).line
        return SettingsError(f"{self._path}:{line}: {named}: {message}")


def _text(path: Path | None) -> str:
    try:
        return "" if path is None else path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from error
