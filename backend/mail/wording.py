"""What letters say: a text and an HTML part, in the person's language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import orjson

from citywise.backend.mail.transport import addressed
from citywise.backend.settings import Mail
from citywise.backend.times import local, parse_ms

TEXTS = Path(__file__).parent / "texts"
_SUBJECT = 150
_FONT = "font-family:system-ui,sans-serif;line-height:1.5;color:#1c2321;max-width:36rem"
_BUTTON = (
    "display:inline-block;padding:.6rem 1rem;border-radius:.5rem;background:#12403c;"
    "color:#ffffff;text-decoration:none"
)


@dataclass(frozen=True)
class Item:
    """A thing that a letter lists, with the address that shows it."""

    title: str
    text: str
    when: str
    url: str


@dataclass(frozen=True)
class Written:
    """A letter in words; `unsubscribe` is the address that ends letters of its kind."""

    language: str
    subject: str
    paragraphs: Sequence[str]
    items: Sequence[Item] = ()
    button: tuple[str, str] | None = None
    foot: Sequence[str] = ()
    unsubscribe: str | None = None


class Asked(NamedTuple):
    """A letter of an app that is about to leave: to whom, what it is about, in which language, and
    the app's texts in it, by key."""

    account: str
    about: str
    language: str
    texts: Mapping[str, str]


@lru_cache(maxsize=16)
def texts(language: str) -> Mapping[str, str]:
    """The texts of letters; what a language lacks is English."""
    names = dict.fromkeys(("en", language))
    paths = [TEXTS / f"{name}.json" for name in names if name.isalnum()]
    read = [orjson.loads(path.read_bytes()) for path in paths if path.is_file()]
    return {key: text for table in read for key, text in table.items()}


class Words:
    """Writes the letters of one site to one person."""

    def __init__(self, site: str, name: str, language: str) -> None:
        self._site, self._language = site, language
        self._values = {"name": name, "site": urlsplit(site).netloc}

    def _t(self, key: str, **values: object) -> str:
        return texts(self._language)[key].format(**self._values, **values)

    def alerts(self, notices: Sequence[Mapping[str, Any]], secret: str, per_hour: int) -> Written:
        """Alerts, as the API shows their notices, the newest first; `secret` is that of the link
        which ends them."""
        items = [self._item(each) for each in notices]
        first, more = items[0], len(items) - 1
        form = "other" if more else "one"
        end = f"{self._site}/unsubscribe/{secret}"
        return Written(
            self._language,
            self._t(f"notice.subject.{form}", title=first.title, text=first.text, more=more),
            [self._t(f"notice.{form}", count=len(items))],
            items,
            foot=[
                self._t("notice.hour", count=per_hour),
                self._t("notice.settings", url=f"{self._site}/account#told"),
                self._t("notice.end", url=end),
            ],
            unsubscribe=end,
        )

    def _item(self, notice: Mapping[str, Any]) -> Item:
        time = _local(notice["opened"])
        url = f"{self._site}/list?notice={quote(notice['id'], safe='')}"
        title, text = str(notice["title"]), str(notice["text"])
        advice = notice.get("advice")
        if advice:
            text = f"{text}. {advice['text']}"
        return Item(title, text, self._t("notice.since", time=time), url)

    def link(self, purpose: str, path: str) -> Written:
        """A letter whose link does something once: `verify` or `reset`."""
        return self._plain(purpose, (self._t(f"{purpose}.do"), self._site + path))

    def word(self, purpose: str) -> Written:
        """A letter that says what has happened: `moved` or `done`."""
        return self._plain(purpose, None)

    def _plain(self, purpose: str, button: tuple[str, str] | None) -> Written:
        said = [self._t("hello"), self._t(f"{purpose}.text")]
        foot = [self._t(f"{purpose}.not", url=f"{self._site}/reset")]
        subject = self._t(f"{purpose}.subject")
        return Written(self._language, subject, said, button=button, foot=foot)


def message(written: Written, to: str, mail: Mail, identity: str) -> EmailMessage:
    """A letter as mail. `identity` is the same however often it is tried, so that of two that
    arrive a reader keeps one."""
    sender = mail.sender or ""
    found = EmailMessage()
    found["From"] = addressed(mail.sender_name, sender)
    found["To"] = addressed("", to)
    found["Subject"] = _line(written.subject)[:_SUBJECT]
    found["Date"] = formatdate()
    found["Message-ID"] = f"<{identity}@{sender.rpartition('@')[2]}>"
    found["Auto-Submitted"] = "auto-generated"
    if written.unsubscribe is not None:
        found["List-Unsubscribe"] = f"<{written.unsubscribe}>"
        if written.unsubscribe.startswith("https:"):  # RFC 8058, 3.1
            found["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    found.set_content(as_text(written))
    found.add_alternative(as_html(written), subtype="html")
    found["Content-Language"] = written.language
    return found


def as_text(written: Written) -> str:
    """The part for who reads no HTML."""
    items = [f"{_line(i.title)}\n{_line(i.text)}\n{i.when}\n{i.url}" for i in written.items]
    button = [f"{written.button[0]}:\n{written.button[1]}"] if written.button else []
    foot = ["-- ", "\n".join(written.foot)] if written.foot else []
    return "\n\n".join([*written.paragraphs, *items, *button, *foot]) + "\n"


def as_html(written: Written) -> str:
    """The part for all others: no picture, nothing loaded, nothing that counts who reads it."""
    parts = [f"<p>{escape(text)}</p>" for text in written.paragraphs]
    for item in written.items:
        parts.append(
            f'<h2 style="font-size:1.1rem;margin-bottom:0"><a href="{escape(item.url)}">'
            f"{escape(_line(item.title))}</a></h2>"
            f'<p style="margin-top:0">{escape(_line(item.text))}<br>{escape(item.when)}</p>'
        )
    if written.button:
        said, url = written.button
        parts.append(f'<p><a href="{escape(url)}" style="{_BUTTON}">{escape(said)}</a></p>')
    foot = "".join(f"<p>{_linked(text)}</p>" for text in written.foot)
    return (
        f'<!doctype html>\n<html lang="{escape(written.language)}"><head><meta charset="utf-8">'
        f"<title>{escape(_line(written.subject))}</title></head>\n"
        f'<body style="{_FONT}">{"".join(parts)}\n<hr>\n'
        f'<div style="font-size:.875rem;color:#4d5a56">{foot}</div></body></html>\n'
    )


def _linked(text: str) -> str:
    """A text whose last word may be an address."""
    said, _, url = text.rpartition(" ")
    if not url.startswith(("https://", "http://")):
        return escape(text)
    return f'{escape(said)} <a href="{escape(url)}">{escape(url)}</a>'


def _local(text: str) -> str:
    """A time of the API by the city's clock, in the order that all languages read."""
    return local(parse_ms(text)).strftime("%Y-%m-%d %H:%M")


def _line(text: str) -> str:
    """What is data stays on its line, whatever is written in it."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
