"""What is told of one user reaches the log in the order in which it was committed; so with how
somebody logs in."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from limits import RateLimitItemPerHour
from sqlalchemy import Engine, select, update

from citywise.backend.api import limits
from citywise.backend.api.app import create_app
from citywise.backend.people import accounts, invitations, logins, two_factor
from citywise.backend.people.ids import DEMO
from citywise.backend.settings import Settings
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.exclusion import CONTEXT_OF, exclude
from citywise.backend.store.models import AccountRow, Base, InletRow
from tests.api.accounts_alone import quick as quick
from tests.api.browsers import PASSWORD, Browser


@pytest.fixture
def shared(postgresql_url: str) -> Iterator[Engine]:
    """A database in which transactions run at the same time."""
    engine = create_engine_for(postgresql_url)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


def told(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.execute(select(InletRow.key).order_by(InletRow.id)).scalars())


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_who_tells_of_a_user_waits_for_who_has_just_told(
    shared: Engine, settings: Settings, method: str
) -> None:
    app = create_app(settings, shared)

    def tell(user: str) -> None:
        body = {"position": {"lat": 56.15, "lon": 10.2}}
        answer = app.test_client().open(f"/api/v1/users/{user}/context", method=method, json=body)
        assert answer.status_code == 202

    second = threading.Thread(target=tell, args=("alice",))
    with shared.begin() as first:
        exclude(first, CONTEXT_OF, "alice")
        second.start()
        tell("bo")
        second.join(0.3)
        assert second.is_alive()
        assert "alice" not in told(shared)
    second.join(120)
    assert told(shared)[-1] == "alice"
    app.extensions["citywise"].hub.close()


class TestHowOneLogsIn:
    """Who proves a second step, and who changes it, are asked one after the other."""

    @pytest.fixture
    def app(self, shared: Engine, settings: Settings) -> Iterator[Flask]:
        app = create_app(settings, shared)
        yield app
        app.extensions["citywise"].hub.close()

    def test_wrong_codes_at_once_are_no_more_than_the_bound(
        self, app: Flask, shared: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(limits.LIMITS, "codes", RateLimitItemPerHour(3))
        anna = Browser.of(app)
        anna.sign_up("Anna")
        with shared.begin() as connection:
            row = accounts.known(connection, "Anna")
            two_factor.begin(connection, row.id)
            on = update(AccountRow).where(AccountRow.id == row.id)
            connection.execute(on.values(totp_since_ms=1))
        judged = two_factor.is_right

        def slow(*asked: Any) -> bool:
            tried.append(asked)
            time.sleep(0.05)  # as long as others need to come, too
            return judged(*asked)

        tried: list[Any] = []
        monkeypatch.setattr(two_factor, "is_right", slow)
        body = {"name": "Anna", "password": PASSWORD, "code": "12345"}
        with ThreadPoolExecutor(6) as pool:
            guesses = [pool.submit(Browser.of(app).post, "/login", body) for _ in range(6)]
            said = Counter(guess.result().status_code for guess in guesses)
        assert len(tried) == 3
        assert said == {401: 3, 429: 3}

    @pytest.fixture
    def many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """More than one address may otherwise sign up."""
        monkeypatch.setitem(limits.LIMITS, "sign-up", RateLimitItemPerHour(100))

    @pytest.mark.usefixtures("many")
    def test_of_many_who_sign_up_by_one_name_one_has_it(self, app: Flask) -> None:
        browsers = [Browser.of(app) for _ in range(6)]
        with ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(browser.sign_up, "Anna") for browser in browsers]
            answers = [each.result() for each in asked]
        assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 5}

    @pytest.mark.usefixtures("many")
    def test_of_many_who_use_one_invitation_one_comes_in(self, app: Flask, shared: Engine) -> None:
        with shared.begin() as connection:
            invitation = invitations.issue(connection, ("developer",))
        browsers = [Browser.of(app) for _ in range(6)]
        with ThreadPoolExecutor(6) as pool:
            asked = [
                pool.submit(browser.sign_up, f"Anna {number}", invitation=invitation)
                for number, browser in enumerate(browsers)
            ]
            said = Counter(each.result().status_code for each in asked)
        assert said == {201: 1, 422: 5}
        with shared.connect() as connection:
            names = connection.scalars(select(AccountRow.name).where(AccountRow.id != DEMO))
            assert len(names.all()) == 1

    def test_a_log_in_with_one_step_does_not_outlive_the_second(
        self, app: Flask, shared: Engine
    ) -> None:
        anna = Browser.of(app)
        anna.sign_up("Anna")
        with shared.connect() as connection:
            proof = accounts.proven(connection, "Anna", PASSWORD)
            user = accounts.known(connection, "Anna").id
        assert proof is not None
        with shared.begin() as connection:
            secret = two_factor.begin(connection, user)
        code = two_factor.code_at(secret, time.time())
        turning = threading.Thread(target=anna.put, args=("/me/two-factor", {"code": code}))
        with shared.begin() as connection:
            admitted = accounts.admit(connection, proof)
            assert admitted is not None
            assert not admitted.has_two_factor
            turning.start()
            turning.join(0.3)
            assert turning.is_alive()
            logins.open_login(connection, user, 1)
        turning.join(120)
        with shared.connect() as connection:
            assert two_factor.standing(connection, user).since_ms is not None
            assert len(logins.of(connection, user)) == 1
