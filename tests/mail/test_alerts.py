"""Alerts by e-mail: to whom, what they say, how often, and what becomes of those refused."""

from __future__ import annotations

import sqlite3
import ssl
import threading
from pathlib import Path

import pytest
from sqlalchemy import Engine, update
from sqlalchemy.exc import OperationalError

from citywise.backend.mail import addresses, letters
from citywise.backend.mail.wording import TEXTS, texts
from citywise.backend.network import certificates
from citywise.backend.network.addresses import Names
from citywise.backend.store.models import MailAddressRow
from tests.api.browsers import PASSWORD, Browser
from tests.mail.conftest import SITE, Post, alert, confirm, text_of, wants
from tests.mail.mail_server import ECHOED, Box, served
from tests.ports import nobody_at

HOUR_MS = 3_600_000
pytestmark = pytest.mark.usefixtures("city")


def test_an_alert_is_written_in_text_and_html_with_a_link_to_it(post: Post, anna: Browser) -> None:
    wants(post, anna)
    alert(post, anna, "jam-1")
    (mail,) = post.deliver()
    assert mail["From"] == "Citywise <city@city.example>"
    assert mail["To"].addresses[0].addr_spec == "anna@example.org"
    assert mail["Subject"] == "Jam ahead: Viborgvej in 420 m"
    assert mail["Auto-Submitted"] == "auto-generated"
    text, html = text_of(mail), text_of(mail, "html")
    assert f"{SITE}/list?notice=" in text
    assert f"{SITE}/list?notice=" in html
    assert '<html lang="en">' in html
    assert "<img" not in html


def test_nothing_is_written_that_was_not_asked_for(post: Post, anna: Browser) -> None:
    alert(post, anna, "jam-1")  # by default nothing comes by e-mail
    wants(post, anna, **{"from": 4})
    alert(post, anna, "jam-2", criticality=3)
    wants(post, anna, apps=["another_app"])
    alert(post, anna, "jam-3", criticality=5)
    assert post.deliver() == []
    assert post.letters() == []


def test_it_is_in_the_language_in_which_the_address_was_given(
    post: Post, anna: Browser, engine: Engine
) -> None:
    with engine.begin() as connection:
        addresses.speak(connection, anna.user, "da")
    wants(post, anna)
    alert(post, anna, "jam-1")
    (mail,) = post.deliver()
    assert mail["Content-Language"] == "da"
    assert "Du har bedt om at få denne besked på e-mail." in text_of(mail)


def test_several_alerts_are_one_letter_and_those_that_are_over_are_none(
    post: Post, anna: Browser
) -> None:
    wants(post, anna)
    alert(post, anna, "jam-1", "jam-2", "jam-3")
    alert(post, anna, "jam-2", kind="closed")
    (mail,) = post.deliver()
    assert mail["Subject"] == "Jam ahead, and 1 more"
    assert text_of(mail).count("/list?notice=") == 2
    alert(post, anna, "jam-4")
    alert(post, anna, "jam-4", kind="closed")
    assert post.deliver() == []


def test_what_is_too_much_for_an_hour_stands_in_the_next_letter(post: Post, anna: Browser) -> None:
    wants(post, anna)
    for n in range(5):
        alert(post, anna, f"jam-{n}")
        assert len(post.deliver()) == (1 if n < 3 else 0)
    post.pass_ms(HOUR_MS)
    (mail,) = post.deliver()
    assert text_of(mail).count("/list?notice=") == 2


def test_a_letter_can_be_ended_from_the_mail_program_with_one_click(
    post: Post, anna: Browser
) -> None:
    """RFC 8058: a POST to the address in the head, without a cookie; nothing else ends."""
    wants(post, anna)
    alert(post, anna, "jam-1")
    (mail,) = post.deliver()
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    path = "/" + mail["List-Unsubscribe"].strip("<>").removeprefix(SITE)
    program = Browser.of_nobody(anna)
    assert program.get(path).status_code == 200  # a scanner of links ends nothing
    assert anna.get("/me/wishes").json["channels"]["email"] is not None
    alert(post, anna, "jam-2")
    answer = program.client.post(path[1:], data={"List-Unsubscribe": "One-Click"})
    assert answer.status_code == 200
    wishes = anna.get("/me/wishes").json
    assert wishes["channels"] == {"browser": True, "mqtt": True, "email": None}
    alert(post, anna, "jam-3")
    assert post.deliver() == []
    assert anna.get("/me/mail").json["address"] == "anna@example.org"
    unknown = program.client.post("/unsubscribe/guessed", data={})
    assert "not valid" in unknown.text


