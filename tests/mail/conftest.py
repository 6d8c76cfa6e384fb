"""A system that writes to people, a mail server on this machine, and a person with an address."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Engine, select, update

from citywise.backend.mail.postman import Postman
from citywise.backend.settings import Mail, Settings, Web
from citywise.backend.store.models import LetterRow, MailAddressRow
from tests.api.accounts_alone import quick as quick
from tests.api.browsers import PASSWORD, Browser
from tests.api.conftest import app as app
from tests.api.conftest import engine as engine
from tests.api.conftest import town as town
from tests.api.templates import change, install, jam_ahead
from tests.api.town import Town
from tests.mail.mail_server import Box, served
from tests.notices.booked import apply, wish

SITE = "https://city.example"


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    box = Box()
    with served(box) as box.port:
        yield box


@pytest.fixture
def settings(tmp_path: Path, box: Box) -> Settings:
    box.mails.clear()
    box.left, box.quota, box.is_deaf, box.is_blocked = None, None, False, False
    mail = Mail(
        host="127.0.0.1", port=box.port, security="none", sender="city@city.example", per_hour=3
    )
    return Settings(data_dir=tmp_path, mail=mail, web=Web(public_url=SITE))


@dataclass
class Post:
    """The notifier's postman, with time that a test moves, and whoever reads the letters."""

    engine: Engine
    settings: Settings
    box: Box
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.postman = self.another()
        self.postman.step()

    def another(self, **how: Any) -> Postman:
        """A postman with other settings of mail."""
        mail = self.settings.mail.model_copy(update=how)
        settings = self.settings.model_copy(update={"mail": mail})
        return Postman(self.engine, settings, self.stop)

    def deliver(self) -> list[EmailMessage]:
        """Send what is due; the mails that arrived by that."""
        before = len(self.box.mails)
        while self.postman.step():
            pass
        return self.box.mails[before:]

    def letters(self) -> list[Any]:
        """What is waiting or was given up."""
        with self.engine.connect() as connection:
            return list(connection.execute(select(LetterRow.__table__).order_by(LetterRow.id)))

    def hurry(self) -> None:
        """Have all that waits be due."""
        with self.engine.begin() as connection:
            waiting = update(LetterRow).where(LetterRow.due_ms.is_not(None))
            connection.execute(waiting.values(due_ms=0))

    def pass_ms(self, passed: int) -> None:
        """Let time pass for all letters and hours."""
        with self.engine.begin() as connection:
            for column in ("due_ms", "created_ms"):
                value = {column: LetterRow.__table__.c[column] - passed}
                connection.execute(update(LetterRow).values(**value))
            earlier = {"hour_ms": MailAddressRow.__table__.c.hour_ms - passed}
            connection.execute(update(MailAddressRow).values(**earlier))


@pytest.fixture
def post(engine: Engine, settings: Settings, box: Box) -> Post:
    return Post(engine, settings, box)


def linked(mail: EmailMessage, path: str) -> str:
    """The secret of the link in a mail."""
    (line,) = [one for one in text_of(mail).split() if one.startswith(f"{SITE}{path}")]
    return line.removeprefix(f"{SITE}{path}")


def text_of(mail: EmailMessage, kind: str = "plain") -> str:
    body = mail.get_body((kind,))
    assert body is not None
    return str(body.get_content())


def confirm(browser: Browser, post: Post, address: str = "anna@example.org") -> None:
    """Give an address, and open the link in the letter to it."""
    answer = browser.put("/me/mail", {"address": address, "password": PASSWORD})
    assert answer.status_code == 202, answer.json
    mail = next(one for one in post.deliver() if one["To"].addresses[0].addr_spec == address)
    assert Browser.of_nobody(browser).post(
        "/mail/verified", {"secret": linked(mail, "/mail#")}
    ).json == {"address": address}


@pytest.fixture
def anna(app: Flask, post: Post) -> Browser:
    """Somebody whose address is confirmed."""
    browser = Browser.of(app)
    assert browser.sign_up("Anna").status_code == 201
    confirm(browser, post)
    return browser


@pytest.fixture
def city(town: Town) -> Town:
    town.running()
    install(town, jam_ahead())
    town.road("100", "Viborgvej")
    return town


def wants(post: Post, anna: Browser, **email: Any) -> None:
    """Have alerts come by e-mail, from the least important on."""
    wish(post.engine, anna.user, channels={"email": {"from": 1, **email}})


def alert(post: Post, anna: Browser, *names: str, kind: str = "opened", **more: Any) -> None:
    """Something happens to notices to anna."""
    instance = f"{anna.user}.jam_ahead"
    said = {"user": anna.user, "instance": instance, "about_name": "Viborgvej"}
    apply(post.engine, *(change(kind, about=name, **{**said, **more}) for name in names))
