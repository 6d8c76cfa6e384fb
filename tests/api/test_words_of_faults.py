"""What people can do wrong has a code, and the pages have words for each in every language."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from citywise.backend.api.problems import MOST_FAULTS
from citywise.backend.machine import REPOSITORY
from citywise.backend.settings import Broker, Settings
from tests.api.accounts_alone import quick as quick
from tests.api.browsers import PASSWORD, Browser

LANGUAGES = ("en", "da", "de")
CODE = re.compile(
    r'(?:PeopleError|BadTimesError|fault)\([^()]*(?:\([^()]*\)[^()]*)*"([a-z-]+)",?\s*\)'
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, broker=Broker(devices_port=8883))


def words(language: str) -> dict[str, str]:
    path = REPOSITORY / "web" / "strings" / f"{language}.json"
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def faults(answer: Any) -> dict[str, str]:
    return {fault["path"]: fault["code"] for fault in answer.json["errors"]}


def test_the_pages_have_words_for_every_code() -> None:
    sources = (REPOSITORY / "backend").rglob("*.py")
    codes = {code for path in sources for code in CODE.findall(path.read_text(encoding="utf-8"))}
    assert {"password-length", "wrong-password", "is-past", "name-form"} <= codes
    for language in LANGUAGES:
        assert [code for code in codes if f"fault.{code}" not in words(language)] == []


@pytest.mark.parametrize(
    ("name", "password", "expected"),
    [
        ("Anna", "short", {"password": "password-length"}),
        ("Anna", "aaaaaaaaaaaa", {"password": "password-guessable"}),
        ("!", PASSWORD, {"name": "name-form"}),
        ("Аnna", PASSWORD, {"name": "name-alphabets"}),
    ],
)
def test_a_sign_up_says_in_a_word_what_is_wrong(
    app: Flask, name: str, password: str, expected: dict[str, str]
) -> None:
    body = {"name": name, "password": password}
    assert faults(Browser.of(app).post("/accounts", body)) == expected


def test_a_wrong_password_is_called_so_and_devices_are_told_where_to_connect(app: Flask) -> None:
    anna = Browser.of(app)
    anna.sign_up("Anna")
    refused = anna.patch("/me", {"old": "x", "password": "four small boats at sea"})
    assert faults(refused) == {"old": "wrong-password"}
    broker = anna.get("/me/tokens").json["broker"]
    assert broker == {"host": None, "port": 8883, "tls": True}


def test_of_very_many_faults_the_first_are_told_and_the_others_counted(app: Flask) -> None:
    """Wording and sending all that one body can have would hold up everybody else."""
    answer = Browser.of(app).post("/login", {f"f{n}": 1 for n in range(5_000)})
    assert answer.status_code == 422
    told = answer.json["errors"]
    assert len(told) == MOST_FAULTS + 1
    assert told[-1]["message"] == f"{5_002 - MOST_FAULTS} more faults are not shown"
