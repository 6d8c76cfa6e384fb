"""Settings of the meeting manager: `[meetings]` in the configuration."""

from __future__ import annotations

import re

from pydantic import Field, field_validator, model_validator

from citywise.backend.app import Section, Settings

SECTION = "meetings"
_MOVED = frozenset(
    {f"smtp_{name}" for name in ("host", "port", "security", "ca", "username", "password")}
    | {"sender"}
)
_PREFIX = re.compile(r"https?://[^\s/?#@,\\]+/([^\s?#,\\]*/)?")


class Meetings(Section):
    """The conference systems of meetings."""

    jitsi: str | None = Field(default=None, pattern=r"^https://[A-Za-z0-9.\[\]:-]+$")
    """The server of Jitsi Meet whose rooms meetings may use."""
    webhooks: tuple[str, ...] = ()
    """Hosts may have other systems told of their meetings at addresses below these."""

    @field_validator("webhooks", mode="before")
    @classmethod
    def _list(cls, given: object) -> object:
        return given.split(",") if isinstance(given, str) else given

    @field_validator("webhooks")
    @classmethod
    def _addresses(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for text in given:
            if not _PREFIX.fullmatch(text):
                raise ValueError(
                    f"`{text}` is no address of a folder: expected one such as "
                    "https://conference.example/hooks/, with a path that ends with /"
                )
        return given

    @model_validator(mode="before")
    @classmethod
    def _mail_is_everybodys(cls, given: object) -> object:
        """The mail server stood here before other letters left by it, too."""
        moved = [name for name in (given if isinstance(given, dict) else {}) if name in _MOVED]
        if moved:
            there = moved[0].removeprefix("smtp_")
            raise ValueError(f"meetings.{moved[0]} is mail.{there} now; move it to [mail]")
        return given


def of(settings: Settings) -> Meetings:
    """What stands in the configuration of a system."""
    return settings.section(SECTION, Meetings)
