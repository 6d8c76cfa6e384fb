"""Browsers and devices as clients of the API: each is logged in as somebody, or as nobody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from argon2 import PasswordHasher
from argon2.profiles import RFC_9106_LOW_MEMORY
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from citywise.backend.people import passwords

PASSWORD = "three small boats at sea"
API = "/api/v1"
_ADDRESSES = count(1)


@contextmanager
def quick_passwords() -> Iterator[None]:
    """Hash passwords in no time."""
    passwords.use(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    yield
    passwords.use(PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY))


def _address() -> str:
    """An address that no other client comes from."""
    number = next(_ADDRESSES)
    return f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"


@dataclass
class Browser:
    """A client at an address of its own that sends what our pages send."""

    client: FlaskClient
    address: str = field(default_factory=_address)
    csrf: str | None = None
    bearer: str | None = None
    user: str = ""
    name: str = ""

    @classmethod
    def of(cls, app: Flask, name: str | None = None) -> Browser:
        """A new browser, logged in as who is called so."""
        found = cls(app.test_client())
        if name is not None:
            assert found.log_in(name).status_code == 200
        return found

    @classmethod
    def of_nobody(cls, other: Browser) -> Browser:
        """A new browser of the same application, as nobody."""
        return cls(other.client.application.test_client())

    @classmethod
    def device(cls, app: Flask, bearer: str) -> Browser:
        """A device with a token."""
        return cls(app.test_client(), bearer=bearer)

    def log_in(self, name: str, password: str = PASSWORD) -> TestResponse:
        return self._came(self.post("/login", {"name": name, "password": password}))

    def sign_up(self, name: str, password: str = PASSWORD, **more: Any) -> TestResponse:
        return self._came(self.post("/accounts", {"name": name, "password": password, **more}))

    def _came(self, answer: TestResponse) -> TestResponse:
        if answer.status_code < 300:
            me = answer.json
            self.csrf, self.user, self.name = me["csrf"], me["user"], me["name"]
        return answer

    def open(self, method: str, path: str, body: Any = None, **headers: str) -> TestResponse:
        """Call an address below `/api/v1`, or with a leading `//` one at the root."""
        sent = {name.replace("_", "-"): text for name, text in headers.items()}
        if self.csrf is not None:
            sent.setdefault("X-CSRF-Token", self.csrf)
        if self.bearer is not None:
            sent.setdefault("Authorization", f"Bearer {self.bearer}")
        address = path.removeprefix("/") if path.startswith("//") else API + path
        return self.client.open(
            address,
            method=method,
            json=body,
            headers=sent,
            environ_overrides={"REMOTE_ADDR": self.address},
        )

    def get(self, path: str, **headers: str) -> TestResponse:
        return self.open("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> TestResponse:
        return self.open("POST", path, {} if body is None else body, **headers)

    def put(self, path: str, body: Any, **headers: str) -> TestResponse:
        return self.open("PUT", path, body, **headers)

    def patch(self, path: str, body: Any, **headers: str) -> TestResponse:
        return self.open("PATCH", path, body, **headers)

    def delete(self, path: str, body: Any = None, **headers: str) -> TestResponse:
        return self.open("DELETE", path, body, **headers)
