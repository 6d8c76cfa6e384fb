"""Alerts by Web Push: a push service that checks who sends, and a browser that decrypts."""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from flask import Flask
from joserfc import jwt
from joserfc.jwk import ECKey
from sqlalchemy import Engine, insert, select, update

from citywise.backend.network import certificates
from citywise.backend.outgoing import subscriptions, web_push
from citywise.backend.outgoing.pushing import Sending
from citywise.backend.outgoing.web_push import bytes_of, text_of
from citywise.backend.outgoing.webhooks import Sender
from citywise.backend.settings import Settings, Webhooks
from citywise.backend.store.models import OutboxRow, SubscriptionRow
from citywise.backend.times import wall_ms
from tests.api.accounts_alone import quick as quick
from tests.api.browsers import Browser
from tests.api.conftest import app as app
from tests.api.conftest import engine as engine
from tests.notices.booked import wish
from tests.outgoing.receiving import Receiver, receiving

CONTACT = "mailto:city@city.example"
CURVE = ec.SECP256R1()


@dataclass
class Phone:
    """A browser's side, written from RFC 8291 and RFC 8188 with no code of ours."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(CURVE))
    auth: bytes = field(default_factory=lambda: os.urandom(16))

    @property
    def point(self) -> bytes:
        numbers = self.key.public_key().public_numbers()
        return b"\x04" + numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big")

    def keys(self) -> dict[str, str]:
        return {"p256dh": text_of(self.point), "auth": text_of(self.auth)}

    def read(self, body: bytes) -> bytes:
        salt, length = body[:16], body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        assert len(sealed) <= int.from_bytes(body[16:20], "big")
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, sender)
        shared = self.key.exchange(ec.ECDH(), theirs)
        info = b"WebPush: info\0" + self.point + sender
        secret = self._hkdf(self.auth, shared, info, 32)
        key = self._hkdf(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
        nonce = self._hkdf(salt, secret, b"Content-Encoding: nonce\0", 12)
        text = AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\0")
        assert text[-1:] == b"\x02"
        return text[:-1]

    @staticmethod
    def _hkdf(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
        once = hmac.digest(salt, secret, "sha256")
        return hmac.digest(once, info + b"\x01", "sha256")[:length]


def private(text: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(bytes_of(text), "big"), CURVE)


def test_a_message_is_that_of_the_standard() -> None:
    """RFC 8291, appendix A."""
    browser = web_push.Browser.of(
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
    )
    own = private("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
    text = b"When I grow up, I want to be a watermelon"
    found = web_push.encrypted(text, browser, own, bytes_of("DGv6ra1nlYgDCS1FRnbzlw"))
    assert text_of(found) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS"
        "6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qu"
        "lcy4a-fN"
    )


def test_only_the_browser_reads_it_and_no_two_messages_are_alike() -> None:
    phone, other = Phone(), Phone()
    browser = web_push.Browser.of(**phone.keys())
    one, two = (web_push.encrypted(b"Jam ahead", browser) for _ in range(2))
    assert one != two
    assert phone.read(one) == phone.read(two) == b"Jam ahead"
    assert b"Jam" not in one
    with pytest.raises(InvalidTag):
        other.read(one)


def test_what_is_told_fits_into_one_record_however_long_it_is() -> None:
    notice = {"id": "n" * 300, "title": "ø" * 500, "text": "ø" * 5000}
    phone = Phone()
    found = web_push.encrypted(web_push.told(notice, "da"), web_push.Browser.of(**phone.keys()))
    assert len(found) < 4096
    assert orjson.loads(phone.read(found))["text"].startswith("øø")


def test_the_key_is_made_once_kept_from_others_and_found_again(tmp_path: Path) -> None:
    first = web_push.public(web_push.key_in(tmp_path / "tls"))
    assert web_push.public(web_push.key_in(tmp_path / "tls")) == first
    (file,) = (tmp_path / "tls").iterdir()
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "keys", [{"p256dh": "AAAA", "auth": "AAAA"}, {"p256dh": "?", "auth": "?"}, {"auth": ""}]
)
def test_keys_that_are_none_are_refused(keys: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"base64url|bytes|Unsupported"):
        web_push.Browser.of(keys.get("p256dh", text_of(b"\x05" * 65)), keys["auth"])


# --- A system, a push service, a phone -----------------------------------------------------------


@pytest.fixture
def service() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def settings(tmp_path: Path, service: Receiver) -> Settings:
    return Settings(data_dir=tmp_path, webhooks=_quick(service))


def _quick(service: Receiver) -> Webhooks:
    return Webhooks(allow=(service.address,), first_retry_s=0.001, longest_retry_s=0.002)


@pytest.fixture
def anna(app: Flask) -> Browser:
    browser = Browser.of(app)
    browser.sign_up("Anna")
    return browser


def taken(anna: Browser, service: Receiver, phone: Phone, name: str = "hook") -> Any:
    endpoint = service.url.replace("hook", name)
    answer = anna.post("/me/push", {"endpoint": endpoint, "keys": phone.keys()})
    assert answer.status_code == 201, answer.json
    return answer.json


def alerted(engine: Engine, user: str, name: str, age_s: float = 0, **more: Any) -> None:
    created = wall_ms() - round(1000 * age_s)
    words = {
        "en": {"title": "Jam ahead", "text": "Ringgade"},
        "da": {"title": "Kø", "text": "Ring"},
    }
    body = {"id": name, **words["en"], "translations": words, "alert": True, **more}
    row = {"t_ms": 0, "kind": "notice", "user": user, "created_ms": created, "body": body}
    with engine.begin() as connection:
        connection.execute(insert(OutboxRow), row)


def sent(engine: Engine, settings: Settings, done: Any) -> None:
    folder = certificates.folder_of(settings.data_dir)
    work = Sender(engine, settings.webhooks, 86_400, push=Sending(folder, CONTACT))
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        work.step()
        time.sleep(0.002)
    work.close()


def test_an_alert_reaches_the_phone_and_the_push_service_knows_who_sends(
    anna: Browser, engine: Engine, settings: Settings, service: Receiver
) -> None:
    phone = Phone()
    key = anna.get("/me/push").json["key"]
    taken(anna, service, phone)
    alerted(engine, anna.user, "silent", alert=False)
    alerted(engine, "u-somebody-else", "not-hers")
    alerted(engine, anna.user, "old", age_s=2 * 3600)
    alerted(engine, anna.user, "jam-1")
    sent(engine, settings, lambda: service.bodies)
    (body,), (head,) = service.bodies, service.headers
    assert orjson.loads(phone.read(body)) == {
        "id": "jam-1", "title": "Jam ahead", "text": "Ringgade", "lang": "en",
    }  # fmt: skip
    assert (head["content-encoding"], head["ttl"]) == ("aes128gcm", "3600")
    assert len(head["topic"]) <= 32
    assert "jam" not in str(head)
    scheme, _, rest = head["authorization"].partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    assert (scheme, parts["k"]) == ("vapid", key)
    point = bytes_of(key)
    jwk: Any = {"kty": "EC", "crv": "P-256", "x": text_of(point[1:33]), "y": text_of(point[33:])}
    claims = jwt.decode(parts["t"], ECKey.import_key(jwk), algorithms=["ES256"]).claims
    assert claims["aud"] == f"http://{service.address}"
    assert 0 < claims["exp"] - time.time() <= 24 * 3600
    assert claims["sub"] == CONTACT


@pytest.mark.parametrize("status", [404, 410])
def test_a_browser_that_takes_no_more_is_forgotten(
    anna: Browser, engine: Engine, settings: Settings, service: Receiver, status: int
) -> None:
    taken(anna, service, Phone())
    service.answer = lambda _number: status
    alerted(engine, anna.user, "jam-1")
    sent(engine, settings, lambda: not anna.get("/me/push").json["browsers"])


def test_a_push_service_that_is_away_is_tried_again_and_said(
    anna: Browser, engine: Engine, settings: Settings, service: Receiver
) -> None:
    phone = Phone()
    taken(anna, service, phone)
    service.answer = lambda number: 503 if number < 3 else 201
    alerted(engine, anna.user, "jam-1")
    sent(engine, settings, lambda: anna.get("/me/push").json["browsers"][0]["error"])
    assert anna.get("/me/push").json["browsers"][0]["error"] == "status 503"
    sent(engine, settings, lambda: service.bodies)
    assert len(service.bodies) == 1


def test_who_wants_no_notifications_of_browsers_is_pushed_none(
    anna: Browser, engine: Engine, settings: Settings, service: Receiver
) -> None:
    taken(anna, service, Phone())
    wish(engine, anna.user, channels={"browser": False})
    alerted(engine, anna.user, "jam-1")
    position = select(SubscriptionRow.position)

    def passed() -> bool:
        with engine.connect() as connection:
            return bool(connection.scalar(position))

    with engine.begin() as connection:
        connection.execute(update(SubscriptionRow).values(position=0))
    folder = certificates.folder_of(settings.data_dir)
    work = Sender(engine, settings.webhooks, 86_400, push=Sending(folder, CONTACT))
    for _ in range(20):
        work.step()
        time.sleep(0.002)
    work.close()
    assert service.posts == 0
    assert not passed() or service.bodies == []


def test_the_same_browser_is_one_and_is_whose_it_was_last(
    app: Flask, anna: Browser, service: Receiver
) -> None:
    phone = Phone()
    first = taken(anna, service, phone)
    assert taken(anna, service, phone)["id"] == first["id"]
    bob = Browser.of(app)
    bob.sign_up("Bob")
    taken(bob, service, phone)
    assert anna.get("/me/push").json["browsers"] == []
    assert bob.get("/webhooks").json["webhooks"] == []
    assert anna.delete(f"/me/push/{first['id']}").status_code == 404
    assert bob.delete(f"/me/push/{first['id']}").status_code == 204
    digest = hashlib.sha256(service.url.encode()).hexdigest()
    assert first["id"] == f"w-{digest[:32]}"


def test_it_ends_with_the_login_that_gave_it(anna: Browser, service: Receiver) -> None:
    taken(anna, service, Phone())
    other = Browser(anna.client.application.test_client())
    other.log_in("Anna")
    taken(other, service, Phone(), "other")
    assert len(other.get("/me/push").json["browsers"]) == 2
    assert other.delete("/me/logins").json == {"ended": 1}
    (left,) = other.get("/me/push").json["browsers"]
    (login,) = other.get("/me/logins").json["logins"]
    assert other.delete(f"/me/logins/{login['id']}").status_code == 204
    again = Browser(anna.client.application.test_client())
    again.log_in("Anna")
    assert again.get("/me/push").json["browsers"] == []
    assert left["agent"] is not None


@pytest.mark.parametrize("endpoint", ["http://push.example/x", "https://127.0.0.1/x", "x"])
def test_nothing_is_pushed_to_addresses_inside_or_unencrypted(
    anna: Browser, engine: Engine, settings: Settings, endpoint: str
) -> None:
    answer = anna.post("/me/push", {"endpoint": endpoint, "keys": Phone().keys()})
    if answer.status_code == 201:  # https: where a name leads is looked at when it is sent to
        alerted(engine, anna.user, "jam-1")
        sent(engine, settings, lambda: anna.get("/me/push").json["browsers"][0]["error"])
        assert "not public" in anna.get("/me/push").json["browsers"][0]["error"]
    else:
        assert answer.json["errors"][0]["code"] == "bad-address"


def test_an_account_has_so_many_browsers_and_no_more(anna: Browser, service: Receiver) -> None:
    for n in range(subscriptions.MOST):
        taken(anna, service, Phone(), f"hook{n}")
    endpoint = f"{service.url}/more"
    answer = anna.post("/me/push", {"endpoint": endpoint, "keys": Phone().keys()})
    assert answer.status_code == 409
    assert [one.form for one in _of(anna, service)] == [subscriptions.PUSH] * subscriptions.MOST


def _of(anna: Browser, _service: Receiver) -> list[Any]:
    engine = anna.client.application.extensions["citywise"].engine
    with engine.connect() as connection:
        return subscriptions.of(connection, anna.user, subscriptions.PUSH)
