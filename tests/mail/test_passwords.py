"""Addresses that are shown to be somebody's, and another password by a link sent there."""

from __future__ import annotations

import pytest
from flask import Flask
from sqlalchemy import select, update

from citywise.backend.mail import addresses
from citywise.backend.people import accounts
from citywise.backend.people.secret import digest
from citywise.backend.privacy import export, forgetting
from citywise.backend.store.models import (
    AccountRow,
    LetterRow,
    LoginRow,
    MailAddressRow,
    MailSecretRow,
)
from tests.api.browsers import PASSWORD, Browser
from tests.mail.conftest import Post, confirm, linked, text_of

FRESH = "four large ships in a storm"


def ask(browser: Browser, name: str) -> None:
    answer = browser.post("/password-reset", {"name": name})
    assert (answer.status_code, answer.json) == (202, {"minutes": 30})


def test_nothing_is_sent_to_an_address_that_was_not_shown_to_be_theirs(
    app: Flask, post: Post
) -> None:
    bob = Browser.of(app)
    bob.sign_up("Bob")
    bob.put("/me/mail", {"address": "bob@example.org", "password": PASSWORD})
    assert bob.get("/me/mail").json["wanted"] == "bob@example.org"
    (mail,) = post.deliver()
    assert "Bob" in text_of(mail)
    for name in ("Bob", "bob@example.org"):
        ask(Browser.of(app), name)
    assert post.deliver() == []


def test_a_link_shows_an_address_once_and_for_a_day(app: Flask, post: Post) -> None:
    bob = Browser.of(app)
    bob.sign_up("Bob")
    bob.put("/me/mail", {"address": "bob@example.org", "password": PASSWORD})
    (mail,) = post.deliver()
    secret = linked(mail, "/mail#")
    with post.engine.begin() as connection:
        connection.execute(update(MailSecretRow).values(expires_ms=1))
    late = bob.post("/mail/verified", {"secret": secret})
    assert late.json["errors"][0]["code"] == "link-over"
    confirm(bob, post, "bob@example.org")
    assert bob.post("/mail/verified", {"secret": secret}).status_code == 422


def test_an_address_needs_the_password_and_the_one_before_hears_of_it(
    anna: Browser, post: Post
) -> None:
    guess = anna.put("/me/mail", {"address": "x@example.org", "password": "guess"})
    assert guess.json["errors"][0]["code"] == "wrong-password"
    confirm(anna, post, "new@example.org")
    (word,) = post.deliver()
    assert word["To"].addresses[0].addr_spec == "anna@example.org"
    assert "another e-mail address" in word["Subject"]
    assert anna.get("/me/mail").json["address"] == "new@example.org"


def test_a_corrected_address_has_a_letter_of_its_own_while_the_first_is_sent(
    anna: Browser, post: Post
) -> None:
    numbers = []
    for address in ("typo@exampel.org", "right@example.org"):
        anna.put("/me/mail", {"address": address, "password": PASSWORD})
        numbers += [letter.id for letter in post.letters()]
    assert len(set(numbers)) == 2
    (mail,) = post.deliver()
    assert mail["To"].addresses[0].addr_spec == "right@example.org"


@pytest.mark.parametrize(
    "address",
    [
        "anna",
        "a@b@c",
        "a b@example.org",
        "a@example.org\r\nBcc: b@example.org",
        "@x.org",
        "å@x.org",
    ],
)
def test_what_is_no_address_is_refused(anna: Browser, address: str) -> None:
    answer = anna.put("/me/mail", {"address": address, "password": PASSWORD})
    assert answer.json["errors"][0]["code"] == "mail-address"


def test_a_host_may_have_letters_of_its_own() -> None:
    assert addresses.checked("anna@blåbær.example") == "anna@xn--blbr-roah.example"


def test_who_forgot_their_password_has_another_and_all_logins_end(
    app: Flask, anna: Browser, post: Post
) -> None:
    ask(Browser.of(app), "anna")
    (mail,) = post.deliver()
    secret = linked(mail, "/reset#")
    other = Browser.of(app)
    answer = other.put("/password-reset", {"secret": secret, "password": FRESH})
    assert answer.status_code == 204
    assert anna.get("/me/mail").status_code == 401
    assert Browser.of(app).log_in("Anna").status_code == 401
    assert other.log_in("Anna", FRESH).status_code == 200
    again = other.put("/password-reset", {"secret": secret, "password": PASSWORD})
    assert again.json["errors"][0]["code"] == "link-over"
    (word,) = post.deliver()
    assert "was changed" in word["Subject"]


def test_the_answer_is_the_same_for_who_is_there_and_who_is_not(
    app: Flask, anna: Browser, post: Post
) -> None:
    """The web process does not even look: it writes down what was typed, whatever that is."""
    answers = [
        Browser.of(app).post("/password-reset", {"name": name})
        for name in ("Anna", "anna@example.org", "Nobody", "nobody@example.org", "å" * 300)
    ]
    assert len({(one.status_code, one.data) for one in answers}) == 1
    assert [letter.account for letter in post.letters()] == [""] * 5
    assert len(post.deliver()) == 1  # however often she is asked for
    assert post.letters() == []


