"""What a client must not be able to do with sizes, hosts and paths."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from citywise.apps.travel_planner.replies import no_network
from citywise.backend.api.app import MAX_BODY_BYTES
from citywise.backend.api.origin import is_ours, origin
from citywise.backend.settings import Web


@pytest.mark.parametrize("more", [0, 1_400_000])
def test_a_body_of_unknown_length_that_is_too_large_is_refused_and_not_cut(
    client: FlaskClient, more: int
) -> None:
    body = b'{"speed": 1}'
    padded = body + b" " * (MAX_BODY_BYTES - len(body)) + b"x" * more
    answer = client.post(
        "/api/v1/clock",
        input_stream=io.BytesIO(padded),
        headers={"Content-Type": "application/json", "Transfer-Encoding": "chunked"},
        environ_overrides={"wsgi.input_terminated": True, "CONTENT_LENGTH": ""},
    )
    assert answer.status_code == 413, answer.text


def test_whoever_asks_without_an_account_learns_no_path_of_the_machine() -> None:
    reply = no_network(Path("/srv/secret/city/network.npz"))
    assert "secret" not in str(reply.more)


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1:8080", True),
        ("localhost", True),
        ("LOCALHOST:1", True),
        ("[::1]:8080", True),
        ("city.example:8080", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost@evil.example", False),
        ("[::1", False),
        ("", False),
    ],
)
def test_only_a_host_of_this_machine_counts(host: str, ours: bool) -> None:
    assert is_ours(host, Web(host="city.example")) == ours


def test_links_lead_to_us_whatever_host_a_request_names() -> None:
    app = Flask(__name__)
    web = Web(host="127.0.0.1", port=8080)
    with app.test_request_context(base_url="http://evil.example"):
        assert origin(web) == "http://127.0.0.1:8080"
        assert (
            origin(web.model_copy(update={"public_url": "https://c.example"}))
            == "https://c.example"
        )
        assert origin(web.model_copy(update={"trusted_proxies": 1})) == "http://evil.example"
    with app.test_request_context(base_url="http://localhost:99"):
        assert origin(web) == "http://localhost:99"