def test_an_address_that_refuses_for_now_waits_longer_each_time_and_holds_up_no_other(
    post: Post, anna: Browser
) -> None:
    bob = Browser(anna.client.application.test_client())
    bob.sign_up("Bob")
    confirm(bob, post, "bob@example.org")
    move(post, anna, "grey@example.org")
    for each in (anna, bob):
        wants(post, each)
        alert(post, each, "jam-1")
    assert [mail["To"].addresses[0].addr_spec for mail in post.deliver()] == ["bob@example.org"]
    waits: list[int] = []
    for _ in range(4):
        (letter,) = post.letters()
        assert letter.error == "451 4.7.1 greylisted, come back later"
        waits.append(letter.due_ms - letter.created_ms - sum(waits))
        post.pass_ms(letter.due_ms - letter.created_ms)
        assert post.deliver() == []
    assert waits[0] < waits[1] < waits[3]
    move(post, anna, "anna@example.org")  # the server knows it by now
    post.pass_ms(HOUR_MS)
    assert len(post.deliver()) == 1
    assert post.letters() == []


def test_who_is_refused_for_too_long_is_given_up_and_shown_to_operators(
    post: Post, anna: Browser
) -> None:
    move(post, anna, "grey@example.org")
    wants(post, anna)
    alert(post, anna, "jam-1")
    post.deliver()
    post.pass_ms(25 * HOUR_MS)
    post.deliver()
    (letter,) = post.letters()
    assert (letter.due_ms, letter.tries) == (None, 2)
    assert anna.get("/me/mail").json["error"] is None


def test_an_address_that_is_none_is_written_to_no_more_and_its_person_hears_why(
    post: Post, anna: Browser
) -> None:
    move(post, anna, "nobody@example.org")
    wants(post, anna)
    alert(post, anna, "jam-1")
    post.deliver()
    (letter,) = post.letters()
    assert (letter.due_ms, letter.error) == (None, "550 5.1.1 no such mailbox")
    assert anna.get("/me/mail").json["error"] == "550 5.1.1 no such mailbox"
    alert(post, anna, "jam-2")
    post.deliver()
    assert len(post.letters()) == 1


def test_a_server_that_blocks_us_for_a_while_costs_nobody_their_address(
    post: Post, anna: Browser, box: Box
) -> None:
    wants(post, anna)
    box.is_blocked = True
    alert(post, anna, "jam-1")
    assert post.deliver() == []
    assert anna.get("/me/mail").json["error"] is None
    box.is_blocked = False
    post.hurry()
    assert len(post.deliver()) == 1


def test_letters_wait_for_a_server_that_takes_no_more_of_us(
    post: Post, anna: Browser, box: Box
) -> None:
    wants(post, anna)
    box.quota = len(box.mails)
    alert(post, anna, "jam-1")
    assert post.deliver() == []
    assert "5.4.5" in (post.postman.error or "")
    (letter,) = post.letters()
    assert (letter.tries, letter.due_ms is None) == (0, False)


def test_a_new_address_that_is_none_leaves_the_one_before(post: Post, anna: Browser) -> None:
    wants(post, anna)
    new = {"address": ECHOED, "password": PASSWORD}
    assert anna.put("/me/mail", new).status_code == 202
    assert post.deliver() == []
    assert anna.get("/me/mail").json["error"] is None
    (letter,) = post.letters()
    assert letter.error == "550 5.1.1 <…>: no such mailbox"  # operators see it
    alert(post, anna, "jam-1")
    assert len(post.deliver()) == 1


