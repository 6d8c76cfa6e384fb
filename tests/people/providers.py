"""A real provider of identities (npm's `oidc-provider`), and people's browsers at it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import pytest
import requests

from citywise.backend import machine
from citywise.backend.settings import SignIn

SECRET = "a secret of the test"
_PROGRAM = Path(__file__).with_name("provider.mjs")
_MOST_PAGES = 20


@dataclass
class Provider:
    """A running provider; `groups` says who is in which groups there."""

    url: str
    groups: Path

    def settings(self, **more: object) -> SignIn:
        given = {
            "issuer": self.url,
            "client_id": "citywise",
            "client_secret": SECRET,
            "name": "City ID",
            "roles_claim": "groups",
            "roles": ["staff=host", "chiefs=admin"],
        }
        return SignIn.model_validate(given | more)

    def put(self, **groups: list[str]) -> None:
        self.groups.write_text(json.dumps(groups))


@contextmanager
def providing(folder: Path, back: str) -> Iterator[Provider]:
    """A provider that sends browsers back to an address, until the end of the block."""
    if not (machine.REPOSITORY / "node_modules" / "oidc-provider").is_dir():
        pytest.skip("no oidc-provider in node_modules; python3 scripts/prepare.py --tests")
    groups = folder / "groups.json"
    groups.write_text("{}")
    port = machine.free_port()
    process = subprocess.Popen(
        [machine.node(), _PROGRAM, str(port), back, groups],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "listening\n"
        yield Provider(f"http://127.0.0.1:{port}", groups)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def visit(url: str, name: str, back: str) -> str:
    """What a person's browser does at the provider: log in under a name, and agree; returns the
    address to which it is sent back."""
    with requests.Session() as browser:
        answer = browser.get(url, allow_redirects=False, timeout=60)
        for _ in range(_MOST_PAGES):
            if answer.is_redirect:
                where = urljoin(answer.url, answer.headers["Location"])
                if where.startswith(back):
                    return where
                answer = browser.get(where, allow_redirects=False, timeout=60)
                continue
            assert answer.status_code == 200, answer.text
            action = re.search(r'action="([^"]+)"', answer.text)
            prompt = re.search(r'name="prompt" value="([^"]+)"', answer.text)
            assert action, answer.text
            assert prompt, answer.text
            form = {"prompt": prompt[1], "login": name, "password": "x"}
            where = urljoin(answer.url, action[1])
            answer = browser.post(where, form, allow_redirects=False, timeout=60)
    raise AssertionError("the provider asks again and again")