def test_nobodys_box_is_filled_with_links(app: Flask, anna: Browser, post: Post) -> None:
    for _ in range(3):
        ask(Browser.of(app), "Anna")
        post.deliver()
    assert [m["Subject"] for m in post.box.mails].count("Choose a new password") == 1
    browser = Browser.of(app)
    codes = [browser.post("/password-reset", {"name": "x"}).status_code for _ in range(6)]
    assert codes == [202] * 5 + [429]


def test_a_bad_password_does_not_use_the_link_up(app: Flask, anna: Browser, post: Post) -> None:
    ask(Browser.of(app), "Anna")
    secret = linked(post.deliver()[0], "/reset#")
    browser = Browser.of(app)
    short = browser.put("/password-reset", {"secret": secret, "password": "short"})
    assert short.json["errors"][0]["code"] == "password-length"
    answer = browser.put("/password-reset", {"secret": secret, "password": FRESH})
    assert answer.status_code == 204


def test_a_link_for_one_thing_does_no_other_and_only_its_digest_is_kept(
    app: Flask, anna: Browser, post: Post
) -> None:
    ask(Browser.of(app), "Anna")
    secret = linked(post.deliver()[0], "/reset#")
    assert anna.post("/mail/verified", {"secret": secret}).status_code == 422
    with post.engine.connect() as connection:
        assert connection.scalars(select(MailSecretRow.id)).all() == [digest(secret)]
        assert secret not in str(connection.execute(select(LetterRow.__table__)).all())


def test_a_link_is_void_where_the_address_is_another_by_now(
    app: Flask, anna: Browser, post: Post
) -> None:
    ask(Browser.of(app), "Anna")
    secret = linked(post.deliver()[0], "/reset#")
    confirm(anna, post, "new@example.org")
    answer = Browser.of(app).put("/password-reset", {"secret": secret, "password": FRESH})
    assert answer.json["errors"][0]["code"] == "link-over"


def test_two_factor_is_still_asked_for(app: Flask, anna: Browser, post: Post) -> None:
    with post.engine.begin() as connection:
        known = update(AccountRow).where(AccountRow.id == anna.user)
        connection.execute(known.values(totp_secret="GEZDGNBVGY3TQOJQ", totp_since_ms=1))
    ask(Browser.of(app), "Anna")
    secret = linked(post.deliver()[0], "/reset#")
    browser = Browser.of(app)
    browser.put("/password-reset", {"secret": secret, "password": FRESH})
    answer = browser.log_in("Anna", FRESH)
    assert answer.json["type"].endswith("second-step")
    with post.engine.connect() as connection:
        assert connection.scalars(select(LoginRow.id)).all() == []


def test_who_is_shut_out_or_has_no_password_is_sent_no_link(
    app: Flask, anna: Browser, post: Post
) -> None:
    with post.engine.begin() as connection:
        accounts.disable(connection, anna.user, disabled=True)
    ask(Browser.of(app), "Anna")
    assert post.deliver() == []


def test_operators_see_what_was_given_up_send_it_again_or_drop_it(
    app: Flask, anna: Browser, post: Post
) -> None:
    bob = Browser.of(app)
    bob.sign_up("Bob")
    bob.put("/me/mail", {"address": "nobody@example.org", "password": PASSWORD})
    post.deliver()
    assert bob.get("/me/mail").json["error"] == "550 5.1.1 no such mailbox"
    assert anna.get("/operator/mail").status_code == 403
    with post.engine.begin() as connection:
        accounts.change_roles(connection, anna.user, ["admin"])
    (shown,) = anna.get("/operator/mail").json["letters"]
    assert (shown["account"], shown["host"], shown["purpose"]) == (
        bob.user,
        "example.org",
        "verify",
    )
    assert "nobody@" not in anna.get("/operator/mail").text
    assert anna.post(f"/operator/mail/{shown['id']}/send-again").status_code == 204
    post.deliver()
    (shown,) = anna.get("/operator/mail").json["letters"]
    assert anna.delete(f"/operator/mail/{shown['id']}").status_code == 204
    assert anna.delete(f"/operator/mail/{shown['id']}").status_code == 404
    assert anna.get("/operator/mail").json["letters"] == []


def test_an_address_is_taken_along_and_forgotten(anna: Browser, post: Post) -> None:
    with post.engine.connect() as connection:
        found = export.everything(connection, post.settings, anna.user)
    assert found["mail"]["address"] == "anna@example.org"
    assert "unsubscribe" not in found["mail"]
    forgetting.forget(post.engine, post.settings, anna.user)
    with post.engine.connect() as connection:
        for row in (MailAddressRow, MailSecretRow, LetterRow):
            assert connection.execute(select(row.__table__)).all() == []


def test_who_removes_an_address_is_written_to_no_more(anna: Browser, post: Post) -> None:
    assert anna.delete("/me/mail").status_code == 204
    assert anna.get("/me/mail").json["address"] is None
    ask(Browser.of_nobody(anna), "Anna")
    assert post.deliver() == []