def test_a_letter_of_which_nobody_could_note_that_it_left_leaves_once(
    post: Post, anna: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    wants(post, anna)
    alert(post, anna, "jam-1")

    def full(*_given: object) -> None:
        raise OperationalError("DELETE", {}, sqlite3.OperationalError("disk is full"))

    with monkeypatch.context() as during:
        during.setattr(letters, "drop", full)
        before = len(post.box.mails)
        post.postman.step()
        for _ in range(3):
            with pytest.raises(OperationalError):
                post.postman.step()
    assert len(post.box.mails) == before + 1
    assert post.deliver() == []
    assert post.letters() == []


def test_where_the_server_hangs_up_what_it_took_is_not_sent_again(
    post: Post, anna: Browser, box: Box
) -> None:
    wants(post, anna)
    box.left = 0
    alert(post, anna, "jam-1")
    assert post.deliver()  # it was taken, but not a word said of it
    (letter,) = post.letters()
    assert letter.tries == 1
    identity = box.mails[-1]["Message-ID"]
    post.hurry()
    (again,) = post.deliver()
    assert again["Message-ID"] == identity  # so that a reader keeps one


def test_a_server_that_never_answers_is_left_after_a_while(
    post: Post, anna: Browser, box: Box
) -> None:
    wants(post, anna)
    alert(post, anna, "jam-1")
    box.is_deaf = True
    post.another(timeout_s=0.2).step()
    (letter,) = post.letters()
    assert letter.tries == 1
    assert "timed out" in (letter.error or "")


def test_a_server_that_is_away_costs_no_letter_a_try(post: Post, anna: Browser) -> None:
    wants(post, anna)
    alert(post, anna, "jam-1")
    with nobody_at() as port:
        away = post.another(port=port)
        assert away.step()
    assert away.error is not None
    assert f":{port} cannot be used" in away.error
    assert [letter.tries for letter in post.letters()] == [0]
    assert not away.step()  # it waits before it asks again
    assert len(post.deliver()) == 1


def test_a_server_with_a_certificate_that_nobody_vouches_for_gets_nothing(
    post: Post, anna: Browser, tmp_path: Path
) -> None:
    issued = certificates.issued(tmp_path, Names(frozenset({"localhost"})))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(issued.certificate, issued.private_key)
    wants(post, anna)
    alert(post, anna, "jam-1")
    other = Box()
    with served(other, tls_context=context) as port:
        refused = post.another(host="localhost", port=port, security="starttls")
        refused.step()
    assert other.mails == []
    assert "no encrypted connection" in str(refused.error)
    assert [letter.tries for letter in post.letters()] == [0]


def test_no_name_adds_a_line_to_the_head_nor_a_tag_to_the_page(post: Post, anna: Browser) -> None:
    wants(post, anna)
    evil = "A\r\nBcc: x@example.org\r\n\r\n<script>alert(1)</script>\u2028&"
    alert(post, anna, "jam-1", about_name=evil)
    (mail,) = post.deliver()
    assert mail["Bcc"] is None
    assert len(mail["To"].addresses) == 1
    assert "Bcc" in mail["Subject"]
    assert "<script>" not in text_of(mail, "html")
    assert "&lt;script&gt;" in text_of(mail, "html")


def test_alerts_from_before_the_first_start_are_not_written(post: Post, anna: Browser) -> None:
    wants(post, anna)
    alert(post, anna, "jam-1")
    with post.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM followers")
    assert post.deliver() == []


def test_who_stops_does_not_wait_for_a_server_that_takes_long(
    post: Post, anna: Browser, box: Box
) -> None:
    wants(post, anna)
    alert(post, anna, "jam-1")
    box.is_deaf = True
    working = threading.Thread(target=post.postman.step)
    working.start()
    post.stop.set()
    working.join(10)
    assert not working.is_alive()
    assert len(post.letters()) == 1


@pytest.mark.parametrize("language", ["da", "de"])
def test_every_language_has_every_text_with_the_same_values(language: str) -> None:
    english, other = texts("en"), texts(language)
    own = (TEXTS / f"{language}.json").read_text(encoding="utf-8")
    assert [key for key in english if f'"{key}"' not in own] == []
    names = {key: set(values(text)) for key, text in english.items()}
    assert {key: set(values(text)) for key, text in other.items()} == names


def values(text: str) -> list[str]:
    return [part.partition("}")[0] for part in text.split("{")[1:]]


def move(post: Post, anna: Browser, address: str) -> None:
    """Have anna be written to elsewhere."""
    with post.engine.begin() as connection:
        row = MailAddressRow
        moved = update(row).where(row.account == anna.user).values(address=address)
        connection.execute(moved)
