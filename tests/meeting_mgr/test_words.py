"""What people may write: lines that can be seen, and addresses that are nothing but addresses."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from citywise.apps.meeting_mgr.model import Email, LongText, Rules, Text

TEXT: TypeAdapter[str] = TypeAdapter(Text)
LONG: TypeAdapter[str] = TypeAdapter(LongText)
EMAIL: TypeAdapter[str] = TypeAdapter(Email)


@pytest.mark.parametrize("text", ["a\x0bb", "a\x85b", "a\u2028b", "a\u202eb", "   ", "\u00a0", ""])
def test_a_title_is_one_line_that_can_be_seen(text: str) -> None:
    with pytest.raises(ValidationError):
        TEXT.validate_python(text)


@pytest.mark.parametrize(
    "text",
    [
        "\u200b",
        "\u2060\ufeff",
        "\xad",
        "\u3164",
        "\uffa0 ",
        "\u2800",
        "\U000e0041",
        "\u034f",
        "\ue000",
    ],
)
def test_what_shows_nothing_is_no_name_title_or_decision(text: str) -> None:
    for kind in (TEXT, LONG):
        with pytest.raises(ValidationError, match="shows nothing"):
            kind.validate_python(text)


@pytest.mark.parametrize("text", ["?", "👍", "a\u200d", "\u5fae", "ﷺ"])
def test_one_sign_is_enough(text: str) -> None:
    assert TEXT.validate_python(text) == text
    assert LONG.validate_python(text) == text


@pytest.mark.parametrize("text", ["Møde", " a ", "会议 (2)", "👩‍💻 x", "שלום"])
def test_a_title_is_in_any_language(text: str) -> None:
    assert TEXT.validate_python(text) == text


@pytest.mark.parametrize("text", ["a\x0bb", "a\x0cb", "a\x85b", "a\u202eb", "a\rb"])
def test_a_decision_has_no_control_characters_but_ends_of_lines(text: str) -> None:
    assert LONG.validate_python("We buy it.\n\tToday.") == "We buy it.\n\tToday."
    with pytest.raises(ValidationError):
        LONG.validate_python(text)


@pytest.mark.parametrize(
    "address",
    ["a?bcc=x@y.dk", "a@y.dk?bcc=x", "a@b@c", "a&b@c", "a,b@c.dk", "a\u202eb@c", "%0a@b"],
)
def test_an_address_is_no_more_than_an_address(address: str) -> None:
    with pytest.raises(ValidationError):
        EMAIL.validate_python(address)


@pytest.mark.parametrize("address", ["a@b.c", "o'neil+x@example.org", "bo@økonomi.dk"])
def test_usual_addresses_are_addresses(address: str) -> None:
    assert EMAIL.validate_python(address) == address


def test_a_dwell_time_is_whole_seconds_as_the_form_has_it() -> None:
    with pytest.raises(ValidationError):
        Rules.model_validate_json('{"dwell_s": 2.5}')
    assert Rules.model_validate_json('{"dwell_s": 2}').dwell_s == 2
